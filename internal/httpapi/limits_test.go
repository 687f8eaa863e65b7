package httpapi_test

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// forEachOperation calls f with the method and a path of each operation.
func forEachOperation(t *testing.T, f func(t *testing.T, method, path string)) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.Document)
	must.NoError(t, err)
	for template, item := range doc.Paths.Map() {
		path := regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(template, "1")
		for method := range item.Operations() {
			t.Run(method+" "+template, func(t *testing.T) { f(t, method, path) })
		}
	}
}

// sendUnread sends a request with a token, and with a body that must not be read.
func (s *service) sendUnread(t *testing.T, method, path, token string, changes ...func(*http.Request)) response {
	t.Helper()
	unread := func(r *http.Request) { r.Body, r.ContentLength = untouchable{t}, -1 }
	return s.send(method, path, "", append(changes, unread, header("Authorization", "Bearer "+token))...)
}

// newToken stores a token and returns its text.
func newToken(t testing.TB, store token.Store, scopes ...token.Scope) string {
	t.Helper()
	stored, text := token.New("n", scopes, time.Hour)
	must.NoError(t, store.CreateToken(t.Context(), stored))
	return text
}

// Every operation counts against the rate limit of its token and says what is left.
// Beyond the limit it is refused before anything of the request is read.
func TestRateLimitOfEveryOperation(t *testing.T) {
	s := newService(t, offline, withOptions(func(o *httpapi.Options) { o.RateLimit = httpapi.Rate{Limit: 2, Per: time.Hour} }))
	forEachOperation(t, func(t *testing.T, method, path string) {
		text := newToken(t, s.store, token.Read, token.Write)
		for remaining := 1; remaining >= 0; remaining-- {
			a := s.send(method, path+"?unknown", "", header("Authorization", "Bearer "+text))
			if a.StatusCode == http.StatusTooManyRequests {
				t.Fatalf("got %s with %d left", a.Status, remaining+1)
			}
			wantQuota(t, a, 2, remaining)
		}
		a := s.sendUnread(t, method, path+"?unknown", text)
		a.wantError(t, plantapi.CodeTooManyRequests)
		wantQuota(t, a, 2, 0)
		wantRetryAfter(t, a, 1800)
	})
}

// wantRetryAfter fails unless a client may try again after so many seconds, or before.
func wantRetryAfter(t testing.TB, a response, most int) {
	t.Helper()
	if after, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || after < 1 || after > most {
		t.Errorf("Retry-After is %q, want up to %d seconds", a.Header.Get("Retry-After"), most)
	}
}

func wantQuota(t testing.TB, a response, limit, remaining int) {
	t.Helper()
	got := a.Header.Get("RateLimit-Limit") + " " + a.Header.Get("RateLimit-Remaining")
	if want := fmt.Sprint(limit, " ", remaining); got != want {
		t.Errorf("got %s with the rate limit %q, want %q", a.Status, got, want)
	}
}

// Each token has a rate limit of its own. Requests without the scope do not count.
func TestRateLimitPerToken(t *testing.T) {
	s := newService(t, offline, withOptions(func(o *httpapi.Options) { o.RateLimit = httpapi.Rate{Limit: 1, Per: time.Hour} }))
	a, b := newToken(t, s.store, token.Read), newToken(t, s.store, token.Read)
	s.sendUnread(t, "POST", "/plants", a).wantError(t, plantapi.CodeInsufficientScope)
	for _, text := range []string{a, b, staticToken} {
		s.sendUnread(t, "GET", "/plants", text).wantStatus(t, http.StatusOK)
		s.sendUnread(t, "GET", "/plants", text).wantError(t, plantapi.CodeTooManyRequests)
		s.sendUnread(t, "GET", "/nowhere", text).wantError(t, plantapi.CodeNoSuchPath)
	}
	s.sendUnread(t, "POST", "/plants", a).wantError(t, plantapi.CodeInsufficientScope)
}

// While MaxInFlight requests are in flight, every operation is refused before anything
// of the request is read. Requests with bad credentials and those without an
// operation are not refused for that, and do not count.
func TestCapacityOfEveryOperation(t *testing.T) {
	store := openStore(t)
	held := heldPlants{store, make(chan struct{}, 3), make(chan struct{}), make(chan error, 3)}
	s := newService(t, offline, withStore(store), withPlants(held), withOptions(func(o *httpapi.Options) { o.MaxInFlight = 2 }))
	responses := make(chan response, 3)
	start := func() {
		go func() { responses <- s.sendUnread(t, "GET", "/plants/1", staticToken) }()
		wait.For(t, "a call of Get", held.began)
	}
	finish := func() {
		held.proceed <- struct{}{}
		wait.For(t, "a response", responses).wantError(t, plantapi.CodeNoSuchPlant)
	}
	start()
	start()
	forEachOperation(t, func(t *testing.T, method, path string) {
		if strings.HasPrefix(path, "/changes") {
			return // TestStreamsHaveALimitOfTheirOwn
		}
		a := s.sendUnread(t, method, path, staticToken)
		a.wantError(t, plantapi.CodeUnavailable)
		wantRetryAfter(t, a, 1)
		s.sendUnread(t, method, path, "nonsense").wantError(t, plantapi.CodeBadCredentials)
	})
	s.sendUnread(t, "OPTIONS", "/plants", "").wantStatus(t, http.StatusNoContent)
	s.sendUnread(t, "GET", "/nowhere", "").wantError(t, plantapi.CodeNoSuchPath)

	finish()
	s.sendUnread(t, "GET", "/plants", staticToken).wantStatus(t, http.StatusOK)
	start()
	s.sendUnread(t, "GET", "/plants", staticToken).wantError(t, plantapi.CodeUnavailable)
	finish()
	finish()
}

func TestFailedAuthLimitPerAddress(t *testing.T) {
	s := newService(t, offline, withOptions(func(o *httpapi.Options) { o.FailedAuth = httpapi.Rate{Limit: 3, Per: time.Hour} }))
	used, unused := newToken(t, s.store, token.Read), newToken(t, s.store, token.Read)
	send := func(address, text string) response {
		t.Helper()
		return s.sendUnread(t, "GET", "/plants", text, func(r *http.Request) { r.RemoteAddr = address })
	}
	const bad = "192.0.2.1:4711"
	send(bad, used).wantStatus(t, http.StatusOK)
	for _, text := range []string{"nonsense", unknownToken(), used[:64]} {
		send(bad, text).wantError(t, plantapi.CodeBadCredentials)
	}
	for range 3 {
		a := send(bad, unknownToken())
		if e := a.wantError(t, plantapi.CodeTooManyRequests); e.Message != "too many requests with bad credentials, try again later" {
			t.Errorf("got %s", a.body)
		}
		wantQuota(t, a, 3, 0)
		wantRetryAfter(t, a, 1200)
	}
	// From the same address every valid token is accepted, used before or not, and a
	// request without credentials gets its own error.
	for _, text := range []string{used, unused, staticToken} {
		if a := send(bad, text).wantStatus(t, http.StatusOK); a.Header.Get("RateLimit-Limit") != "" {
			t.Error("the response to a valid token has the headers of a rate limit")
		}
	}
	s.send("GET", "/plants", "", func(r *http.Request) { r.RemoteAddr = bad }).wantError(t, plantapi.CodeNoCredentials)

	// Other addresses have limits of their own; an IPv6 address is its /64.
	for address, want := range map[string]plantapi.ErrorCode{
		"192.0.2.2:1":            plantapi.CodeBadCredentials,
		"192.0.2.1:9":            plantapi.CodeTooManyRequests,
		"[::ffff:192.0.2.1]:1":   plantapi.CodeTooManyRequests,
		"[2001:db8:0:1::1]:1":    plantapi.CodeBadCredentials,
		"[2001:db8:0:2::1]:1":    plantapi.CodeBadCredentials,
		"[2001:db8:0:1:ff::1]:1": plantapi.CodeBadCredentials,
		"@":                      plantapi.CodeBadCredentials,
	} {
		send(address, "nonsense").wantError(t, want)
	}
	for i := range 3 {
		send(fmt.Sprintf("[2001:db8:0:3::%d]:1", i), "nonsense").wantError(t, plantapi.CodeBadCredentials)
	}
	send("[2001:db8:0:3::3]:1", "nonsense").wantError(t, plantapi.CodeTooManyRequests)
}

// unknownToken returns a token of the right form that is not stored.
func unknownToken() string {
	_, text := token.New("unknown", nil, 0)
	return text
}

func readOnly(o *httpapi.Options) { o.ReadOnly = true }

// A read-only service refuses every operation that the document gives the scope
// write, before it reads anything of the body, and no other. The operator knows it, so
// this is logged only if all requests are.
func TestReadOnly(t *testing.T) {
	for _, logAll := range []bool{false, true} {
		log := new(bytes.Buffer)
		s := newService(t, offline, withLog(log), withOptions(readOnly), withOptions(func(o *httpapi.Options) { o.LogAll = logAll }))
		refused := 0
		forEachOperation(t, func(t *testing.T, method, path string) {
			a := s.sendUnread(t, method, path, staticToken)
			if method == http.MethodGet {
				if a.StatusCode == http.StatusServiceUnavailable {
					t.Errorf("a read is refused: %s", a.body)
				}
				return
			}
			refused++
			if e := a.wantError(t, plantapi.CodeUnavailable); !strings.Contains(e.Message, "the service is read-only for now") {
				t.Errorf("the message is %q", e.Message)
			}
			if got := a.Header.Get("Retry-After"); got != "5" {
				t.Errorf("Retry-After is %q, want 5", got)
			}
		})
		if refused < 5 {
			t.Errorf("%d operations are refused, want at least 5", refused)
		}
		logged := strings.Count(log.String(), `"error":50300`)
		if want := map[bool]int{true: refused}[logAll]; logged != want {
			t.Errorf("%d refusals are logged, want %d:\n%s", logged, want, log)
		}
	}
}
