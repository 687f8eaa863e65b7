package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// An address beyond its limit gets 429, other addresses do not, and the limit
// comes back.
func TestFailedAuthLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := validator{failedAuth: newFailedAuthLimiters(Rate{Limit: 2, Per: 2 * time.Second})}
		began := time.Now()
		fails := func(addr string, want error) {
			t.Helper()
			r := httptest.NewRequest(http.MethodGet, "/plants", nil)
			r.RemoteAddr = addr
			if got := v.countFailedAuth(http.Header{}, r, errBadCredentials); got != want {
				t.Errorf("at %v %s gets %v, want %v", time.Since(began), addr, got, want)
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
