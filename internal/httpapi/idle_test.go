package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
)

// HeldBy returns what the requests of a handler of [New] still hold. After the last
// request it is nil: what a request does not release is lost until the next start.
func HeldBy(h http.Handler) (held error) {
	f := h.(handler).inFlight
	for what, n := range map[string]int64{"requests in flight": f.requests.now.Load(), "streams": f.streams.now.Load()} {
		if n != 0 {
			held = errors.Join(held, fmt.Errorf("%d %s", n, what))
		}
	}
	if !f.lists.takeAll() {
		held = errors.Join(held, errors.New("permits of lists"))
	}
	return held
}

// takeAll reports whether no request holds a permit, or room for a list. If so, it
// takes them all.
func (s *listSemaphore) takeAll() bool {
	return s.permits.TryAcquire(listsPerCPU*int64(runtime.GOMAXPROCS(0))) && s.unread.TryAcquire(maxUnread) && len(s.shared) == 0
}
