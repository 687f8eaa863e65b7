package httpapi

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/plantstore/plantstore/internal/limit"
)

// HeldBy returns what the requests of a handler of [New] still hold. After the last
// request it is nil: what a request does not release is lost until the next start.
func HeldBy(h http.Handler) (held error) {
	v := h.(handler).validator
	for what, slots := range map[string]*limit.Slots{"requests in flight": v.admitted, "streams": v.streams} {
		if !slots.TryAcquire(slots.N) {
			held = errors.Join(held, errors.New(what))
		}
	}
	if !v.lists.takeAll() {
		held = errors.Join(held, errors.New("permits of lists"))
	}
	return held
}

// FillSlots takes the slots of all requests except those that wait for changes.
func FillSlots(h http.Handler) (release func()) {
	slots := h.(handler).admitted
	slots.TryAcquire(slots.N)
	return func() { slots.Release(slots.N) }
}

// takeAll reports whether no request holds a permit, or room for a list. If so, it
// takes all permits.
func (l *lists) takeAll() bool {
	return l.short.TryAcquire(l.short.N) && l.long.TryAcquire(l.long.N) && l.unread == 0 && len(l.readers) == 0
}

// FillUnread takes all memory for responses that are being written, for a client that
// goes on to read, or for one that has read nothing for an hour.
func FillUnread(h http.Handler, reads bool) (leave func(), err error) {
	lists := h.(handler).lists
	r, err := lists.reserve(httptest.NewRecorder(), nil, maxUnread)
	if err != nil {
		return nil, err
	}
	lists.mu.Lock()
	defer lists.mu.Unlock()
	r.read = time.Now().Add(map[bool]time.Duration{true: time.Hour, false: -time.Hour}[reads])
	return r.leave, nil
}
