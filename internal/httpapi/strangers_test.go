package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// An address is suspect while it has no bad credentials left, and no longer.
func TestSuspects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStrangers(Rate{Limit: 2, Per: 2 * time.Second})
		from := func(addr string) *http.Request {
			r := httptest.NewRequest(http.MethodGet, "/plants", nil)
			r.RemoteAddr = addr
			return r
		}
		bad, other := from("192.0.2.1:1"), from("192.0.2.2:1")
		want := func(suspect bool) {
			t.Helper()
			if got := s.suspects(bad); got != suspect {
				t.Errorf("at %v suspects = %v, want %v", s.quota.now(), got, suspect)
			}
			if s.suspects(other) {
				t.Errorf("at %v another address is suspect", s.quota.now())
			}
		}
		want(false)
		_ = s.failed(http.Header{}, bad, errBadCredentials)
		want(false)
		_ = s.failed(http.Header{}, other, errBadCredentials)
		_ = s.failed(http.Header{}, bad, errBadCredentials)
		want(true)
		time.Sleep(999 * time.Millisecond)
		want(true)
		time.Sleep(time.Millisecond)
		want(false)
		_ = s.failed(http.Header{}, bad, errBadCredentials)
		want(true)
		time.Sleep(time.Hour)
		want(false)
	})
}
