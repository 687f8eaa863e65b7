package httpapi_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
)

// FuzzRequest sends requests that are derived from the document, and what the fuzzer
// makes of them. Whatever is sent, the response is one of the document and no 5xx. A
// request that the service accepts is also accepted by kin-openapi's own
// openapi3filter.ValidateRequest, which shares with the service little more than the
// check of a value against a schema.
//
// The service refuses more than kin-openapi, such as a name that is twice in a body.
// TestGeneratedRequests checks that it accepts what the document allows.
func FuzzRequest(f *testing.F) {
	fuzzing := flag.Lookup("test.fuzz").Value.String() != ""
	for i, r := range plantcontract.Plants().Requests() {
		if fuzzing && i%8 != 0 {
			continue // the fuzzer needs a minute of processor time to begin with all 1,138; make test sends each
		}
		h := r.Header
		f.Add(r.Method, r.Path, r.Query, h.Get("Content-Type"), h.Get("If-Match"), h.Get("If-None-Match"), r.Body)
	}
	for _, body := range []string{
		`{"id":1e0,"name":"n"}`, `{"id":1E400,"name":"n"}`, `{"id":-0,"name":"n"}`, `{"id":1,"name":"\ud83c\udf35"}`,
		`{"id":1,"name":"\ud83c"}`, `{"id":1,"id":2}`, `{"id":1}{}`, `[[[[`, `"`, "\xff", `{"x~/":0}`, `{"ID":1,"NAME":"n"}`,
	} {
		f.Add("POST", "/plants", "", "application/json", "", "", []byte(body))
	}
	for _, target := range []string{"a:", "http://h", "h:1"} { // forms of a request target other than a path, RFC 9112, 3.2
		f.Add("GET", target, "", "", "", "", []byte(nil))
		f.Add("POST", target, "", "", "", "", []byte(nil))
	}
	store, err := sqlite.Open(f.Context(), sqlite.Memory)
	handler := newService(f, offline, withStore(opened(f, store, err))).handler
	router := newRouter(f)
	f.Fuzz(func(t *testing.T, method, path, query, mediaType, ifMatch, ifNoneMatch string, body []byte) {
		request := func() *http.Request { // as net/http passes it to a handler
			var text strings.Builder
			fmt.Fprintf(&text, "%s %s?%s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\n", method, path, query, staticToken)
			for name, value := range map[string]string{
				"Content-Type": mediaType, "If-Match": ifMatch, "If-None-Match": ifNoneMatch,
			} {
				if value != "" {
					fmt.Fprintf(&text, "%s: %s\r\n", name, value)
				}
			}
			fmt.Fprintf(&text, "Content-Length: %d\r\n\r\n%s", len(body), body)
			r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text.String())))
			if err != nil {
				t.Skip(err)
			}
			return r
		}
		w := httptest.NewRecorder()
		plantcontract.Plants().Handler(t, handler).ServeHTTP(w, request())
		if w.Code >= 500 {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
		if !accepted(t, w) {
			return
		}
		if err := validate(router, request()); err != nil {
			reason, _, _ := strings.Cut(err.Error(), "\n") // the schema follows
			t.Errorf("got %d, but kin-openapi refuses the request: %s", w.Code, reason)
		}
	})
}

// accepted reports whether a response says that its request is valid. It may still be in
// conflict with what is stored.
func accepted(t *testing.T, w *httptest.ResponseRecorder) bool {
	t.Helper()
	if w.Code < 400 {
		return true
	}
	var e plantapi.Error
	_ = json.Unmarshal(w.Body.Bytes(), &e)
	return slices.Contains([]plantapi.ErrorCode{
		plantapi.CodeIDTaken, plantapi.CodeNoSuchPlant, plantapi.CodePositionGone, plantapi.CodePreconditionFailed,
	}, plantapi.ErrorCode(e.Error))
}

// newRouter returns kin-openapi's own router.
func newRouter(f *testing.F) routers.Router {
	f.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.Document)
	must.NoError(f, err)
	doc.Servers = nil // every host is accepted
	router, err := legacy.NewRouter(doc)
	must.NoError(f, err)
	const mergePatch = "application/merge-patch+json" // the one type of ours that it does not know
	openapi3filter.RegisterBodyDecoder(mergePatch, openapi3filter.JSONBodyDecoder)
	f.Cleanup(func() { openapi3filter.UnregisterBodyDecoder(mergePatch) })
	return router
}

// validate checks a request with kin-openapi alone, except for its credentials.
func validate(router routers.Router, r *http.Request) error {
	route, path, err := router.FindRoute(r)
	if err != nil {
		return nil // plantcontract knows what is beside the operations
	}
	return openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request: r, PathParams: path, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	})
}
