package httpapi_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/contract"
)

// TestDifferential compares which requests the service refuses with those that
// kin-openapi's own openapi3filter.ValidateRequest refuses. The two share little more
// than the check of a value against a schema. They may disagree only as in
// differences.
//
// The requests are derived from the document and changed at random. Request N of seed
// S is always the same. PLANTSTORE_TEST_DIFFERENTIAL is the number of requests and
// PLANTSTORE_TEST_DIFFERENTIAL_SEED the seed.
func TestDifferential(t *testing.T) {
	t.Parallel()
	count, seed := number(t, "PLANTSTORE_TEST_DIFFERENTIAL", 10_000), number(t, "PLANTSTORE_TEST_DIFFERENTIAL_SEED", 1)
	doc := loadDocument(t)
	ours, theirs := newOurs(t), newTheirs(t, doc)
	source := newSource(t, doc)

	compare := func(r contract.Request) (verdict, bool) {
		v := verdict{request: r}
		read, ok := overTheWire(r)
		if !ok {
			return v, false
		}
		v.query = read.URL.RawQuery
		v.route, v.theirs = theirs.refuses(read)
		read, _ = overTheWire(r) // each of the two consumes the request
		v.ours = ours.refuses(t, read)
		return v, true
	}

	needed := map[string]int{} // differences, by how often nothing else explained it
	agreed := map[outcome]int{}
	for i, judged := uint64(0), 0; judged < count; i++ {
		draft := source.draft(rand.New(rand.NewPCG(uint64(seed), i)))
		v, ok := compare(draft.request())
		if !ok {
			continue // net/http passes no such request to a handler
		}
		judged++
		switch reasons := v.differences(); {
		case v.agree():
			if v.route != nil {
				agreed[outcome{v.route.Operation.OperationID, v.ours == 0}]++
			}
		case len(reasons) == 0:
			small := draft.shrink(func(r contract.Request) bool {
				less, ok := compare(r)
				return ok && !less.agree() && len(less.differences()) == 0 && less.ours == v.ours
			})
			v, _ := compare(small)
			reason, _, _ := strings.Cut(fmt.Sprint(v.theirs), "\n") // the schema follows
			t.Fatalf("request %d of seed %d: got error %d (0: accepted), kin-openapi has %s (<nil>: accepted), and differences does not have that\n\trepeat it with: %s",
				i, seed, v.ours, reason, small.Curl("http://127.0.0.1:8080"))
		case len(reasons) == 1:
			needed[reasons[0]]++
		}
	}

	for _, d := range differences {
		if needed[d.what] == 0 {
			t.Errorf("in %d requests of seed %d nothing needed the difference %q", count, seed, d.what)
		}
	}
	accepted, refused := 0, 0
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			good, bad := agreed[outcome{operation.OperationID, true}], agreed[outcome{operation.OperationID, false}]
			if good == 0 || bad == 0 && canRefuse(item, operation) {
				t.Errorf("of %s both accepted %d and both refused %d requests: the requests are too tame or too wild", operation.OperationID, good, bad)
			}
			accepted, refused = accepted+good, refused+bad
		}
	}
	t.Logf("figures: of %d requests of seed %d both accepted %d, both refused %d on a path they know; we were stricter in these: %v",
		count, seed, accepted, refused, needed)
}

// canRefuse reports whether kin-openapi can refuse a request of an operation: it
// ignores parameters that the document does not have.
func canRefuse(item *openapi3.PathItem, operation *openapi3.Operation) bool {
	return len(item.Parameters) > 0 || len(operation.Parameters) > 0 || operation.RequestBody != nil
}

// An operation without parameters and body needs no change to this test.
func TestDifferentialOfAPlainOperation(t *testing.T) {
	t.Parallel()
	plain := contract.Request{Operation: "getVersion", Obeys: true, Method: "GET", Path: "/version"}
	s := &source{
		operations: []string{"getVersion"}, queries: []string{"limit"}, members: []string{"id"},
		obeying: map[string][]contract.Request{"getVersion": {plain}}, breaking: map[string][]contract.Request{},
	}
	for seed := range uint64(100) {
		if r := s.draft(rand.New(rand.NewPCG(seed, 0))).start; r.Path != "/version" {
			t.Fatalf("the draft of seed %d is for %s", seed, r.Path)
		}
	}
	if item, operation := (&openapi3.PathItem{}), (&openapi3.Operation{}); canRefuse(item, operation) {
		t.Error("an operation without parameters and body is to be refused by kin-openapi")
	}
}

// number reads a setting of a test.
func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(variable), strconv.Itoa(otherwise)))
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// overTheWire returns a request as net/http passes it to a handler, or false if
// net/http refuses it.
func overTheWire(r contract.Request) (*http.Request, bool) {
	var wire bytes.Buffer
	fmt.Fprintf(&wire, "%s %s", r.Method, r.Path)
	if r.Query != "" {
		fmt.Fprintf(&wire, "?%s", r.Query)
	}
	fmt.Fprint(&wire, " HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n")
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			fmt.Fprintf(&wire, "%s: %s\r\n", name, value)
		}
	}
	switch {
	case r.Header.Get("Transfer-Encoding") == "chunked" && len(r.Body) > 0:
		fmt.Fprintf(&wire, "\r\n%x\r\n%s\r\n0\r\n\r\n", len(r.Body), r.Body)
	case r.Header.Get("Transfer-Encoding") == "chunked":
		fmt.Fprint(&wire, "\r\n0\r\n\r\n")
	case len(r.Body) > 0:
		fmt.Fprintf(&wire, "Content-Length: %d\r\n\r\n%s", len(r.Body), r.Body)
	default:
		fmt.Fprint(&wire, "\r\n")
	}
	read, err := http.ReadRequest(bufio.NewReader(&wire))
	return read, err == nil
}

// ours is the whole handler over an empty store.
type ours struct{ handler http.Handler }

func newOurs(t *testing.T) ours {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Memory)
	return ours{newService(t, offline, withStore(opened(t, store, err))).handler}
}

// refuses returns the error that a request is refused with, or 0. An error that
// depends on the stored plants is 0 too: the document allows the request.
func (o ours) refuses(t *testing.T, r *http.Request) plantapi.ErrorCode {
	t.Helper()
	r.Header.Set("Authorization", "Bearer "+staticToken)
	w := httptest.NewRecorder()
	o.handler.ServeHTTP(w, r)
	if w.Code < 400 {
		return 0
	}
	var e plantapi.Error
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		t.Fatalf("%s %s: got %d %.200q", r.Method, r.URL, w.Code, w.Body)
	}
	switch code := plantapi.ErrorCode(e.Error); code {
	case plantapi.CodeIDTaken, plantapi.CodeNoSuchPlant, plantapi.CodePositionGone, plantapi.CodePreconditionFailed:
		return 0
	default:
		return code
	}
}

// theirs is kin-openapi alone, with its own router.
type theirs struct{ router routers.Router }

// loadDocument loads the document for theirs, without servers, so that its router
// accepts every host.
func loadDocument(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	doc.Servers = nil
	return doc
}

func newTheirs(t *testing.T, doc *openapi3.T) theirs {
	t.Helper()
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	const mergePatch = "application/merge-patch+json" // the one type of ours that it does not know
	openapi3filter.RegisterBodyDecoder(mergePatch, openapi3filter.JSONBodyDecoder)
	t.Cleanup(func() { openapi3filter.UnregisterBodyDecoder(mergePatch) })
	return theirs{router}
}

// refuses returns the route that its router found, if any, and why the request is
// refused, or nil. It does not check credentials.
func (th theirs) refuses(r *http.Request) (*routers.Route, error) {
	route, path, err := th.router.FindRoute(r)
	if err != nil {
		return nil, err
	}
	return route, openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request: r, PathParams: path, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	})
}

// verdict is what both say about a request, and the request itself.
type verdict struct {
	request contract.Request
	query   string             // as it was sent; theirs adds defaults to its own
	ours    plantapi.ErrorCode // 0: accepted
	theirs  error              // nil: accepted
	route   *routers.Route     // nil: unknown
}

// agree reports whether both accept or both refuse. A 5xx or an error about the
// credentials is neither.
func (v verdict) agree() bool {
	if status := v.ours / 100; status >= 500 || status == http.StatusUnauthorized || status == http.StatusForbidden {
		return false
	}
	return (v.ours == 0) == (v.theirs == nil)
}

// outcome is what both said about a request of an operation.
type outcome struct {
	operation string
	accepted  bool
}
