package client_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// There is a sentinel with a text for each code that is generated from the document, with the same name, and no
// other one.
func TestCodes(t *testing.T) {
	t.Parallel()
	sentinels, generated := constants(t, "errors.go", "Err"), constants(t, "../../gen/plantapi/plantapi.gen.go", "Code")
	for name, code := range generated {
		if sentinels[name] != code {
			t.Errorf("Err%s is %d, want %d: add it to api/client/errors.go", name, sentinels[name], code)
		}
		if text := client.Code(code).Error(); strings.HasPrefix(text, "error ") {
			t.Errorf("code %d has no text: add it to codeText in api/client/errors.go", code)
		}
	}
	for name, code := range sentinels {
		if generated[name] != code {
			t.Errorf("Err%s is %d, which the document does not have", name, code)
		}
	}
	if len(sentinels) == 0 {
		t.Error("errors.go has no codes")
	}
}

// constants returns the codes of a file whose names have a prefix, without it.
func constants(t *testing.T, file, prefix string) map[string]int {
	t.Helper()
	source, err := os.ReadFile(file)
	must.NoError(t, err)
	found := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^\t`+prefix+`(\w+) +\w+ = (\d+)`).FindAllStringSubmatch(string(source), -1) {
		found[m[1]], err = strconv.Atoi(m[2])
		must.NoError(t, err)
	}
	return found
}

// Whatever is received in place of a response of the service is an error with its
// status and the first kilobyte of its body.
func TestForeignResponses(t *testing.T) {
	t.Parallel()
	html := "<html>" + strings.Repeat("x", 2000)
	for _, c := range []struct {
		name   string
		status int
		header http.Header
		body   string

		message string
		after   time.Duration
		says    string
	}{
		{"HTML of a proxy", 502, nil, html, html[:1024], 0, `502 Bad Gateway: "<html>xxx`},
		{"HTML of a network that wants a login", 200, nil, html, html[:1024], 0, `200 OK: "<html>xxx`},
		{"empty success", 200, nil, "", "", 0, `200 OK: ""`},
		{"an object of another service", 200, nil, `{"ok":true}`, `{"ok":true}`, 0, ""},
		{"the success of another operation", 202, nil, "{}", "{}", 0, "202 Accepted"},
		{"an error of another service", 404, nil, `{"error":404,"message":"no"}`, `{"error":404,"message":"no"}`, 0, ""},
		{"a code that does not fit the status", 500, nil, `{"error":40401,"message":"no"}`, `{"error":40401,"message":"no"}`, 0, ""},
		{"an unknown status", 599, nil, "a\xff", "a\xff", 0, `599: "a\xff"`},
		{"seconds", 503, http.Header{"Retry-After": {"7"}}, "busy", "busy", 7 * time.Second, ""},
		{"a date", 503, http.Header{"Retry-After": {"Fri, 31 Dec 2100 23:59:59 GMT"}}, "", "", -1, ""},
		{"too many seconds", 503, http.Header{"Retry-After": {"99999999999999999999"}}, "", "", 9223372036 * time.Second, ""},
		{"negative seconds", 503, http.Header{"Retry-After": {"-7"}}, "", "", 0, ""},
		{"empty headers", 429, http.Header{"Retry-After": {""}, "Ratelimit-Limit": {""}, "Ratelimit-Reset": {"soon"}}, "", "", 0, ""},
		{"a redirect", 308, http.Header{"Location": {"http://127.0.0.1:1/x"}}, "", "redirects are not followed: http://127.0.0.1:1/x", 0, ""},
		{"a redirect to no URL", 302, http.Header{"Location": {"http://[::1"}}, "", "redirects are not followed: http://[::1", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plants := at(t, handle(t, func(w http.ResponseWriter, _ *http.Request) {
				for name, values := range c.header {
					w.Header()[name] = values
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}), client.WithAttempts(1))
			for name, call := range operations {
				err := call(t.Context(), plants)
				e, ok := errors.AsType[*client.Error](err)
				if !ok {
					t.Fatalf("%s: the error is %v, want an Error", name, err)
				}
				if e.Status != c.status || e.Code != 0 || e.Message != c.message || e.RequestID != "" || e.Details != nil ||
					c.after >= 0 && e.RetryAfter != c.after || c.after < 0 && e.RetryAfter < time.Hour {
					t.Errorf("%s: the error is %+v", name, e)
				}
				if !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: the error says %q, want %q in it", name, err, c.says)
				}
			}
		})
	}
}

// next returns the first pair of a sequence.
func next[T any](all iter.Seq2[T, error]) (item T, err error) {
	for item, err = range all {
		return item, err
	}
	return item, err
}

// The request id of a failure in the service is part of the text.
func TestInternalError(t *testing.T) {
	t.Parallel()
	c := at(t, handle(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
		_, _ = w.Write([]byte(`{"error":50000,"message":"internal error","request_id":"abc"}`))
	}))
	expect.Message(t, "Put", second(c.Put(t.Context(), client.Plant{ID: 3})),
		"plantstore: put plant 3: internal error (500 Internal Server Error, error 50000, request abc)")
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for attempt, most := range map[int]time.Duration{1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 3: 400 * time.Millisecond, 7: 5 * time.Second, 1000: 5 * time.Second} {
		longest := time.Duration(0)
		for range 200 {
			longest = max(longest, client.Backoff(context.Background(), attempt, errors.New("lost")))
		}
		if longest > most || longest < most/2 {
			t.Errorf("the longest of 200 pauses after attempt %d is %v, want at most %v", attempt, longest, most)
		}
	}
	busy := &client.Error{RetryAfter: 7 * time.Second}
	if got := client.Backoff(context.Background(), 1, busy); got < 7*time.Second || got > 7100*time.Millisecond {
		t.Errorf("the pause is %v, want 7 seconds and a bit", got)
	}
	busy.RetryAfter = 2 * time.Minute
	if got := client.Backoff(context.Background(), 1, busy); got >= 0 {
		t.Errorf("the pause is %v, want none", got)
	}
}
