package plantcontract

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

const staticToken = "a-static-token-for-tests"

// faultRecorder is a test that records its faults.
type faultRecorder struct{ faults []string }

func (v *faultRecorder) Helper()             {}
func (v *faultRecorder) Name() string        { return "" }
func (v *faultRecorder) Logf(string, ...any) {}
func (v *faultRecorder) Errorf(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

// response is what a wrong handler may change before it is sent.
type response struct {
	status int
	header http.Header
	body   string
}

// responseOf returns the response of a handler.
func responseOf(h http.Handler, r *http.Request) *response {
	recorder := record(h, r)
	return &response{recorder.Code, recorder.Header(), recorder.Body.String()}
}

func (a *response) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

func (a *response) replace(old, new string) {
	if !strings.Contains(a.body, old) {
		panic(fmt.Sprintf("the response %s has no %s to break", a.body, old))
	}
	a.body = strings.Replace(a.body, old, new, 1)
}

func withoutDetails(a *response) { a.body = details.ReplaceAllString(a.body, "") }

var details = regexp.MustCompile(`,"details":\[.*\]`)

// requests are what wrong handlers respond to.
var requests = map[string]struct{ method, path, token, body string }{
	"create":       {"POST", "/plants", staticToken, `{"id":1,"name":"Ficus lyrata","tag":"Moraceae"}`},
	"invalid":      {"POST", "/plants", staticToken, `{"id":1}`},
	"parameter":    {"GET", "/plants?limit=0", staticToken, ""},
	"id twice":     {"POST", "/plants:batch", staticToken, `{"plants":[{"id":2,"name":"a"},{"id":2,"name":"b"}]}`},
	"no token":     {"POST", "/plants", "", `{"id":1,"name":"n"}`},
	"wrong method": {"TRACE", "/plants", "", ""},
	"unknown path": {"GET", "/nowhere", "", ""},
	"options":      {"OPTIONS", "/plants", "", ""},
	"page":         {"GET", "/docs", "", ""},
	"root":         {"GET", "/", "", ""},
	"page write":   {"POST", "/docs", "", ""},
	"page part":    {"GET", "/docs/nothing", "", ""},
}

func TestRightHandler(t *testing.T) {
	handler := realHandler(t, nil)
	for name := range requests {
		if v := ask(t, handler, name, func(*response) {}); len(v.faults) > 0 {
			t.Errorf("%s is correct, but has the faults: %s", name, v.faults)
		}
	}
}

// Each handler is wrong in one way only, which the checks of this package find. What breaks a schema, a
// header or a status is found by package contracttest, and tested there.
func TestWrongHandlers(t *testing.T) {
	t.Parallel()
	handler := realHandler(t, nil)
	for name, c := range map[string]struct {
		request string
		wrong   func(*response)
		want    string
	}{
		"the id in a Plant":                   {"create", func(a *response) { a.replace(`{`, `{"id":1,`) }, "body /id: properties"},
		"an unlisted error number":            {"invalid", func(a *response) { a.replace("40002", "40099") }, "body /error: ErrorCode"},
		"an error number for another status":  {"invalid", func(a *response) { a.replace("40002", "50000") }, "body /error: ErrorCode"},
		"an invalid body without details":     {"invalid", withoutDetails, "body /details: ErrorCode"},
		"a bad parameter without details":     {"parameter", withoutDetails, "body /details: ErrorCode"},
		"an id given twice without details":   {"id twice", withoutDetails, "body /details: ErrorCode"},
		"no request id":                       {"create", func(a *response) { a.header.Del("X-Request-Id") }, "header X-Request-Id: required"},
		"no request id for a wrong path":      {"unknown path", func(a *response) { a.header.Del("X-Request-Id") }, "header X-Request-Id: required"},
		"no Allow":                            {"wrong method", func(a *response) { a.header.Del("Allow") }, "header Allow: required"},
		"Allow too long":                      {"wrong method", func(a *response) { a.header.Set("Allow", "PUT, "+a.header.Get("Allow")) }, "lists [GET HEAD OPTIONS POST PUT]"},
		"Allow too short":                     {"options", func(a *response) { a.header.Set("Allow", "OPTIONS") }, "lists [OPTIONS], but the path offers [GET HEAD OPTIONS POST]"},
		"Allow in two lines":                  {"options", func(a *response) { a.header.Add("Allow", "POST") }, "header Allow: required"},
		"a wrong method that is no such path": {"wrong method", func(a *response) { a.status = 404 }, "status: paths"},
		"an unknown path that is forbidden":   {"unknown path", func(a *response) { a.replace("40400", "40401") }, "body /error: ErrorCode"},
		"an unknown path that is found":       {"unknown path", func(a *response) { a.status, a.body = 200, "{}" }, "status: paths"},
		"OPTIONS with a body":                 {"options", func(a *response) { a.status, a.body = 200, "{}" }, "status: OPTIONS"},
		"documentation that is hidden":        {"page", func(a *response) { a.status = 401 }, "status: documentation"},
		"documentation that is not there":     {"page", func(a *response) { a.status = 404 }, "status: documentation"},
		"a root that is not there":            {"root", func(a *response) { a.status = 404 }, "status: documentation"},
		"a root that leads elsewhere":         {"root", func(a *response) { a.header.Set("Location", "plants") }, "header Location: documentation"},
		"a page that leads elsewhere":         {"page", func(a *response) { a.status = 307 }, "status: documentation"},
		"documentation that can be written":   {"page write", func(a *response) { a.header.Set("Allow", "GET, HEAD, POST, OPTIONS") }, "but the path offers [GET HEAD OPTIONS]"},
		"a part of the page that is missing":  {"page part", func(a *response) { a.replace("40400", "40401") }, "body /error: ErrorCode"},
	} {
		t.Run(name, func(t *testing.T) {
			v := ask(t, handler, c.request, c.wrong)
			if len(v.faults) == 0 {
				t.Fatal("the fault was not found")
			}
			if all := strings.Join(v.faults, "\n"); !strings.Contains(all, c.want) || !strings.Contains(all, "curl -i -X "+requests[c.request].method) {
				t.Errorf("the faults are %s\nwant %q and a curl line", all, c.want)
			}
		})
	}
}

// ask sends one of the requests to the real handler, lets wrong change the
// response, and returns the faults.
func ask(t *testing.T, handler http.Handler, name string, wrong func(*response)) *faultRecorder {
	t.Helper()
	broken := wrongResponse(func(_ *http.Request, a *response) { wrong(a) })(handler)
	q := requests[name]
	r := httptest.NewRequestWithContext(t.Context(), q.method, q.path, bytes.NewBufferString(q.body))
	r.Header.Set("Content-Type", "application/json")
	if q.token != "" {
		r.Header.Set("Authorization", "Bearer "+q.token)
	}
	v := &faultRecorder{}
	Plants().Handler(v, broken).ServeHTTP(httptest.NewRecorder(), r)
	return v
}

// readOnlyToken is in every store of these tests; it may only read.
var readOnly, readOnlyToken = token.New("reader", []token.Scope{token.Read}, 0)

// realHandler returns the real handler over a real store, which wrap may break.
func realHandler(t *testing.T, wrap func(plant.Store) plant.Store) http.Handler {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Memory)
	must.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	must.NoError(t, store.CreateToken(t.Context(), readOnly))
	tokens := token.NewVerifier(store, staticToken)
	t.Cleanup(func() { tokens.Close() })
	var plants plant.Store = store
	if wrap != nil {
		plants = wrap(store)
	}
	handler, err := httpapi.New(httpapi.Options{Plants: plants, Tokens: tokens, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler), MaxBody: 1 << 20})
	must.NoError(t, err)
	return handler
}
