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

// left is what the headers of a response say about a rate limit.
func left(h http.Header) string {
	text := h.Get("RateLimit-Limit") + " " + h.Get("RateLimit-Remaining") + " " + h.Get("RateLimit-Reset")
	if after := h.Get("Retry-After"); after != "" {
		text += ", again in " + after
	}
	return text
}

// use has a token use its limit once and returns the headers.
func use(l *limiters[string], id string) (http.Header, error) {
	h := http.Header{}
	err := validator{rateLimit: l}.limitRate(h, token.Token{ID: id})
	return h, err
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiters[string](Rate{Limit: 3, Per: 6 * time.Second}, 0)
		began := time.Now()
		count := func(id, want string) {
			t.Helper()
			h, err := use(l, id)
			if got := left(h); got != want || (err != nil) != (h.Get("Retry-After") != "") {
				t.Errorf("at %v %s: %q, %v, want %q", time.Since(began), id, got, err, want)
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

func TestRateLimitIsNotChangedByOtherTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiters[string](Rate{Limit: 10, Per: 10 * time.Second}, 0)
		for range 10 {
			use(l, "idle")
		}
		for range 9 {
			time.Sleep(time.Second)
			use(l, "busy")
		}
		if h, err := use(l, "idle"); err != nil || left(h) != "10 8 2" {
			t.Errorf("after 9 seconds %q, %v, want 8 left", left(h), err)
		}
	})
}

// A limiter is kept while it is not full, also when the older ones are dropped.
func TestRateLimitWhenLimitersAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiters[string](Rate{Limit: 10, Per: 10 * time.Second}, 0)
		time.Sleep(9500 * time.Millisecond)
		for range 10 {
			use(l, "a")
		}
		time.Sleep(500 * time.Millisecond)
		for _, id := range []string{"b", "a"} {
			if h, err := use(l, id); (err == nil) != (id == "b") {
				t.Errorf("half a second after token a has used its limit, token %s has %q, %v", id, left(h), err)
			}
		}
	})
}

// Full limiters are dropped, others are not.
func TestFullLimitersAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiters[string](Rate{Limit: 10, Per: 10 * time.Second}, 0)
		for i := range 1000 {
			use(l, fmt.Sprint(i))
		}
		for round := range 30 { // each uses exactly what has come back
			for range 10 {
				use(l, "busy")
			}
			if _, err := use(l, "busy"); err == nil {
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
	l := newLimiters[int](Rate{Limit: 10, Per: time.Hour}, most)
	for i := range 100 * most {
		l.allow(i)
		if got := l.cache.Len(); got > most {
			t.Fatalf("%d limiters are kept, want at most %d", got, most)
		}
	}
}

// A request within the limits takes no memory, but for the headers.
func TestLimitsAllocateNothing(t *testing.T) {
	rate := Rate{Limit: 1 << 20, Per: time.Hour}
	rates, capacity, failures := newLimiters[string](rate, 0), newInFlight(1, 0), newFailedAuthLimiters(rate)
	r := httptest.NewRequest(http.MethodGet, "/plants", nil)
	r.RemoteAddr = "[2001:db8::1]:4711"
	h, ctx, list := http.Header{}, t.Context(), &responseRecorder{operation: &operation{returnsList: true}}
	for what, f := range map[string]func(){
		"the rate limit": func() { rates.allow("mGdgoH14hxFz") },
		"the cap":        func() { _ = capacity.enter(ctx, list, false); capacity.leave(list) },
		"failed authentication": func() {
			_ = validator{failedAuth: failures}.countFailedAuth(h, r, errBadCredentials)
		},
		"no limits": func() {
			_ = validator{}.limitRate(h, token.Token{})
			_ = validator{}.countFailedAuth(h, r, errBadCredentials)
		},
	} {
		if got := testing.AllocsPerRun(1000, f); got != 0 {
			t.Errorf("%s: %v allocations, want none", what, got)
		}
	}
}

func BenchmarkRateLimit(b *testing.B) {
	v := validator{rateLimit: newLimiters[string](Rate{Limit: 1000, Per: time.Second}, 0)}
	h, t := http.Header{}, token.Token{ID: "mGdgoH14hxFz"}
	b.ReportAllocs()
	for b.Loop() {
		_ = v.limitRate(h, t)
	}
}
