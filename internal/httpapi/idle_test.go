package httpapi

import (
	"errors"
	"net/http"
	"runtime"

	"github.com/plantstore/plantstore/internal/limit"
)

// HeldBy returns what the requests of a handler of [New] still hold. After the last
// request it is nil: what a request does not release is lost until the next start.
func HeldBy(h http.Handler) (held error) {
	v := h.(handler)
	for what, slots := range map[string]*limit.Slots{"requests in flight": v.slots, "streams": v.waitingSlots} {
		if !slots.TryAcquire(slots.N) {
			held = errors.Join(held, errors.New(what))
		}
	}
	if !v.bodies.decoding.TryAcquire(int64(runtime.GOMAXPROCS(0))) {
		held = errors.Join(held, errors.New("decoding"))
	}
	if !HasRoom(v.bodies.account, accountSize) || !HasRoom(v.unread, accountSize) {
		held = errors.Join(held, errors.New("memory of an account"))
	}
	return held
}

// HasRoom reports whether there is room for so many bytes in an account.
func HasRoom(account *limit.Account, bytes int) bool {
	held := &limit.Holding{Bytes: bytes}
	defer held.Release()
	return account.Hold(held, false)
}

// FillSlots takes the slots of all requests except those that wait for changes.
func FillSlots(h http.Handler) (release func()) {
	slots := h.(handler).slots
	slots.TryAcquire(slots.N)
	return func() { slots.Release(slots.N) }
}

// Bodies returns the account of the bodies, and its size.
func Bodies(h http.Handler) (account *limit.Account, size int) {
	return h.(handler).bodies.account, accountSize
}

// Unread returns the account of the responses, and its size.
func Unread(h http.Handler) (account *limit.Account, size int) {
	return h.(handler).unread, accountSize
}
