package httpapi

import (
	"context"
	"sync/atomic"
)

// inFlight limits how many requests are handled at the same time. Each may hold a
// body, so the memory for bodies is bounded by this limit times the largest body.
// A request beyond the limit is refused at once, because waiting in a longer queue
// helps no client.
//
// Only authorized requests count, from before their body is read until their
// response is written. Other requests hold nothing: a connection without a request,
// bad credentials, OPTIONS, 404 and 405.
type inFlight struct {
	most  int64 // 0: no limit
	now   atomic.Int64
	lists *listSemaphore
}

func newInFlight(most int) *inFlight { return &inFlight{most: int64(most), lists: newListSemaphore()} }

// enter fails if the limit is reached; otherwise leave must follow.
func (f *inFlight) enter(ctx context.Context, rec *responseRecorder) (err error) {
	if rec.operation.returnsList {
		if rec.list, err = f.lists.enter(ctx); err != nil {
			return err
		}
	}
	if f.now.Add(1) > f.most && f.most > 0 {
		f.leave(rec)
		return errUnavailable
	}
	return nil
}

func (f *inFlight) leave(rec *responseRecorder) {
	f.now.Add(-1)
	if rec.list.lists != nil {
		rec.list.leave()
	}
}
