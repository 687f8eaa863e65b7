package plantcontract

import (
	"bytes"
	"fmt"
	"log/slog"
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

// replace breaks the body of a response.
func replace(a *httptest.ResponseRecorder, old, new string) {
	body := a.Body.String()
	if !strings.Contains(body, old) {
		panic(fmt.Sprintf("the response %s has no %s to break", body, old))
	}
	a.Body = bytes.NewBufferString(strings.Replace(body, old, new, 1))
}

func withoutDetails(a *httptest.ResponseRecorder) {
	a.Body = bytes.NewBuffer(details.ReplaceAll(a.Body.Bytes(), nil))
}

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
		if v := ask(t, handler, name, func(*httptest.ResponseRecorder) {}); len(v.faults) > 0 {
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
		wrong   func(*httptest.ResponseRecorder)
		want    string
	}{
		"the id in a Plant":                   {"create", func(a *httptest.ResponseRecorder) { replace(a, `{`, `{"id":1,`) }, "body /id: properties"},
		"an unlisted error number":            {"invalid", func(a *httptest.ResponseRecorder) { replace(a, "40002", "40099") }, "body /error: ErrorCode"},
		"an error number for another status":  {"invalid", func(a *httptest.ResponseRecorder) { replace(a, "40002", "50000") }, "body /error: ErrorCode"},
		"an invalid body without details":     {"invalid", withoutDetails, "body /details: ErrorCode"},
		"a bad parameter without details":     {"parameter", withoutDetails, "body /details: ErrorCode"},
		"an id given twice without details":   {"id twice", withoutDetails, "body /details: ErrorCode"},
		"no request id":                       {"create", func(a *httptest.ResponseRecorder) { a.Header().Del("X-Request-Id") }, "header X-Request-Id: required"},
		"no request id for a wrong path":      {"unknown path", func(a *httptest.ResponseRecorder) { a.Header().Del("X-Request-Id") }, "header X-Request-Id: required"},
		"no Allow":                            {"wrong method", func(a *httptest.ResponseRecorder) { a.Header().Del("Allow") }, "header Allow: required"},
		"Allow too long":                      {"wrong method", func(a *httptest.ResponseRecorder) { a.Header().Set("Allow", "PUT, "+a.Header().Get("Allow")) }, "lists [GET HEAD OPTIONS POST PUT]"},
		"Allow too short":                     {"options", func(a *httptest.ResponseRecorder) { a.Header().Set("Allow", "OPTIONS") }, "lists [OPTIONS], but the path offers [GET HEAD OPTIONS POST]"},
		"Allow in two lines":                  {"options", func(a *httptest.ResponseRecorder) { a.Header().Add("Allow", "POST") }, "header Allow: required"},
		"a wrong method that is no such path": {"wrong method", func(a *httptest.ResponseRecorder) { a.Code = 404 }, "status: paths"},
		"an unknown path that is forbidden":   {"unknown path", func(a *httptest.ResponseRecorder) { replace(a, "40400", "40401") }, "body /error: ErrorCode"},
		"an unknown path that is found":       {"unknown path", func(a *httptest.ResponseRecorder) { a.Code, a.Body = 200, bytes.NewBufferString("{}") }, "status: paths"},
		"OPTIONS with a body":                 {"options", func(a *httptest.ResponseRecorder) { a.Code, a.Body = 200, bytes.NewBufferString("{}") }, "status: OPTIONS"},
		"documentation that is hidden":        {"page", func(a *httptest.ResponseRecorder) { a.Code = 401 }, "status: documentation"},
		"documentation that is not there":     {"page", func(a *httptest.ResponseRecorder) { a.Code = 404 }, "status: documentation"},
		"a root that is not there":            {"root", func(a *httptest.ResponseRecorder) { a.Code = 404 }, "status: documentation"},
		"a root that leads elsewhere":         {"root", func(a *httptest.ResponseRecorder) { a.Header().Set("Location", "plants") }, "header Location: documentation"},
		"a page that leads elsewhere":         {"page", func(a *httptest.ResponseRecorder) { a.Code = 307 }, "status: documentation"},
		"documentation that can be written":   {"page write", func(a *httptest.ResponseRecorder) { a.Header().Set("Allow", "GET, HEAD, POST, OPTIONS") }, "but the path offers [GET HEAD OPTIONS]"},
		"a part of the page that is missing":  {"page part", func(a *httptest.ResponseRecorder) { replace(a, "40400", "40401") }, "body /error: ErrorCode"},
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
func ask(t *testing.T, handler http.Handler, name string, wrong func(*httptest.ResponseRecorder)) *faultRecorder {
	t.Helper()
	broken := wrongResponse(func(_ *http.Request, a *httptest.ResponseRecorder) { wrong(a) })(handler)
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

// realHandler returns the real handler over a real store, whose creates may be wrong.
func realHandler(t *testing.T, create wrongCreate) http.Handler {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Memory)
	must.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	must.NoError(t, store.CreateToken(t.Context(), readOnly))
	tokens := token.NewVerifier(store, staticToken)
	t.Cleanup(func() { tokens.Close() })
	var plants plant.Store = store
	if create != nil {
		plants = wrongWrites{store, create}
	}
	handler, err := httpapi.New(httpapi.Options{Plants: plants, Tokens: tokens, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler), MaxBody: 1 << 20})
	must.NoError(t, err)
	return handler
}
