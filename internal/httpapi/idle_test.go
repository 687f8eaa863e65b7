package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"time"
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
// takes all permits.
func (l *lists) takeAll() bool {
	most := listsPerCPU * int64(runtime.GOMAXPROCS(0))
	return l.short.TryAcquire(most) && l.long.TryAcquire(most) && l.unread == 0 && len(l.readers) == 0
}

// FillUnread takes all memory for responses that are being written, for a client that
// goes on to read, or for one that has read nothing for an hour.
func FillUnread(h http.Handler, reads bool) (leave func(), err error) {
	lists := h.(handler).inFlight.lists
	r, err := lists.reserve(httptest.NewRecorder(), nil, maxUnread)
	if err != nil {
		return nil, err
	}
	lists.mu.Lock()
	defer lists.mu.Unlock()
	r.read = time.Now().Add(map[bool]time.Duration{true: time.Hour, false: -time.Hour}[reads])
	return r.leave, nil
}
