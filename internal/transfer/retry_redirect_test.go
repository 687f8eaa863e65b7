package transfer

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Retry-After is obeyed, as seconds and as a time.
func TestRetryAfter(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		value  func() string
		pause  time.Duration
	}{
		"too many requests": {http.StatusTooManyRequests, func() string { return "7" }, 7 * time.Second},
		"not available":     {http.StatusServiceUnavailable, func() string { return "1" }, time.Second},
		"a bad gateway":     {http.StatusBadGateway, func() string { return "20" }, 20 * time.Second},
		"a time": {http.StatusServiceUnavailable, func() string {
			return time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)
		}, 29 * time.Second},
		"a time that is over": {http.StatusServiceUnavailable, func() string { return "Fri, 20 Nov 1999 09:00:00 GMT" }, 0},
		"a negative number":   {http.StatusServiceUnavailable, func() string { return "-7" }, 0},
		"nothing":             {http.StatusServiceUnavailable, func() string { return "" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service, err := NewService("http://plants.example.com", "token")
				if err != nil {
					t.Fatal(err)
				}
				var sent []time.Time
				service.transport = roundTrip(func(*http.Request) (*http.Response, error) {
					sent = append(sent, time.Now())
					if len(sent) == 2 {
						return respond(http.StatusOK, "", "", "[]"), nil
					}
					return respond(c.status, "Retry-After", c.value(), ""), nil
				})
				err = Download(t.Context(), service, NewWriter(io.Discard, CSV), func(int) {})
				if err != nil || len(sent) != 2 {
					t.Fatalf("%d requests were sent, %v; want 2", len(sent), err)
				}
				// A time in a header is cut to seconds, and the pauses of
				// several clients differ by some milliseconds.
				if pause := sent[1].Sub(sent[0]); pause < c.pause || pause > c.pause+1200*time.Millisecond {
					t.Errorf("the second request was sent after %v, want %v", pause, c.pause)
				}
			})
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A redirect is not followed: no plant and no token is sent to its target, on
// another host or the same one.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var redirected atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { redirected.Add(1) }))
	t.Cleanup(elsewhere.Close)
	otherHost := strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)
	for _, to := range []string{otherHost, elsewhere.URL} {
		for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, to+r.URL.Path, status)
			}))
			t.Cleanup(server.Close)
			service, err := NewService(server.URL, "token")
			if err != nil {
				t.Fatal(err)
			}
			for method, err := range map[string]error{
				"GET":  Download(t.Context(), service, NewWriter(io.Discard, CSV), func(int) {}),
				"POST": service.check(t.Context()),
			} {
				if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("responded with %d ", status)) {
					t.Errorf("%s ended with %v; want the redirect %d", method, err, status)
				}
				if redirected.Swap(0) != 0 {
					t.Errorf("%s followed the redirect %d to %s", method, status, to)
				}
			}
		}
	}
}
