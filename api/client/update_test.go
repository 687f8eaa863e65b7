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
	first := wantPlant(t, "1", new("a"))(c.Update(ctx, 1, addOne))

	got := wantPlant(t, "1", new("a"))(c.Update(ctx, 1, func(p *client.Plant) error { p.ID, p.ETag = 7, "x"; return nil }))
	if got.ETag != first.ETag {
		t.Errorf("an update that changes nothing made the version %s of %s", got.ETag, first.ETag)
	}
	failure := errors.New("not today")
	wantError(t, second(c.Update(ctx, 1, func(*client.Plant) error { return failure })), failure)
	wantError(t, second(c.Update(ctx, 2, addOne)), client.ErrNoSuchPlant)

	// Another client is faster, twice.
	left := 2
	wantPlant(t, "11", new("0"))(c.Update(ctx, 1, func(p *client.Plant) error {
		if left--; left >= 0 {
			must.NoError(t, second(c.Put(ctx, client.Plant{ID: 1, Name: "10", Tag: new(fmt.Sprint(left))})))
		}
		return addOne(p)
	}))

	// And each time: the attempts are bounded.
	calls := 0
	_, err := server.Client(client.WithAttempts(3)).Update(ctx, 1, func(p *client.Plant) error {
		calls++
		must.NoError(t, second(c.Put(ctx, client.Plant{ID: 1, Name: fmt.Sprint(calls)})))
		return addOne(p)
	})
	wantError(t, err, client.ErrPreconditionFailed)
	if errors.Is(err, client.ErrOutcomeUnknown) || calls != 3 {
		t.Errorf("%d calls, error %v", calls, err)
	}
}

// An update whose response is lost is carried out once, also if another client writes meanwhile: before the client
// reads the plant again, with its third request, or after it has read the old version.
func TestUpdateLostResponse(t *testing.T) {
	t.Parallel()
	const fails, unknown = "fails", "unknown" // else the update succeeds
	for _, c := range []struct {
		fault  clienttest.Fault
		times  int
		before int    // the request before which the other client writes
		text   string // that it writes: what the update wants, or something else
		want   string
	}{
		{fault: clienttest.Refuse, times: 2},
		{fault: clienttest.Cut, times: 2},
		{fault: clienttest.TooManyRequests, times: 2},
		{fault: clienttest.Unavailable, times: 2},
		{clienttest.Refuse, 1, 3, "other", fails}, // a conflict like any other, and the new name is not a number
		{clienttest.TooManyRequests, 1, 3, "other", fails},
		{clienttest.Cut, 1, 3, "other", unknown},
		{clienttest.Cut, 1, 3, "5", ""},
		{clienttest.Unavailable, 1, 3, "other", unknown},
		{clienttest.Unavailable, 1, 3, "5", ""},
		{clienttest.Unavailable, 1, 4, "other", unknown},
		{clienttest.Unavailable, 1, 4, "5", ""},
		{fault: clienttest.Unavailable, times: 30, want: unknown}, // longer than the client tries
	} {
		server := clienttest.New(t)
		other := server.Client()
		must.NoError(t, other.Create(t.Context(), client.Plant{ID: 1, Name: "4"}))
		requests, calls := 0, 0
		updater := server.Client(client.WithTokenFunc(func(ctx context.Context) (string, error) {
			if requests++; requests == c.before { // read, write, read, write
				must.NoError(t, second(other.Put(ctx, client.Plant{ID: 1, Name: c.text})))
			}
			return server.Token, nil
		}))
		got, err := updater.Update(t.Context(), 1, func(p *client.Plant) error {
			calls++
			server.Fail(c.times, c.fault)
			return addOne(p)
		})
		succeeds, isUnknown := err == nil && got.Name == "5" && calls == 1, errors.Is(err, client.ErrOutcomeUnknown)
		if succeeds != (c.want == "") || isUnknown != (c.want == unknown) {
			t.Errorf("%+v: the plant is %+v after %d calls, %v", c, got, calls, err)
		}
	}
}

// The context ends in the pause before the update is sent again.
func TestUpdateUnknown(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := clienttest.New(t)
	c := server.Client(client.WithBackoff(func(context.Context, int, error) time.Duration { cancel(); return time.Hour }))
	must.NoError(t, c.Create(ctx, client.Plant{ID: 1, Name: "0"}))
	_, err := c.Update(ctx, 1, func(p *client.Plant) error { server.Fail(1, clienttest.Unavailable); return addOne(p) })
	wantError(t, err, client.ErrOutcomeUnknown)
	wantError(t, err, context.Canceled)
}
