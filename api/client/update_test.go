package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// addOne counts in the name of a plant.
func addOne(p *client.Plant) error {
	var n int
	if _, err := fmt.Sscan(p.Name, &n); err != nil {
		return err
	}
	p.Name = fmt.Sprint(n + 1)
	return nil
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), clienttest.New(t)
	c := server.Client()
	must.NoError(t, c.Create(ctx, client.Plant{ID: 1, Name: "0", Tag: new("a")}))
	got, err := c.Update(ctx, 1, addOne)
	first := wantPlant(t, got, err, "1", new("a"))

	got, err = c.Update(ctx, 1, func(p *client.Plant) error { p.ID, p.ETag = 7, "x"; return nil })
	if wantPlant(t, got, err, "1", new("a")); got.ETag != first.ETag {
		t.Errorf("an update that changes nothing made the version %s of %s", got.ETag, first.ETag)
	}
	failure := errors.New("not today")
	wantError(t, second(c.Update(ctx, 1, func(*client.Plant) error { return failure })), failure)
	wantError(t, second(c.Update(ctx, 2, addOne)), client.ErrNoSuchPlant)

	// Another client is faster, twice.
	left := 2
	got, err = c.Update(ctx, 1, func(p *client.Plant) error {
		if left--; left >= 0 {
			must.NoError(t, second(c.Put(ctx, client.Plant{ID: 1, Name: "10", Tag: new(fmt.Sprint(left))})))
		}
		return addOne(p)
	})
	wantPlant(t, got, err, "11", new("0"))

	// And each time: the attempts are bounded.
	calls := 0
	_, err = server.Client(client.WithAttempts(3)).Update(ctx, 1, func(p *client.Plant) error {
		calls++
		must.NoError(t, second(c.Put(ctx, client.Plant{ID: 1, Name: fmt.Sprint(calls)})))
		return addOne(p)
	})
	wantError(t, err, client.ErrPreconditionFailed)
	if errors.Is(err, client.ErrOutcomeUnknown) || calls != 3 {
		t.Errorf("%d calls, error %v", calls, err)
	}
}

// An update whose response is lost is carried out once.
func TestUpdateLostResponse(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]clienttest.Fault{
		"refused": clienttest.Refuse, "cut": clienttest.Cut, "429": clienttest.TooManyRequests, "503": clienttest.Unavailable,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := clienttest.New(t)
			c := server.Client()
			must.NoError(t, c.Create(t.Context(), client.Plant{ID: 1, Name: "0"}))
			calls := 0
			got, err := c.Update(t.Context(), 1, func(p *client.Plant) error { calls++; server.Fail(2, fault); return addOne(p) })
			wantPlant(t, got, err, "1", nil)
			if calls != 1 {
				t.Errorf("the function was called %d times, want 1", calls)
			}

			// The response is lost, and another client writes before the client reads the
			// plant again, or after it has read the old version.
			lost := name == "cut" || name == "503"
			for _, at := range []int{3, 4} {
				if name == "cut" && at == 4 {
					continue // it reads the new name, and does not write again
				}
				for _, text := range []string{"other", "5"} {
					if text == "5" && !lost {
						continue // a conflict like any other
					}
					_, err = c.Put(t.Context(), client.Plant{ID: 1, Name: "4"})
					must.NoError(t, err)
					requests := 0
					c := server.Client(client.WithTokenFunc(func(ctx context.Context) (string, error) {
						if requests++; requests == at { // read, write, read, write
							if _, err := c.Put(ctx, client.Plant{ID: 1, Name: text}); err != nil {
								t.Error(err)
							}
						}
						return server.Token, nil
					}))
					calls := 0
					_, err := c.Update(t.Context(), 1, func(p *client.Plant) error { calls++; server.Fail(1, fault); return addOne(p) })
					switch {
					case text == "5": // that is what the update wants
						if err != nil || calls != 1 {
							t.Errorf("%d calls, error %v", calls, err)
						}
					case lost:
						wantError(t, err, client.ErrOutcomeUnknown)
					case at == 3: // the second attempt to write is refused, and the new name is not a number
						if err == nil || errors.Is(err, client.ErrOutcomeUnknown) {
							t.Errorf("the error is %v", err)
						}
					}
				}
			}
		})
	}
}

// The service fails for longer than the client tries.
func TestUpdateUnknown(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	c := server.Client(client.WithAttempts(3))
	must.NoError(t, c.Create(t.Context(), client.Plant{ID: 1, Name: "0"}))
	_, err := c.Update(t.Context(), 1, func(p *client.Plant) error { server.Fail(4, clienttest.Unavailable); return addOne(p) })
	wantError(t, err, client.ErrOutcomeUnknown)
	wantError(t, err, client.ErrUnavailable)

	ctx, cancel := context.WithCancel(t.Context())
	c = server.Client(client.WithBackoff(func(context.Context, int, error) time.Duration { cancel(); return time.Hour }))
	_, err = c.Update(ctx, 1, func(p *client.Plant) error { server.Fail(1, clienttest.Unavailable); return addOne(p) })
	wantError(t, err, client.ErrOutcomeUnknown)
	wantError(t, err, context.Canceled)
}
