package clienttest_test

import (
	"errors"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
)

// Responses with a fault are those that the document describes. Faults come in the order of the calls. One that is
// aimed at some of the requests leaves the others alone.
func TestFail(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), clienttest.New(t)
	c := server.Client(client.WithAttempts(1), client.WithHTTPClient(plantcontract.Plants().Client(t)))
	writes := func(r *http.Request) bool { return r.Method == http.MethodPut }
	server.FailWhere(writes, 1, clienttest.Unavailable)
	server.Fail(1, clienttest.TooManyRequests)
	server.Fail(1, clienttest.Unavailable)
	server.Fail(1, clienttest.Delay(time.Millisecond))
	for _, want := range []client.Error{
		{Code: client.ErrTooManyRequests, RetryAfter: time.Second},
		{Code: client.ErrUnavailable, RetryAfter: time.Second},
		{Code: client.ErrNoSuchPlant},
	} {
		_, err := c.Get(ctx, 1)
		if got, ok := errors.AsType[*client.Error](err); !ok || got.Code != want.Code || got.RetryAfter != want.RetryAfter {
			t.Errorf("a read has the error %v, want %v", err, want.Code)
		}
	}
	for _, want := range []error{client.ErrUnavailable, nil} {
		_, err := c.Put(ctx, client.Plant{ID: 1})
		expect.Error(t, "a write", err, want)
	}
	// The connection is refused before the server has the request.
	c = server.Client(client.WithAttempts(1))
	server.FailWhere(writes, 1, clienttest.Refuse)
	_, err := c.Get(ctx, 1)
	expect.NoError(t, err)
	_, err = c.Put(ctx, client.Plant{ID: 1})
	expect.Error(t, "a write that is refused", err, syscall.ECONNREFUSED)
}

// A position that is gone ends the changes of a follower that has it.
func TestPositionGone(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), clienttest.New(t)
	c := server.Client(client.WithHTTPClient(plantcontract.Plants().Client(t)))
	server.Fail(1, clienttest.PositionGone)
	expect.NoError(t, c.Create(ctx, client.Plant{ID: 1}))
	var last client.Position
	for change, err := range c.ChangesUntilNow(ctx, "") {
		expect.NoError(t, err)
		last = change.Position
	}
	for i, want := range []error{client.ErrPositionGone, nil} {
		if got := server.Pending(); got != 1-i {
			t.Errorf("before request %d, %d faults are pending, want %d", i, got, 1-i)
		}
		var got error
		for _, err := range c.ChangesUntilNow(ctx, last) {
			got = err
		}
		expect.Error(t, "changes after a position", got, want)
	}
}
