package httpapi

import (
	"context"
	"runtime"
	"time"
)

// pagesPerCPU is how many pages are being answered at one time for each
// processor. To make one is work for a processor: with more of them, every
// other request waits while they take turns. One may hold 4 MiB of plants and as
// much again of JSON, so these hold some 16 MiB for each processor.
const pagesPerCPU = 2

// pageWait is how long a caller waits for its turn.
const pageWait = 5 * time.Second

// pages lets so many callers at one time have a page of plants; the others wait
// in order. Who does not read its page keeps its place until writePaced cuts it off,
// and keeps only those waiting who want pages, too: they wait before they are in
// flight, and so take no other request's place.
type pages chan struct{}

func newPages() pages { return make(pages, pagesPerCPU*runtime.GOMAXPROCS(0)) }

// enter fails if it is not the caller's turn in pageWait; otherwise leave must
// follow.
func (p pages) enter(ctx context.Context) error {
	select {
	case p <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(pageWait)
	defer timer.Stop()
	select {
	case p <- struct{}{}:
		return nil
	case <-timer.C:
		return errUnavailable
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p pages) leave() { <-p }
