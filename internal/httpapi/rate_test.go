package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/token"
)

// left is what the headers of an answer say of a quota.
func left(h http.Header) string {
	text := h.Get("RateLimit-Limit") + " " + h.Get("RateLimit-Remaining") + " " + h.Get("RateLimit-Reset")
	if after := h.Get("Retry-After"); after != "" {
		text += ", again in " + after
	}
	return text
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newRateLimit(Rate{Limit: 3, Per: 6 * time.Second})
		count := func(id, want string) {
			t.Helper()
			h := http.Header{}
			err := l.count(h, token.Token{ID: id})
			if got := left(h); got != want || (err != nil) != (h.Get("Retry-After") != "") {
				t.Errorf("at %v %s: %q, %v, want %q", l.quota.now(), id, got, err, want)
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

// What others do meanwhile changes nothing about a quota.
func TestRateLimitOfTheSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newRateLimit(Rate{Limit: 10, Per: 10 * time.Second})
		for range 10 {
			l.count(http.Header{}, token.Token{ID: "silent"})
		}
		for range 9 {
			time.Sleep(time.Second)
			l.count(http.Header{}, token.Token{ID: "busy"})
		}
		h := http.Header{}
		if err := l.count(h, token.Token{ID: "silent"}); err != nil || left(h) != "10 8 2" {
			t.Errorf("after 9 seconds %q, %v, want 8 left", left(h), err)
		}
	})
}

// A window that ends gives back no more than its last moment.
func TestRateLimitAtTheEndOfAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newRateLimit(Rate{Limit: 10, Per: 10 * time.Second})
		time.Sleep(9500 * time.Millisecond)
		for range 10 {
			l.count(http.Header{}, token.Token{ID: "a"})
		}
		time.Sleep(500 * time.Millisecond)
		for _, id := range []string{"b", "a"} {
			h := http.Header{}
			if err := l.count(h, token.Token{ID: id}); (err == nil) != (id == "b") {
				t.Errorf("half a second after its quota is used up, %s has %q, %v", id, left(h), err)
			}
		}
	})
}

// A quota that is whole takes no memory, and one that is not is never forgotten.
func TestRateLimitForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newRateLimit(Rate{Limit: 10, Per: 10 * time.Second})
		for i := range 1000 {
			l.count(http.Header{}, token.Token{ID: fmt.Sprint(i)})
		}
		for range 30 { // each takes exactly what has come back
			for range 10 {
				l.count(http.Header{}, token.Token{ID: "busy"})
			}
			if l.count(http.Header{}, token.Token{ID: "busy"}) == nil {
				t.Fatalf("at %v the quota of a busy token was forgotten", l.quota.now())
			}
			time.Sleep(9 * time.Second)
		}
		if got := len(l.young) + len(l.old); got > 2 {
			t.Errorf("%d quotas are kept, want that of the busy token", got)
		}
	})
}

func TestDecimals(t *testing.T) {
	q := newQuota(Rate{Limit: 5000, Per: time.Hour})
	for _, n := range []int{0, 1, maxDecimals - 1, maxDecimals, 4999} {
		if got := fmt.Sprint(q.decimal(n)); got != fmt.Sprint([]int{n}) {
			t.Errorf("decimal(%d) = %s", n, got)
		}
	}
}

// Limits that are not reached cost the request path no memory.
func TestLimitsAllocateNothing(t *testing.T) {
	rates, capacity, strange := newRateLimit(Rate{Limit: 1 << 20, Per: time.Hour}), newInFlight(1), newFailedAuthLimiter(Rate{Limit: maxDecimals - 1, Per: time.Hour})
	r := httptest.NewRequest(http.MethodGet, "/plants", nil)
	r.RemoteAddr = "[2001:db8::1]:4711"
	h, caller, ctx, page := http.Header{}, token.Token{ID: "mGdgoH14hxFz"}, t.Context(), &responseRecorder{operation: &operation{answersPage: true}}
	for what, f := range map[string]func(){
		"a quota":         func() { clear(h); _, _, _ = rates.take(caller.ID) },
		"its headers":     func() { clear(h); strange.quota.describe(h, 1, 0) },
		"the cap":         func() { _ = capacity.enter(ctx, page); capacity.leave(page) },
		"bad credentials": func() { _ = strange.failed(h, r, errBadCredentials) },
		"no limits": func() {
			_ = (*rateLimit)(nil).count(h, caller)
			_ = (*failedAuthLimiter)(nil).failed(h, r, errBadCredentials)
		},
	} {
		if got := testing.AllocsPerRun(1000, f); got != 0 {
			t.Errorf("%s: %v allocations, want none", what, got)
		}
	}
}

func BenchmarkRateLimit(b *testing.B) {
	l := newRateLimit(Rate{Limit: 1000, Per: time.Second})
	h, caller := http.Header{}, token.Token{ID: "mGdgoH14hxFz"}
	b.ReportAllocs()
	for b.Loop() {
		_ = l.count(h, caller)
	}
}
