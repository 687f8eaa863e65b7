package httpapi

import (
	"context"
	"fmt"
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
	requests limit
	streams  limit // of requests that wait for changes: they hold little, for a long time
	lists    *lists
}

// limit is a number of requests that may be handled at the same time.
type limit struct {
	flag string // that sets the limit
	most int64  // 0: no limit
	now  atomic.Int64
}

func newInFlight(requests, streams int) *inFlight {
	f := &inFlight{lists: newLists()}
	f.requests.flag, f.requests.most = "max-in-flight", int64(requests)
	f.streams.flag, f.streams.most = "max-streams", int64(streams)
	return f
}

// of returns the limit for an operation.
func (f *inFlight) of(op *operation) *limit {
	if op.waits {
		return &f.streams
	}
	return &f.requests
}

// enter fails if the limit is reached; otherwise leave must follow. A list of plants
// waits for its permit first.
func (f *inFlight) enter(ctx context.Context, rec *responseRecorder, longList bool) (err error) {
	if rec.operation.returnsList {
		if rec.permit, err = f.lists.enter(ctx, longList); err != nil {
			return err
		}
	}
	if l := f.of(rec.operation); l.now.Add(1) > l.most && l.most > 0 {
		f.leave(rec)
		return fmt.Errorf("%d requests at the same time, the limit is --%s: %w", l.most, l.flag, errUnavailable)
	}
	return nil
}

func (f *inFlight) leave(rec *responseRecorder) {
	f.of(rec.operation).now.Add(-1)
	rec.permit.release()
	rec.reader.leave()
}
