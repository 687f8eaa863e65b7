package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
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

// address sends requests to a handler from one IP address.
type address struct {
	t       *testing.T
	handler http.Handler
	addr    string
	body    io.Reader
}

// addressOf returns an address whose responses are checked against the document and
// whose request body must not be read.
func addressOf(t *testing.T, handler http.Handler) address {
	return address{t, plantcontract.Plants().Handler(t, handler), "192.0.2.1:4711", untouchable{t}}
}

func (c address) send(method, path, token string) response {
	c.t.Helper()
	r := httptest.NewRequestWithContext(c.t.Context(), method, path, c.body)
	r.RemoteAddr = c.addr
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	return response{w.Result(), w.Body.String()}
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
	store := openStore(t)
	handler := newService(t, offline, withStore(store), withOptions(func(o *httpapi.Options) {
		o.RateLimit = httpapi.Rate{Limit: 2, Per: time.Hour}
	})).handler
	forEachOperation(t, func(t *testing.T, method, path string) {
		c := addressOf(t, handler)
		text := newToken(t, store, token.Read, token.Write)
		c.body = http.NoBody
		for remaining := 1; remaining >= 0; remaining-- {
			a := c.send(method, path+"?unknown", text)
			if a.StatusCode == http.StatusTooManyRequests {
				t.Fatalf("got %s with %d left", a.Status, remaining+1)
			}
			wantQuota(t, a, 2, remaining)
		}
		c.body = untouchable{t}
		a := c.send(method, path+"?unknown", text)
		a.wantError(t, plantapi.CodeTooManyRequests)
		wantQuota(t, a, 2, 0)
		if after, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || after < 1 || after > 1800 {
			t.Errorf("Retry-After is %q, want up to half an hour", a.Header.Get("Retry-After"))
		}
	})
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
	store := openStore(t)
	c := addressOf(t, newService(t, offline, withStore(store), withOptions(func(o *httpapi.Options) {
		o.RateLimit = httpapi.Rate{Limit: 1, Per: time.Hour}
	})).handler)
	a, b := newToken(t, store, token.Read), newToken(t, store, token.Read)
	c.send("POST", "/plants", a).wantError(t, plantapi.CodeInsufficientScope)
	for _, text := range []string{a, b, staticToken} {
		c.send("GET", "/plants", text).wantStatus(t, http.StatusOK)
		c.send("GET", "/plants", text).wantError(t, plantapi.CodeTooManyRequests)
		c.send("GET", "/nowhere", text).wantError(t, plantapi.CodeNoSuchPath)
	}
	c.send("POST", "/plants", a).wantError(t, plantapi.CodeInsufficientScope)
}

// heldPlants is a real store whose List waits. Each call sends the channel that
// ends its wait when it is closed.
type heldPlants struct {
	plant.Store
	began chan chan struct{}
}

func (s heldPlants) List(ctx context.Context, page plant.Page) ([]plant.Plant, bool, error) {
	leave := make(chan struct{})
	s.began <- leave
	select {
	case <-leave:
		return s.Store.List(ctx, page)
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// heldList is a request for a list that is in flight until leave is closed.
type heldList struct {
	leave    chan struct{}
	response chan response
}

// startList sends a request for a list and returns once it is in flight.
func startList(t *testing.T, handler http.Handler, store heldPlants) heldList {
	t.Helper()
	response := make(chan response, 1)
	go func() { response <- addressOf(t, handler).send("GET", "/plants", staticToken) }()
	return heldList{wait.For(t, "a call of List", store.began), response}
}

// finish ends the wait of the request and checks its response.
func (l heldList) finish(t *testing.T) {
	t.Helper()
	close(l.leave)
	wait.For(t, "the response to a list", l.response).wantStatus(t, http.StatusOK)
}

// While MaxInFlight requests are in flight, every operation is refused before anything
// of the request is read. Requests with bad credentials and those without an
// operation are not refused for that, and do not count.
func TestCapacityOfEveryOperation(t *testing.T) {
	store := openStore(t)
	held := heldPlants{store, make(chan chan struct{}, 3)}
	handler := newService(t, offline, withStore(store), withPlants(held),
		withOptions(func(o *httpapi.Options) { o.MaxInFlight = 2 })).handler
	first, second := startList(t, handler, held), startList(t, handler, held)
	forEachOperation(t, func(t *testing.T, method, path string) {
		if strings.HasPrefix(path, "/changes") {
			return // TestStreamsHaveALimitOfTheirOwn
		}
		c := addressOf(t, handler)
		a := c.send(method, path, staticToken)
		a.wantError(t, plantapi.CodeUnavailable)
		if a.Header.Get("Retry-After") == "" {
			t.Error("there is no Retry-After")
		}
		c.send(method, path, "nonsense").wantError(t, plantapi.CodeBadCredentials)
	})
	c := addressOf(t, handler)
	c.send("OPTIONS", "/plants", "").wantStatus(t, http.StatusNoContent)
	c.send("GET", "/nowhere", "").wantError(t, plantapi.CodeNoSuchPath)

	first.finish(t)
	c.send("GET", "/plants/1", staticToken).wantError(t, plantapi.CodeNoSuchPlant)
	third := startList(t, handler, held)
	c.send("GET", "/plants/1", staticToken).wantError(t, plantapi.CodeUnavailable)
	second.finish(t)
	third.finish(t)
}

func TestFailedAuthLimitPerAddress(t *testing.T) {
	store := openStore(t)
	s := newService(t, offline, withStore(store), withOptions(func(o *httpapi.Options) {
		o.FailedAuth = httpapi.Rate{Limit: 3, Per: time.Hour}
	}))
	used, unused := newToken(t, store, token.Read), newToken(t, store, token.Read)
	bad := addressOf(t, s.handler)
	bad.send("GET", "/plants", used).wantStatus(t, http.StatusOK)
	for _, text := range []string{"nonsense", unknownToken(), used[:64]} {
		bad.send("GET", "/plants", text).wantError(t, plantapi.CodeBadCredentials)
	}
	for range 3 {
		a := bad.send("GET", "/plants", unknownToken())
		if e := a.wantError(t, plantapi.CodeTooManyRequests); e.Message != "too many requests with bad credentials, try again later" {
			t.Errorf("got %s", a.body)
		}
		wantQuota(t, a, 3, 0)
		if after, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || after < 1 || after > 1200 {
			t.Errorf("Retry-After is %q, want up to 20 minutes", a.Header.Get("Retry-After"))
		}
	}
	// From the same address every valid token is accepted, used before or not, and a
	// request without credentials gets its own error.
	for _, text := range []string{used, unused, staticToken} {
		a := bad.send("GET", "/plants", text).wantStatus(t, http.StatusOK)
		if a.Header.Get("RateLimit-Limit") != "" {
			t.Error("the response to a valid token has the headers of a rate limit")
		}
	}
	s.send("GET", "/plants", "", func(r *http.Request) { r.RemoteAddr = bad.addr }).
		wantError(t, plantapi.CodeNoCredentials)

	// Other addresses have limits of their own; an IPv6 address is its /64.
	for addr, want := range map[string]plantapi.ErrorCode{
		"192.0.2.2:1":            plantapi.CodeBadCredentials,
		"192.0.2.1:9":            plantapi.CodeTooManyRequests,
		"[::ffff:192.0.2.1]:1":   plantapi.CodeTooManyRequests,
		"[2001:db8:0:1::1]:1":    plantapi.CodeBadCredentials,
		"[2001:db8:0:2::1]:1":    plantapi.CodeBadCredentials,
		"[2001:db8:0:1:ff::1]:1": plantapi.CodeBadCredentials,
		"@":                      plantapi.CodeBadCredentials,
	} {
		other := bad
		other.addr = addr
		other.send("GET", "/plants", "nonsense").wantError(t, want)
	}
	host := bad
	for i := range 4 {
		host.addr = fmt.Sprintf("[2001:db8:0:3::%d]:1", i)
		want := plantapi.CodeBadCredentials
		if i == 3 {
			want = plantapi.CodeTooManyRequests
		}
		host.send("GET", "/plants", "nonsense").wantError(t, want)
	}
}

// unknownToken returns a token of the right form that is not stored.
func unknownToken() string {
	_, text := token.New("unknown", nil, 0)
	return text
}

func readOnly(o *httpapi.Options) { o.ReadOnly = true }

// A read-only service refuses every operation that the document gives the scope
// write, before it reads anything of the body, and no other.
func TestReadOnly(t *testing.T) {
	writes := newService(t, offline)
	log := new(bytes.Buffer)
	handler := newService(t, offline, withStore(writes.store), withLog(log), withOptions(readOnly)).handler
	refused := 0
	forEachOperation(t, func(t *testing.T, method, path string) {
		c := addressOf(t, handler)
		c.send(method, path, "nonsense").wantError(t, plantapi.CodeBadCredentials)
		a := c.send(method, path, staticToken)
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
	if log.Len() > 0 {
		t.Errorf("the operator knows it, and the log has:\n%s", log)
	}
}

// A complete write to a read-only service changes nothing, and is logged if all
// requests are.
func TestReadOnlyChangesNothing(t *testing.T) {
	log := new(bytes.Buffer)
	s := newService(t, withLog(log), withOptions(readOnly), withOptions(func(o *httpapi.Options) { o.LogAll = true }))
	s.post(`{"id":1,"name":"n"}`).wantError(t, plantapi.CodeUnavailable)
	s.call(http.MethodPut, "/plants/1", `{"name":"n"}`).wantError(t, plantapi.CodeUnavailable)
	s.wantNone(1)
	if got := strings.Count(log.String(), `"error":50300`); got != 2 {
		t.Errorf("the log has %d of the 2 requests:\n%s", got, log)
	}
}
