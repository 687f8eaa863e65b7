package httpapi

import (
	"context"
	"testing"
	"time"
)

// Of the context of a request, the cause of its end is its own, and not that of the client.
func TestCauseOfAScope(t *testing.T) {
	ofClient, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if got := context.Cause(&scope{Context: expired, values: ofClient}); got != context.DeadlineExceeded {
		t.Errorf("the cause is %v, want %v", got, context.DeadlineExceeded)
	}
}
