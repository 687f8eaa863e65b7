package httpapi

import (
	"context"
	"sync/atomic"
)

// inFlight caps the requests that are being answered at one time. Beyond that a
// request is refused at once: to wait in a longer queue helps nobody, and each
// request in hand may hold a body and an answer. Memory for bodies is so bounded
// by the cap times the largest body.
//
// Only requests that a good token came with count, from before their body is
// read until their answer is written. A connection without a request costs
// nothing here, and strangers cannot fill the cap: nothing of theirs is read, so
// they are refused sooner than they could be counted. OPTIONS, 404 and 405 hold
// nothing either, and stay outside.
type inFlight struct {
	most  int64 // 0: no cap
	now   atomic.Int64
	lists *listSemaphore
}

func newInFlight(most int) *inFlight { return &inFlight{most: int64(most), lists: newListSemaphore()} }

// enter fails if the cap is reached; otherwise leave must follow.
func (f *inFlight) enter(ctx context.Context, rec *responseRecorder) (err error) {
	if rec.operation.answersPage {
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
	rec.list.leave()
}
