package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// changed is a call of the function of a replica.
type changed struct{ before, after *client.Plant }

func (c changed) String() string {
	name := func(p *client.Plant) string {
		if p == nil {
			return "none"
		}
		return fmt.Sprint(p.ID, " ", p.Name)
	}
	return name(c.before) + " -> " + name(c.after)
}

// A replica does not wait for changes before it has all plants.
func TestReplicaFillsAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := clienttest.New(t)
	waits := func(r *http.Request) bool { return r.URL.Query().Has("wait") }
	server.FailWhere(waits, 1, clienttest.Unavailable) // the first request is sent once, so Run would end
	replica, ended := client.NewReplica(server.Client(client.WithAttempts(1)), nil), make(chan error, 1)
	go func() { ended <- replica.Run(ctx) }()
	select {
	case <-replica.Ready():
	case err := <-ended:
		t.Errorf("Run = %v before the replica has all plants", err)
	case <-time.After(wait.Limit):
		t.Error("the replica has not all plants")
	}
}

// A replica has the plants of the service and tells what changes, also after the service
// has been away for longer than the client tries otherwise.
func TestReplica(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	server := clienttest.New(t)
	c := server.Client(client.WithAttempts(3))
	plants := createMany(t, c, 1500) // more than a page
	calls, ended := make(chan changed, 2000), make(chan error, 1)
	replica := client.NewReplica(c, func(before, after *client.Plant) { calls <- changed{before, after} })
	if _, ok := replica.Get(7); ok || replica.Len() != 0 {
		t.Error("a replica has plants before Run")
	}
	go func() { ended <- replica.Run(ctx) }()
	wait.For(t, "ready", replica.Ready())
	for range plants {
		if call := wait.For(t, "a new plant", calls); call.before != nil || call.after == nil {
			t.Fatalf("a new plant: %v", call)
		}
	}
	if replica.Len() != len(plants) {
		t.Errorf("the replica has %d plants, want %d", replica.Len(), len(plants))
	}
	next := int64(0)
	for p := range replica.All() {
		if p.ID != next {
			t.Fatalf("plant %d is %v", next, p)
		}
		next++
		*p.Tag = "changed by a reader"
	}
	for range 2 {
		p, ok := replica.Get(7)
		if !ok || *p.Tag != "t" {
			t.Errorf("plant 7 is %v", p)
		}
		*p.Tag = "changed by a reader"
	}

	steps := func(want string, step func() error) {
		t.Helper()
		must.NoError(t, step())
		if got := wait.For(t, want, calls).String(); got != want {
			t.Errorf("the change is %s, want %s", got, want)
		}
	}
	put := func(id int64, name string) func() error {
		return func() error { return second(c.Put(ctx, client.Plant{ID: id, Name: name})) }
	}
	steps("7 a -> 7 b", put(7, "b"))
	server.FailWhere(func(r *http.Request) bool { return r.URL.Path == "/changes" }, 20, clienttest.Unavailable)
	steps("none -> 9999 b", put(9999, "b"))
	steps("7 b -> none", func() error { return c.Delete(ctx, 7) })
	steps("none -> 7 c", put(7, "c"))
	if p, ok := replica.Get(7); !ok || p.Name != "c" || p.ETag == "" {
		t.Errorf("plant 7 is %v", p)
	}
	for range replica.All() {
		break
	}

	cancel(errors.New("the program ends"))
	if err := wait.For(t, "the end", ended); err != context.Canceled {
		t.Errorf("Run = %v, want context.Canceled as it is", err)
	}
	if replica.Len() != len(plants)+1 || len(calls) > 0 {
		t.Errorf("afterwards the replica has %d plants, and %d changes were not expected", replica.Len(), len(calls))
	}
}

// When its position is gone, a replica keeps its plants until it has read all of them
// again. Then it has exactly those of the service, and tells the differences.
func TestReplicaBeginsAgain(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), clienttest.New(t)
	c := server.Client()
	plants := createMany(t, c, 2500)
	var replica *client.Replica
	calls, requests := make(chan changed, 5000), 0
	follower := server.Client(client.WithTokenFunc(func(context.Context) (string, error) {
		requests++
		select {
		case <-replica.Ready():
			if _, ok := replica.Get(3); !ok || replica.Len() < len(plants) {
				t.Errorf("before request %d the replica has %d plants", requests, replica.Len())
			}
		default:
		}
		return server.Token, nil
	}))
	replica = client.NewReplica(follower, func(before, after *client.Plant) {
		calls <- changed{before, after}
		if after == nil || after.Name != "gone" {
			return
		}
		// The next request has a position that is not valid any more.
		server.Fail(1, clienttest.PositionGone)
		expect.NoError(t, c.Delete(ctx, 5))
		expect.NoError(t, second(c.Put(ctx, client.Plant{ID: 2000, Name: "b"})))
		expect.NoError(t, c.Create(ctx, client.Plant{ID: 9999, Name: "a"}))
	})
	go func() { _ = replica.Run(ctx) }()
	wait.For(t, "ready", replica.Ready())
	for range plants {
		wait.For(t, "a new plant", calls)
	}
	must.NoError(t, second(c.Put(ctx, client.Plant{ID: 1, Name: "gone"})))
	got := map[string]bool{}
	for range 4 {
		got[wait.For(t, "a change", calls).String()] = true
	}
	for _, want := range []string{"1 a -> 1 gone", "5 a -> none", "2000 a -> 2000 b", "none -> 9999 a"} {
		if !got[want] {
			t.Errorf("the changes are %v, want %s among them", got, want)
		}
	}
	must.NoError(t, second(c.Put(ctx, client.Plant{ID: 9999, Name: "b"}))) // as before
	if got := wait.For(t, "a change", calls).String(); got != "9999 a -> 9999 b" || len(calls) > 0 {
		t.Errorf("the next change is %s, and %d were not expected", got, len(calls))
	}
}

// Run ends with an error that no further request can mend.
func TestReplicaEndsWithAnError(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	for want, prepare := range map[error]func(){
		client.ErrBadCredentials: func() {},
		client.ErrUnavailable:    func() { server.Fail(10, clienttest.Unavailable) },
	} {
		prepare()
		replica := client.NewReplica(server.Client(client.WithToken("unknown")), nil)
		expect.Error(t, "Run", replica.Run(t.Context()), want)
		select {
		case <-replica.Ready():
			t.Errorf("after %v the replica is ready", want)
		default:
		}
	}

	// The context ends in the pause before it begins again.
	ctx, cancel := context.WithCancel(t.Context())
	c := server.Client(client.WithBackoff(func(context.Context, int, error) time.Duration { cancel(); return time.Hour }))
	must.NoError(t, c.Create(ctx, client.Plant{ID: 1}))
	server.Fail(1, clienttest.PositionGone)
	if err := client.NewReplica(c, nil).Run(ctx); err != context.Canceled {
		t.Errorf("Run = %v, want context.Canceled as it is", err)
	}
}
