package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A program that applies every change has the plants of the service, whatever
// happens to its connection.
func TestChanges(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	c := server.Client()
	plants := createMany(t, c, 1500) // more than a page
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	put := func(id int64) { must.NoError(t, second(c.Put(ctx, client.Plant{ID: id, Name: "b"}))) }
	copied, steps := map[int64]string{}, 0
	var last client.Position
	for change, err := range c.Changes(ctx, "") {
		if err != nil {
			if steps < 2 || !errors.Is(err, context.Canceled) {
				t.Fatalf("after step %d: %v", steps, err)
			}
			break
		}
		if delete(copied, change.ID); change.Plant != nil {
			copied[change.ID] = change.Plant.Name
		}
		last = change.Position
		switch {
		case steps == 0 && len(copied) == len(plants):
			steps++
			put(7)
			server.Fail(20, clienttest.Unavailable) // more than WithAttempts allows
		case steps == 1 && copied[7] == "b":
			steps++
			must.NoError(t, c.Delete(ctx, 7))
			server.Fail(1, clienttest.Cut)
		case steps == 2 && copied[7] == "":
			cancel()
		}
	}
	for range c.ChangesUntilNow(t.Context(), last) {
		t.Error("there is a change after the last one")
	}
	n := 0
	for change, err := range c.ChangesUntilNow(t.Context(), "") {
		if err != nil || copied[change.ID] != change.Plant.Name {
			t.Fatalf("the change %+v, %v", change, err)
		}
		n++
	}
	if n != len(copied) || n != len(plants)-1 {
		t.Errorf("%d plants, the copy has %d", n, len(copied))
	}
}

func TestChangesEndWithAnError(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	for what, c := range map[string]struct {
		prepare  func()
		position client.Position
		want     error
	}{
		"a position that is gone": {func() {}, "AD7PTT2aDqEdAAAAAAAAACgAAAAAAAAAKgAAAAAAAAAAUFTG", client.ErrPositionGone}, // of another store
		"a part of a position":    {func() {}, "AD7PTT2aDqEdAAAAAAAAACgAAAAAAAAAKgAA", client.ErrInvalidParameter},
		"no text of a position":   {func() {}, "no position", client.ErrInvalidParameter},
		"no service at the start": {func() { server.Fail(10, clienttest.Unavailable) }, "", client.ErrUnavailable},
	} {
		c.prepare()
		n := 0
		for change, err := range server.Client().Changes(t.Context(), c.position) {
			if n++; n > 1 || !errors.Is(err, c.want) {
				t.Fatalf("%s: %+v, %v, want %v", what, change, err, c.want)
			}
		}
		if n != 1 {
			t.Errorf("%s: no error", what)
		}
	}
	again := handle(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"changes":[{"position":"a","id":1}],"position":"a"}`)
	})
	n := 0
	for _, err := range at(t, again).Changes(t.Context(), "a") {
		if n++; err == nil || n > 1 {
			t.Fatal("a service that does not go on is followed for ever")
		}
	}
}

// At the end of the context the error is that of the context, and nothing else, whatever
// the loop does at that time: it waits for changes, or for the service.
func TestChangesEndWithTheContext(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	must.NoError(t, server.Client().Create(t.Context(), client.Plant{ID: 1}))
	for what, fault := range map[string]clienttest.Fault{
		"waits for changes": clienttest.Delay(0), "waits for the service": clienttest.Unavailable,
	} {
		for want, begin := range map[error]func() (context.Context, func()){
			context.Canceled:         func() (context.Context, func()) { return context.WithCancel(t.Context()) },
			context.DeadlineExceeded: func() (context.Context, func()) { return context.WithTimeout(t.Context(), 200*time.Millisecond) },
		} {
			ctx, cancel := begin()
			c := server.Client(client.WithBackoff(func(context.Context, int, error) time.Duration { return time.Hour }))
			server.FailWhere(func(r *http.Request) bool { return r.URL.Query().Has("after") }, 1, fault)
			var got error
			for _, err := range c.Changes(ctx, "") {
				if got = err; err == nil && want == context.Canceled {
					time.AfterFunc(50*time.Millisecond, cancel)
				}
			}
			if got != want {
				t.Errorf("a loop that %s ends with %v, want %v as it is", what, got, want)
			}
			cancel()
		}
	}
}

// Changes waits for more also if the program allows little time for a request. It leaves
// time for the response.
func TestChangesWaitsWithinTheTimeout(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[time.Duration]string{0: "30", time.Minute: "30", 10 * time.Second: "5", time.Second: "1"} {
		ctx, cancel := context.WithCancel(t.Context())
		var waits []string
		url := handle(t, func(w http.ResponseWriter, r *http.Request) {
			if waits = append(waits, r.URL.Query().Get("wait")); len(waits) == 2 {
				cancel()
			}
			fmt.Fprint(w, `{"changes":[],"position":"a","more":false}`)
		})
		for _, err := range at(t, url, client.WithHTTPClient(&http.Client{Timeout: timeout})).Changes(ctx, "") {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("with a timeout of %v: %v", timeout, err)
			}
		}
		if !slices.Equal(waits, []string{want, want}) {
			t.Errorf("with a timeout of %v the requests wait %q seconds, want %s", timeout, waits, want)
		}
		cancel()
	}
}

// ChangesUntilNow ends although there is a further change before each of its requests.
func TestChangesUntilNowWhileOthersWrite(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	writer, pages := server.Client(), 0
	c := server.Client(client.WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if pages++; pages > 10 {
			return nil, errors.New("the loop goes on after ten pages")
		}
		expect.NoError(t, second(writer.Put(r.Context(), client.Plant{ID: 1, Name: fmt.Sprint(pages)})))
		return http.DefaultTransport.RoundTrip(r)
	})}))
	n := 0
	for change, err := range c.ChangesUntilNow(t.Context(), "") {
		if n++; err != nil || change.Plant.Name != fmt.Sprint(pages) {
			t.Fatalf("%+v, %v", change, err)
		}
	}
	if n == 0 {
		t.Error("there is no change")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Now is the position after every change so far, and before the next one.
func TestNow(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), clienttest.New(t).Client()
	createMany(t, c, 200) // more than a page
	now, err := c.Now(ctx)
	must.NoError(t, err)
	must.NoError(t, c.Create(ctx, client.Plant{ID: -1, Name: "after"}))
	var got []int64
	for change, err := range c.ChangesUntilNow(ctx, now) {
		must.NoError(t, err)
		got = append(got, change.ID)
	}
	if !slices.Equal(got, []int64{-1}) {
		t.Errorf("the plants that changed after Now are %v, want only -1", got)
	}
}
