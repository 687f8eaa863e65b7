package httpapi

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"
)

// pagesPerCPU is how many pages are made at one time for each processor. To make
// one is work for a processor: with more of them, every other request waits while
// they take turns. One may hold 4 MiB of plants and six times as much JSON.
const pagesPerCPU = 2

// pageWait is how long a request waits for its turn.
const pageWait = 5 * time.Second

// maxUnread is how many bytes of large pages are written without a turn. README
// says so.
const maxUnread = 256 << 20

// pages gives requests for a page of plants their turn, in order. They wait
// before they are in flight, and so take no other request's place. A page that
// has been made is written without a turn, so that slow clients do not keep
// others from listing.
type listSemaphore struct {
	turns  *semaphore.Weighted
	unread *semaphore.Weighted // bytes of maxUnread
}

func newListSemaphore() *listSemaphore {
	return &listSemaphore{
		turns:  semaphore.NewWeighted(pagesPerCPU * int64(runtime.GOMAXPROCS(0))),
		unread: semaphore.NewWeighted(maxUnread),
	}
}

// enter fails if no turn comes in pageWait; otherwise leave must follow.
func (p *listSemaphore) enter(ctx context.Context) (listPermit, error) {
	if !p.turns.TryAcquire(1) {
		ctx, cancel := context.WithTimeout(ctx, pageWait)
		defer cancel()
		if p.turns.Acquire(ctx, 1) != nil {
			return listPermit{}, errUnavailable
		}
	}
	return listPermit{lists: p, making: true}, nil
}

// listPermit is what a request holds of pages. The zero listPermit holds nothing.
type listPermit struct {
	lists  *listSemaphore
	making bool  // it has a turn
	unread int64 // bytes of pages.unread
}

// made ends the turn, before the page is written, if maxUnread has room for its
// bytes. Otherwise the turn goes on until the page is written. Pages that the
// buffers of a connection hold need no room.
func (t *listPermit) made(bytes int) {
	switch {
	case !t.making:
		return
	case bytes <= smallResponse:
	case t.lists.unread.TryAcquire(int64(bytes)):
		t.unread = int64(bytes)
	default:
		return
	}
	t.making = false
	t.lists.turns.Release(1)
}

// leave gives back what the request still holds.
func (t *listPermit) leave() {
	if t.making {
		t.lists.turns.Release(1)
	}
	if t.unread > 0 {
		t.lists.unread.Release(t.unread)
	}
	*t = listPermit{}
}
