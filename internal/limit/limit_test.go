package limit

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// left is what the headers of a response say about a rate limit.
func left(h http.Header) string {
	text := h.Get("RateLimit-Limit") + " " + h.Get("RateLimit-Remaining") + " " + h.Get("RateLimit-Reset")
	if after := h.Get("Retry-After"); after != "" {
		text += ", again in " + after
	}
	return text
}

// use uses a rate once and returns the headers.
func use(l *Rates[string], key string) (h http.Header, refused bool) {
	h = http.Header{}
	quota := l.Use(key)
	quota.Describe(h)
	return h, quota.Refused
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewRates[string](Rate{Limit: 3, Per: 6 * time.Second}, 0)
		began := time.Now()
		count := func(id, want string) {
			t.Helper()
			h, refused := use(l, id)
			if got := left(h); got != want || refused != (h.Get("Retry-After") != "") {
				t.Errorf("at %v %s: %q, refused %v, want %q", time.Since(began), id, got, refused, want)
			}
		}
		count("a", "3 2 2")
		count("a", "3 1 4")
		count("a", "3 0 6")
		count("a", "3 0 6, again in 2")
		count("b", "3 2 2") // has a quota of its own
		time.Sleep(1500 * time.Millisecond)
		count("a", "3 0 5, again in 1")
		time.Sleep(500 * time.Millisecond) // a refusal uses nothing
		count("a", "3 0 6")
		count("a", "3 0 6, again in 2")
		time.Sleep(time.Hour)
		count("a", "3 2 2")
	})
}

// The limiter of a token is kept while it is not full, however often others are used.
func TestRateLimitIsNotChangedByOtherTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewRates[string](Rate{Limit: 10, Per: 10 * time.Second}, 0)
		useFor := func(seconds int) {
			for range seconds {
				use(l, "busy")
				time.Sleep(time.Second)
			}
		}
		useFor(4)
		for range 10 {
			use(l, "idle")
		}
		useFor(9)
		if h, refused := use(l, "idle"); refused || left(h) != "10 8 2" {
			t.Errorf("after 9 seconds %q, refused %v, want 8 left", left(h), refused)
		}
	})
}

// Full limiters are dropped, others are not.
func TestFullLimitersAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewRates[string](Rate{Limit: 10, Per: 10 * time.Second}, 0)
		for i := range 1000 {
			use(l, fmt.Sprint(i))
		}
		for round := range 30 { // each uses exactly what has come back
			for range 10 {
				use(l, "busy")
			}
			if _, refused := use(l, "busy"); !refused {
				t.Fatalf("in round %d the limiter of a busy token was dropped", round)
			}
			time.Sleep(9 * time.Second)
		}
		if got := l.cache.Len(); got > 2 {
			t.Errorf("%d limiters are kept, want that of the busy token", got)
		}
	})
}

func TestLimitersAreBounded(t *testing.T) {
	const most = 100
	l := NewRates[int](Rate{Limit: 10, Per: time.Hour}, most)
	for i := range 100 * most {
		l.Use(i)
		if got := l.cache.Len(); got > most {
			t.Fatalf("%d limiters are kept, want at most %d", got, most)
		}
	}
}

// A request within the limits takes no memory, but for the headers.
func TestLimitsAllocateNothing(t *testing.T) {
	var none *Rates[string]
	rates, slots, h := NewRates[string](Rate{Limit: 1 << 20, Per: time.Hour}, 0), NewSlots("requests", 2), http.Header{}
	for what, f := range map[string]func(){
		"a rate":  func() { rates.Use("mGdgoH14hxFz") },
		"no rate": func() { none.Use("mGdgoH14hxFz").Describe(h) },
		"a slot":  func() { slot, _ := slots.Take(); slot.Release() },
		"a share": func() { slot, _ := slots.TakeShare("mGdgoH14hxFz"); slot.Release() },
	} {
		if got := testing.AllocsPerRun(1000, f); got != 0 {
			t.Errorf("%s: %v allocations, want none", what, got)
		}
	}
}

// Without a free slot a request is refused. One key has half of the slots at most.
func TestSlots(t *testing.T) {
	s := NewSlots("streams", 3)
	take := func(key string) *Slot {
		t.Helper()
		slot, err := s.TakeShare(key)
		must.NoError(t, err)
		return &slot
	}
	full := func(key, want string) {
		t.Helper()
		if _, err := s.TakeShare(key); !errors.Is(err, ErrFull) || err.Error() != want {
			t.Errorf("TakeShare = %v, want %s", err, want)
		}
	}
	first, second := take("a"), take("a")
	full("a", "for one token: too many at the same time: the limit of streams is 2")
	third := take("b")
	full("c", "too many at the same time: the limit of streams is 3")
	first.Release()
	first.Release() // does nothing
	fourth := take("c")
	full("a", "too many at the same time: the limit of streams is 3")
	for _, slot := range []*Slot{second, third, fourth} {
		slot.Release()
	}
	if len(s.byKey) != 0 || !s.TryAcquire(3) {
		t.Errorf("slots of %v were not released", s.byKey)
	}

	unlimited := NewSlots("requests", 0)
	for range 1000 {
		_, err := unlimited.TakeShare("a")
		must.NoError(t, err)
	}
}
