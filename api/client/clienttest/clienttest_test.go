package clienttest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
)

// A response with a fault is one that the document describes, and faults come in
// the order of the calls.
func TestFail(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	c := server.Client(client.WithHTTPClient(plantcontract.Plants().Client(t)))
	server.Fail(1, clienttest.TooManyRequests)
	server.Fail(2, clienttest.Unavailable)
	server.Fail(1, clienttest.Delay(time.Millisecond))
	once := server.Client(client.WithAttempts(1), client.WithHTTPClient(plantcontract.Plants().Client(t)))
	for i, want := range []client.Code{client.ErrTooManyRequests, client.ErrUnavailable} {
		_, err := once.Get(t.Context(), 1)
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != want || e.RetryAfter != time.Second {
			t.Errorf("request %d has the error %v, want %v", i, err, want)
		}
	}
	if err := c.Create(t.Context(), client.Plant{ID: 1, Name: "Ficus lyrata"}); err != nil {
		t.Error(err)
	}
}
