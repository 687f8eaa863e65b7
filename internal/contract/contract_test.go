package contract

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/token"
	"github.com/prometheus/client_golang/prometheus"
)

const staticToken = "a-static-token-of-ours"

// verdict is a test that writes down what it is accused of.
type verdict struct{ faults []string }

func (v *verdict) Helper()      {}
func (v *verdict) Name() string { return "" }
func (v *verdict) Errorf(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

// answer is what a wrong handler may change before it goes out.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a *answer) replace(old, new string) {
	if !strings.Contains(a.body, old) {
		panic(fmt.Sprintf("the answer %s has no %s to break", a.body, old))
	}
	a.body = strings.Replace(a.body, old, new, 1)
}

// The requests that wrong handlers are asked.
var asked = map[string]struct{ method, path, token, body string }{
	"create":       {"POST", "/plants", staticToken, `{"id":1,"name":"Ficus lyrata","tag":"Moraceae"}`},
	"invalid":      {"POST", "/plants", staticToken, `{"id":1}`},
	"stranger":     {"POST", "/plants", "", `{"id":1,"name":"n"}`},
	"wrong method": {"TRACE", "/plants", "", ""},
	"wrong path":   {"GET", "/nowhere", "", ""},
	"options":      {"OPTIONS", "/plants", "", ""},
	"page":         {"GET", "/docs", "", ""},
	"root":         {"GET", "/", "", ""},
	"page write":   {"POST", "/docs", "", ""},
	"page part":    {"GET", "/docs/nothing", "", ""},
}

func TestRightHandler(t *testing.T) {
	for name := range asked {
		if v := ask(t, name, func(*answer) {}); len(v.faults) > 0 {
			t.Errorf("%s is answered right, but accused: %s", name, v.faults)
		}
	}
}

// A handler that is wrong in one way only must be caught, and for that reason.
func TestWrongHandlers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked string
		wrong func(*answer)
		want  string
	}{
		"another success":                     {"create", func(a *answer) { a.status = 201 }, "status: responses"},
		"a status nobody listed":              {"invalid", func(a *answer) { a.status = 422 }, "status: responses"},
		"the id in a Plant":                   {"create", func(a *answer) { a.replace(`{`, `{"id":1,`) }, "body /id: properties"},
		"a plant without name":                {"create", func(a *answer) { a.replace(`"name"`, `"tag"`) }, "body /name: required"},
		"a name that is null":                 {"create", func(a *answer) { a.replace(`"Ficus lyrata"`, `null`) }, "body /name: nullable"},
		"a tag that is a number":              {"create", func(a *answer) { a.replace(`"Moraceae"`, `1`) }, "body /tag: type"},
		"a list for a plant":                  {"create", func(a *answer) { a.body = "[]" }, "body: type"},
		"null for a plant":                    {"create", func(a *answer) { a.body = "null" }, "body: nullable"},
		"two values":                          {"create", func(a *answer) { a.body += "{}" }, "body: content"},
		"half a value":                        {"create", func(a *answer) { a.body = a.body[:9] }, "body: content"},
		"nothing":                             {"create", func(a *answer) { a.body = "" }, "body: content"},
		"no Location":                         {"create", func(a *answer) { a.header.Del("Location") }, "header Location: required"},
		"two Locations":                       {"create", func(a *answer) { a.header.Add("Location", "/") }, "header Location: schema"},
		"a plant as text":                     {"create", func(a *answer) { a.header.Set("Content-Type", "text/plain") }, "media type: content"},
		"an error as text":                    {"invalid", func(a *answer) { a.header.Set("Content-Type", "text/plain; charset=utf-8") }, "media type: content"},
		"an error as problem+json":            {"invalid", func(a *answer) { a.header.Set("Content-Type", "application/problem+json") }, "media type: content"},
		"an error number nobody listed":       {"invalid", func(a *answer) { a.replace("40002", "40099") }, "body /error: ErrorCode"},
		"an error number for another status":  {"invalid", func(a *answer) { a.replace("40002", "50000") }, "body /error: ErrorCode"},
		"an error number as text":             {"invalid", func(a *answer) { a.replace("40002", `"40002"`) }, "body /error: type"},
		"an error number out of int32":        {"invalid", func(a *answer) { a.replace("40002", "4000200000") }, "body /error: format"},
		"an error without message":            {"invalid", func(a *answer) { a.replace(`"message"`, `"request_id"`) }, "body /message: required"},
		"an error with an empty message":      {"stranger", func(a *answer) { a.body = `{"error":40100,"message":""}` }, "body /message: minLength"},
		"a detail without pointer":            {"invalid", func(a *answer) { a.replace(`"pointer":"/name",`, "") }, "body /details/0/pointer: required"},
		"a detail in a place nobody listed":   {"invalid", func(a *answer) { a.replace(`"in":"body"`, `"in":"cookie"`) }, "body /details/0/in: enum"},
		"a member of a detail nobody named":   {"invalid", func(a *answer) { a.replace(`"in"`, `"go":"x","in"`) }, "body /details/0/go: properties"},
		"no request id":                       {"create", func(a *answer) { a.header.Del("X-Request-Id") }, "header X-Request-Id: required"},
		"no request id for a wrong path":      {"wrong path", func(a *answer) { a.header.Del("X-Request-Id") }, "header X-Request-Id: required"},
		"a request id with a blank":           {"options", func(a *answer) { a.header.Set("X-Request-Id", "a b") }, "header X-Request-Id: pattern"},
		"no challenge":                        {"stranger", func(a *answer) { a.header.Del("WWW-Authenticate") }, "header WWW-Authenticate: required"},
		"no Allow":                            {"wrong method", func(a *answer) { a.header.Del("Allow") }, "header Allow: required"},
		"Allow too long":                      {"wrong method", func(a *answer) { a.header.Set("Allow", "PUT, "+a.header.Get("Allow")) }, "lists [GET HEAD OPTIONS POST PUT]"},
		"Allow too short":                     {"options", func(a *answer) { a.header.Set("Allow", "OPTIONS") }, "lists [OPTIONS], but the path offers [GET HEAD OPTIONS POST]"},
		"Allow in two lines":                  {"options", func(a *answer) { a.header.Add("Allow", "POST") }, "header Allow: required"},
		"a wrong method that is no such path": {"wrong method", func(a *answer) { a.status = 404 }, "status: paths"},
		"an unknown path that is forbidden":   {"wrong path", func(a *answer) { a.replace("40400", "40401") }, "body /error: ErrorCode"},
		"an unknown path that is found":       {"wrong path", func(a *answer) { a.status, a.body = 200, "{}" }, "status: paths"},
		"OPTIONS with a body":                 {"options", func(a *answer) { a.status, a.body = 200, "{}" }, "status: OPTIONS"},
		"documentation that is hidden":        {"page", func(a *answer) { a.status = 401 }, "status: documentation"},
		"documentation that is not there":     {"page", func(a *answer) { a.status = 404 }, "status: documentation"},
		"a root that is not there":            {"root", func(a *answer) { a.status = 404 }, "status: documentation"},
		"a root that is a page":               {"root", func(a *answer) { a.status = 200 }, "status: documentation"},
		"a root that leads elsewhere":         {"root", func(a *answer) { a.header.Set("Location", "plants") }, "header Location: documentation"},
		"a page that leads elsewhere":         {"page", func(a *answer) { a.status = 307 }, "status: documentation"},
		"documentation that can be written":   {"page write", func(a *answer) { a.header.Set("Allow", "GET, HEAD, POST, OPTIONS") }, "but the path offers [GET HEAD OPTIONS]"},
		"a part of the page that is missing":  {"page part", func(a *answer) { a.replace("40400", "40401") }, "body /error: ErrorCode"},
	} {
		t.Run(name, func(t *testing.T) {
			v := ask(t, c.asked, c.wrong)
			if len(v.faults) == 0 {
				t.Fatal("nobody noticed")
			}
			if all := strings.Join(v.faults, "\n"); !strings.Contains(all, c.want) || !strings.Contains(all, "curl -i -X "+asked[c.asked].method) {
				t.Errorf("accused of %s\nwant %q and a curl line", all, c.want)
			}
		})
	}
}

// A client of the seed is held to the seed alone: what the document has gained
// must not cover for what the seed has lost.
func TestSeedIsHeld(t *testing.T) {
	ds, err := documents()
	if err != nil {
		t.Fatal(err)
	}
	right := Exchange{Method: "POST", Path: "/plants", Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"name":"n"}`)}
	if faults := checkSeed(ds.seed, right); len(faults) > 0 {
		t.Errorf("a right answer is accused: %v", faults)
	}
	for name, wrong := range map[string]func(*Exchange){
		"a plant without name":              func(x *Exchange) { x.Body = []byte(`{}`) },
		"an error that the seed can't read": func(x *Exchange) { x.Status, x.Body = 400, []byte(`{"error":"no"}`) },
		"another status without an Error":   func(x *Exchange) { x.Status, x.Body = 401, []byte(`{"title":"no"}`) },
		"a status for another operation":    func(x *Exchange) { x.Status, x.Body = 204, nil },
	} {
		x := right
		wrong(&x)
		if faults := checkSeed(ds.seed, x); len(faults) == 0 {
			t.Errorf("%s: nobody noticed", name)
		}
	}
}

// The generated client must find what the document promises.
func TestClientIsHeld(t *testing.T) {
	ds, err := documents()
	if err != nil {
		t.Fatal(err)
	}
	for body, ok := range map[string]bool{`{"name":"n"}`: true, `{"name":1}`: false, `{`: false} {
		x := Exchange{Method: "POST", Path: "/plants", Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
		if faults := checkClient(ds.api, x); (len(faults) == 0) != ok {
			t.Errorf("reading %s: %v", body, faults)
		}
	}
	x := Exchange{Method: "POST", Path: "/plants", Status: 299, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{}`)}
	if faults := checkClient(ds.api, x); len(faults) == 0 {
		t.Error("a status without a typed field: nobody noticed")
	}
}

// Every operation of the document has a method in the client.
func TestEveryOperationHasAClientMethod(t *testing.T) {
	ds, err := documents()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ds.api.routes {
		x := Exchange{Method: r.method, Path: r.template, Status: 500, Header: http.Header{}}
		if faults := checkClient(ds.api, x); len(faults) > 0 {
			t.Error(faults)
		}
	}
}

// Every answer has a request id, so every response must describe it.
func TestEveryResponseHasARequestID(t *testing.T) {
	ds, err := documents()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ds.api.routes {
		for status, response := range r.operation.Responses.Map() {
			if header := response.Value.Headers[requestID]; header == nil || !header.Value.Required {
				t.Errorf("%s, %s: the document promises no %s", r.operation.OperationID, status, requestID)
			}
		}
	}
}

func TestLedger(t *testing.T) {
	ds, err := documents()
	if err != nil {
		t.Fatal(err)
	}
	all := promises(ds.api)
	for _, want := range []string{
		"createPlant, 200", "createPlant, 200, header Location", "createPlant, 200, example untagged",
		"createPlant, request example tagged", "createPlant, 400, example taken", "getPlant, 503, header Retry-After", "putPlant, 429, header RateLimit-Reset",
		"getPlant, example of parameter id", "listPlants, example of parameter tag", "NoSuchPlant, example noSuchPlant",
	} {
		if !strings.Contains("\n"+strings.Join(all, "\n")+"\n", "\n"+want+"\n") {
			t.Errorf("%q is promised, but not among\n%s", want, strings.Join(all, "\n"))
		}
	}
	l := &ledger{seen: map[string]string{}}
	l.enter(ds.api, Exchange{
		Method: "POST", Path: "/plants", RequestBody: []byte(`{"tag":"Moraceae", "name":"Ficus lyrata","id":1}`),
		Status: 200, Header: http.Header{"Location": {"/plants/1"}}, Body: []byte(`{"name":"Ficus lyrata","tag":"Moraceae"}`),
	}, "TestFirst")
	l.enter(ds.api, Exchange{
		Method: "POST", Path: "/plants", Status: 500,
		Body: []byte(`{"error":50000,"message":"internal error","request_id":"another one"}`),
	}, "TestSecond")
	l.enter(ds.api, Exchange{Method: "POST", Path: "/plants", Status: 200, Body: []byte(`{}`)}, "TestThird")
	l.enter(ds.api, Exchange{Method: "GET", Path: "/nowhere", Status: 404}, "TestBeside")
	want := map[string]string{
		"createPlant, 200":                    "TestFirst",
		"createPlant, 200, header Location":   "TestFirst",
		"createPlant, 200, example tagged":    "TestFirst",
		"createPlant, request example tagged": "TestFirst",
		"any operation, 500":                  "TestSecond",
		"InternalError, example internal":     "TestSecond",
	}
	if fmt.Sprint(l.seen) != fmt.Sprint(want) {
		t.Errorf("ledger is %v, want %v", l.seen, want)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		template, path string
		want           bool
	}{
		{"/plants", "/plants", true},
		{"/plants", "/plants/", false},
		{"/plants/{id}", "/plants/1", true},
		{"/plants/{id}", "/plants/", false},
		{"/plants/{id}", "/plants/1/2", false},
		{"/plants/{id}", "/plants/1%2F2", true},
		{"/plants:batch", "/plants:batch", true},
	} {
		if got := matches(c.template, c.path); got != c.want {
			t.Errorf("matches(%q, %q) = %v, want %v", c.template, c.path, got, c.want)
		}
	}
}

// ask sends one of the requests to the real handler, lets wrong change its
// answer, and returns the verdict.
func ask(t *testing.T, name string, wrong func(*answer)) *verdict {
	t.Helper()
	handler := realHandler(t, nil)
	broken := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, r)
		a := &answer{recorder.Code, recorder.Header(), recorder.Body.String()}
		a.header.Del("Content-Length")
		wrong(a)
		for name, values := range a.header {
			w.Header()[name] = values
		}
		w.WriteHeader(a.status)
		_, _ = w.Write([]byte(a.body))
	})
	q := asked[name]
	r := httptest.NewRequestWithContext(t.Context(), q.method, q.path, bytes.NewBufferString(q.body))
	r.Header.Set("Content-Type", "application/json")
	if q.token != "" {
		r.Header.Set("Authorization", "Bearer "+q.token)
	}
	v := &verdict{}
	Handler(v, broken).ServeHTTP(httptest.NewRecorder(), r)
	return v
}

// readOnlyToken is a token of every store here; it may only read.
var readOnly, readOnlyToken = token.New("reader", []token.Scope{token.Read}, 0)

// realHandler returns the real handler over a real store, which wrap may spoil.
func realHandler(t *testing.T, wrap func(plant.Store) plant.Store) http.Handler {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if err := store.CreateToken(t.Context(), readOnly); err != nil {
		t.Fatal(err)
	}
	tokens, err := token.NewVerifier(store, staticToken)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tokens.Close() })
	var plants plant.Store = store
	if wrap != nil {
		plants = wrap(store)
	}
	handler, err := httpapi.New(httpapi.Options{Plants: plants, Tokens: tokens, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler), MaxBody: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return handler
}
