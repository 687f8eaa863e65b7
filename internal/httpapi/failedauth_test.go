package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// An address beyond its quota of bad credentials gets 429, other addresses do
// not, and the quota comes back.
func TestFailedCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFailedAuthLimiter(Rate{Limit: 2, Per: 2 * time.Second})
		fails := func(addr string, want error) {
			t.Helper()
			r := httptest.NewRequest(http.MethodGet, "/plants", nil)
			r.RemoteAddr = addr
			if got := s.failed(http.Header{}, r, errBadCredentials); got != want {
				t.Errorf("at %v %s gets %v, want %v", s.quota.now(), addr, got, want)
			}
		}
		const bad, other = "192.0.2.1:1", "192.0.2.2:1"
		fails(bad, errBadCredentials)
		fails(bad, errBadCredentials)
		fails(bad, errTooManyFailures)
		fails(other, errBadCredentials)
		time.Sleep(999 * time.Millisecond)
		fails(bad, errTooManyFailures)
		time.Sleep(time.Millisecond)
		fails(bad, errBadCredentials)
		fails(bad, errTooManyFailures)
		time.Sleep(time.Hour)
		fails(bad, errBadCredentials)
	})
}
