package httpapi

import (
	"context"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/plantstore/plantstore/internal/feed"
)

// listsPerCPU is how many lists are made at the same time on each processor. Making
// a list needs the processor, so more of them at the same time would only delay
// all other requests. A list may take 4 MiB of plants and six times as much JSON.
const listsPerCPU = 2

// listWait is how long a request waits for a permit.
const listWait = 5 * time.Second

// maxUnread is how many bytes of large lists may be written without a permit. The
// operator's manual says so.
const maxUnread = 256 << 20

// listSemaphore limits how many lists of plants and pages of changes are made at the
// same time. Requests wait for their permit in order, and those for plants before they
// count as in flight, so they do not take the place of other requests. The permit is
// released before the list is written, so that slow clients do not keep others from
// listing.
type listSemaphore struct {
	permits *semaphore.Weighted
	unread  *semaphore.Weighted // bytes of maxUnread

	mu     sync.Mutex
	shared map[*feed.Page]int // pages with room in unread, and how many requests write each
}

func newListSemaphore() *listSemaphore {
	return &listSemaphore{
		permits: semaphore.NewWeighted(listsPerCPU * int64(runtime.GOMAXPROCS(0))),
		unread:  semaphore.NewWeighted(maxUnread),
		shared:  map[*feed.Page]int{},
	}
}

// enter waits for a permit. It fails after listWait; otherwise leave must follow.
func (s *listSemaphore) enter(ctx context.Context) (listPermit, error) {
	if !s.permits.TryAcquire(1) {
		ctx, cancel := context.WithTimeout(ctx, listWait)
		defer cancel()
		if s.permits.Acquire(ctx, 1) != nil {
			return listPermit{}, errUnavailable
		}
	}
	return listPermit{lists: s, making: true}, nil
}

// share lets a request write a page that others write, too. Its bytes have room in
// maxUnread once, until the last of the requests leaves. If there is no room, share is
// enter.
func (s *listSemaphore) share(ctx context.Context, page *feed.Page, bytes int) (listPermit, error) {
	s.mu.Lock()
	if s.shared[page] > 0 || s.unread.TryAcquire(int64(bytes)) {
		defer s.mu.Unlock()
		s.shared[page]++
		return listPermit{lists: s, unread: int64(bytes), page: page}, nil
	}
	s.mu.Unlock()
	return s.enter(ctx)
}

// listPermit is what a request holds of the semaphore. The zero listPermit holds
// nothing.
type listPermit struct {
	lists  *listSemaphore
	making bool       // holds one of permits
	unread int64      // bytes held of lists.unread
	page   *feed.Page // the requests that write it hold unread together; nil: none does
}

// made releases the permit before the list is written, if maxUnread has room for
// its bytes. Otherwise the request keeps the permit until the list is written. Lists
// that fit into the buffers of a connection need no room.
func (p *listPermit) made(bytes int) {
	switch {
	case !p.making:
		return
	case bytes <= smallResponse:
	case p.lists.unread.TryAcquire(int64(bytes)):
		p.unread = int64(bytes)
	default:
		return
	}
	p.making = false
	p.lists.permits.Release(1)
}

// leave releases what the request still holds.
func (p *listPermit) leave() {
	if p.making {
		p.lists.permits.Release(1)
	}
	if p.unread > 0 && (p.page == nil || p.lists.wasLast(p.page)) {
		p.lists.unread.Release(p.unread)
	}
	*p = listPermit{}
}

// wasLast ends a request's writing of a shared page, and reports whether no other
// request writes it.
func (s *listSemaphore) wasLast(page *feed.Page) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared[page]--; s.shared[page] > 0 {
		return false
	}
	delete(s.shared, page)
	return true
}
