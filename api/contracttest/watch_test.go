package contracttest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// endingTest is a test that has an end.
type endingTest struct {
	told
	cleanups []func()
}

func (t *endingTest) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *endingTest) end() {
	for _, cleanup := range slices.Backward(t.cleanups) {
		cleanup()
	}
}

// respond returns a handler with one response. A header is "Name: value".
func respond(status int, body string, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, header := range headers {
			name, value, _ := strings.Cut(header, ": ")
			w.Header().Add(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func zipped(text string) string {
	var zipped bytes.Buffer
	writer := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(writer, text)
	_ = writer.Close()
	return zipped.String()
}

const isJSON = "Content-Type: application/json"

const watchDocument = `
openapi: 3.0.3
info: {title: Watch, version: "1"}
paths:
  /things:
    get:
      operationId: listThings
      responses:
        "200": {description: All., content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Thing'}}}}}
    post:
      operationId: addThing
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}
      responses:
        "201":
          description: Added.
          headers: {Location: {required: true, schema: {type: string}}}
          content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}
        "400": {description: Wrong.}
  /things/mine:
    get:
      operationId: getMine
      responses:
        "200": {description: Mine., content: {text/plain: {schema: {type: string}}}}
  /things/{id}:
    get:
      operationId: getThing
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}, {name: deep, in: query, schema: {type: boolean}}, {name: tags, in: query, schema: {type: array, minItems: 2}}]
      responses:
        "200": {description: One., content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}
        "404": {description: None.}
    delete:
      operationId: deleteThing
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses:
        "204": {description: Gone.}
  /things/:
    get:
      operationId: getSlash
      responses:
        "200": {description: Slash., content: {text/plain: {}}}
  /stream:
    get:
      operationId: stream
      responses:
        "200": {description: Changes., content: {text/event-stream: {schema: {$ref: '#/components/schemas/Thing'}}}}
components:
  schemas:
    Thing:
      type: object
      required: [id, name]
      properties:
        id: {type: integer}
        name: {type: string, maxLength: 5}
        kind: {type: string, enum: [a, b]}
`

// Each kind of wrong response fails the test, in at most five lines that name the operation, the place, what was expected
// and what came. Right ones do not, nor what the document says nothing of.
func TestWatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method, path string
		handler            http.Handler
		want               []string // parts of the failure; none: there is none
	}{
		{"right", "GET", "/things/1", respond(200, `{"id":1,"name":"n"}`, isJSON), nil},
		{"a member more", "GET", "/things/1", respond(200, `{"id":1,"name":"n","more":1}`, isJSON), nil},
		{"another type", "GET", "/things/1", respond(200, `{"id":"1","name":"n"}`, isJSON), []string{"getThing, 200: [", `body /id: type: got string, want integer, got "1"`, "sent: GET /things/1", `got:  200 application/json {"id":"1","name":"n"}`}},
		{"a member less", "GET", "/things/1", respond(200, `{"id":1}`, isJSON), []string{"body /name: required: is missing"}},
		{"null", "GET", "/things", respond(200, `[{"id":1,"name":null}]`, isJSON), []string{"listThings, 200", "body /0/name: nullable"}},
		{"an enumeration", "GET", "/things", respond(200, `[{"id":1,"name":"n","kind":"z"}]`, isJSON), []string{"body /0/kind: enum", `got "z"`}},
		{"not JSON", "GET", "/things/1", respond(200, "{\n\"id\":", isJSON), []string{"getThing, 200", "is not one JSON value"}},
		{"many faults", "GET", "/things", respond(200, `[{},{}]`, isJSON), []string{"body /0/id", "; and 1 more"}},
		{"a status", "GET", "/things/1", respond(418, ""), []string{"getThing, 418: [", "status: responses: the document does not list 418"}},
		{"a media type", "GET", "/things/1", respond(200, "text", "Content-Type: text/html"), []string{`the document does not list "text/html"`}},
		{"no media type", "GET", "/things/1", respond(200, `{"id":1,"name":"n"}`), []string{`the document does not list "text/plain; charset=utf-8"`}},
		{"a header", "POST", "/things", respond(201, `{"id":1,"name":"n"}`, isJSON), []string{"addThing, 201", "header Location: required: is missing", `sent: POST /things {"id":1,"name":"n"}`}},
		{"a body that must not be", "DELETE", "/things/1", respond(204, "text"), []string{"deleteThing, 204", "must be empty"}},
		{"HEAD", "HEAD", "/things/1", respond(200, `{"id":1,"name":"n"}`, isJSON), nil},
		{"fixed text before a parameter", "GET", "/things/mine", respond(200, "text", "Content-Type: text/plain"), nil},
		{"the last slash", "GET", "/things/", respond(200, "text", "Content-Type: text/plain"), nil},
		{"an escaped slash", "GET", "/things/a%2Fb", respond(404, ""), nil},
		{"another path", "GET", "/healthz", respond(200, "ok"), nil},
		{"another method", "PATCH", "/things/1", respond(200, "ok"), nil},
		{"an event", "GET", "/stream", respond(200, "data: {\"id\":1,\"name\":\"n\"}\n\ndata: {\"id\":2}\n\n", "Content-Type: text/event-stream"), []string{"stream, 200", "event /name: required: is missing, in event 2"}},
		{"gzip", "GET", "/things/1", respond(200, zipped(`{"id":1}`), isJSON, "Content-Encoding: gzip"), []string{"body /name: required", `got:  200 application/json {"id":1}`}},
		{"another encoding", "GET", "/things/1", respond(200, "?", isJSON, "Content-Encoding: br"), nil},
		{"an event that is no JSON", "GET", "/stream", respond(200, ": a comment\n\ndata: [DONE]\n\n", "Content-Type: text/event-stream"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			test := &told{}
			handler := Watch(test, []byte(watchDocument), c.handler)
			body := io.Reader(http.NoBody)
			if c.method == http.MethodPost {
				handler = readsBody(test, c.handler)
				body = strings.NewReader(`{"id":1,"name":"n"}`)
			}
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(c.method, c.path, body))
			text := strings.Join(test.lines, "\n")
			if isTold := text != ""; isTold != (c.want != nil) || strings.Count(text, "\n") > 4 || len(test.lines) > 1 {
				t.Fatalf("the test is told %q", test.lines)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("the test is not told %q, but\n%s", want, text)
				}
			}
		})
	}
}

// readsBody is a watched handler that reads the body of the request first.
func readsBody(test T, next http.Handler) http.Handler {
	return Watch(test, []byte(watchDocument), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		next.ServeHTTP(w, r)
	}))
}

// A failure comes before the client has the whole response, however long it is: the test may end then.
func TestWatchTellsInTime(t *testing.T) {
	t.Parallel()
	body := `[{"id":"` + strings.Repeat("x", 100_000) + `"}]`
	for range 50 {
		test := &endingTest{}
		server := httptest.NewServer(Watch(test, []byte(watchDocument), respond(200, body, isJSON, fmt.Sprint("Content-Length: ", len(body)))))
		resp, err := http.Get(server.URL + "/things")
		must.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		must.NoError(t, err)
		test.end()
		if len(test.lines) != 1 {
			t.Fatalf("the test is told %q", test.lines)
		}
		resp.Body.Close()
		server.Close()
	}
}

// After its test, a response is told to the ledger, and so is that of a server without a test.
func TestWatchWithoutTest(t *testing.T) {
	t.Parallel()
	c, err := New([]byte(watchDocument), Options{})
	must.NoError(t, err)
	test := &endingTest{}
	for _, watching := range []T{test, nil} {
		handler := c.Watch(watching, respond(200, `{"id":1,"more":2}`, isJSON))
		test.end()
		request := httptest.NewRequest("GET", "/things/1", http.NoBody)
		request.Header.Set("Authorization", "Bearer a-secret")
		handler.ServeHTTP(httptest.NewRecorder(), request)
	}
	c.Watch(nil, respond(200, "")).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/healthz", http.NoBody))
	if len(test.lines) > 0 {
		t.Errorf("the test that has ended is told %q", test.lines)
	}
	var out bytes.Buffer
	if !c.reportWatched(&out, true) {
		t.Error("the report finds nothing broken")
	}
	for _, want := range []string{
		"Thing in responses: /name is missing, 2 times", `-H "Authorization: $AUTHORIZATION"`, "not in the document: getThing, 200: body /more, 2 times", "not in the document: GET /healthz, 1 times",
		"1 of 7 operations, 1 of 9 documented statuses; these were not: addThing; deleteThing; getMine; getSlash; getThing, 404; listThings; stream\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, &out)
		}
	}
}

// Only so many different lines are kept, and each of them is counted to the end.
func TestTally(t *testing.T) {
	t.Parallel()
	counted := &tally{counts: map[string]int{}}
	for range 2 {
		for i := range mostLines + 1 {
			counted.add(fmt.Sprint(i))
		}
	}
	if lines := counted.lines(); len(lines) != mostLines || lines[0] != "0, 2 times" {
		t.Errorf("of %d lines that come twice %d are kept, such as %q", mostLines+1, len(lines), lines[0])
	}
}

// Exact makes faults of what the document does not have.
func TestWatchExact(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/things/1", "/healthz"} {
		test := &told{}
		handler := Watch(test, []byte(watchDocument), respond(200, `{"id":1,"name":"n","more":2}`, isJSON), Options{Service: Service{Rules: Rules{Exact: true}}})
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, http.NoBody))
		if len(test.lines) != 1 {
			t.Errorf("%s: the test is told %q", path, test.lines)
		}
	}
}

// Where it is asked for, a test that sends what the document forbids is told so if it succeeds.
func TestWatchRequests(t *testing.T) {
	t.Parallel()
	thing := func(body string) http.Handler { return respond(200, body, isJSON) }
	added := respond(201, `{"id":1,"name":"n"}`, isJSON, "Location: /things/1")
	for _, c := range []struct {
		method, path, body string
		handler            http.Handler
		want               string // part of the failure; empty: there is none
	}{
		{"POST", "/things", `{"id":1,"name":"n"}`, added, ""},
		{"POST", "/things", `{"id":1,"name":"long name"}`, added, "] the document forbids this request: body /name: maxLength"},
		{"POST", "/things", `{"id":1}`, added, "body /name: required: is missing"},
		{"POST", "/things", `{"id":1}`, respond(400, ""), ""},
		{"POST", "/things", `{`, added, ""},
		{"GET", "/things/x", "", thing(`{"id":1,"name":"n"}`), "path parameter id: type"},
		{"GET", "/things/1?deep=1", "", thing(`{"id":1,"name":"n"}`), "query parameter deep: type: is not a boolean"},
		{"GET", "/things/1?deep=&more=1", "", thing(`{"id":1,"name":"n"}`), ""},
		{"GET", "/things/1?tags=a&tags=b", "", thing(`{"id":1,"name":"n"}`), ""}, // there are many styles of arrays
	} {
		test := &told{}
		handler := Watch(test, []byte(watchDocument), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			c.handler.ServeHTTP(w, r)
		}), Options{Requests: true})
		request := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		request.Header.Set("Content-Type", "application/json")
		handler.ServeHTTP(httptest.NewRecorder(), request)
		text := strings.Join(test.lines, "\n")
		if (text != "") != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%s %s %s: the test is told %q, want %q", c.method, c.path, c.body, text, c.want)
		}
	}
}

// The document is read once, and a base path is where the handler has it.
func TestWatchShares(t *testing.T) {
	t.Parallel()
	first, err := shared([]byte(watchDocument), Options{BasePath: "/api/"})
	must.NoError(t, err)
	second, err := shared([]byte(watchDocument), Options{BasePath: "/api/"})
	must.NoError(t, err)
	other, err := shared([]byte(watchDocument), Options{})
	must.NoError(t, err)
	if first != second || first == other {
		t.Error("equal options have two contracts, or different ones have one")
	}
	test := &told{}
	first.Watch(test, respond(200, `{}`, isJSON)).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/api/things/1", http.NoBody))
	if len(test.lines) != 1 {
		t.Errorf("the test is told %q", test.lines)
	}
	Watch(test, []byte("no document"), respond(200, ""))
	if len(test.lines) != 2 {
		t.Errorf("the test is told %q", test.lines)
	}
}

// What panics at a response is a failure with its place. Libraries have faults of their own.
func TestWatchPanics(t *testing.T) {
	t.Parallel()
	c, err := New([]byte(watchDocument), Options{Checks: Checks{Faults: func(Judged) []Fault {
		var none []Fault
		return none[:1]
	}}})
	must.NoError(t, err)
	test := &told{}
	c.Watch(test, respond(200, `{"id":1,"name":"n"}`, isJSON)).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/things/1", http.NoBody))
	text := strings.Join(test.lines, "\n")
	for _, want := range []string{"getThing, 200: [", "cannot be judged: runtime error: slice bounds out of range [:1] with capacity 0, at ", "TestWatchPanics.func1 (watch_test.go:"} {
		if !strings.Contains(text, want) {
			t.Errorf("the test is told %q, without %q", text, want)
		}
	}
	request := httptest.NewRequest("GET", "/things/1", http.NoBody)
	request.Header.Set("Authorization", "Bearer a-secret")
	c.Watch(nil, respond(200, `{"id":1,"name":"n"}`, isJSON)).ServeHTTP(httptest.NewRecorder(), request)
	var out bytes.Buffer
	if !c.reportWatched(&out, false) || strings.Contains(out.String(), "a-secret") {
		t.Errorf("the report of a server without a test is %q", &out)
	}
}
