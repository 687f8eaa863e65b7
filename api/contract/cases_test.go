package contract_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// publicCase has requests to a document. It says what is right, and why: most are from public bug reports.
type publicCase struct {
	Title, Why, Source string
	Router             string   // chi or mux
	Patterns           []string // none: the paths of the document
	Requests           []caseRequest
}

// caseRequest is a request of a case, with what is right.
type caseRequest struct {
	Name, Method, Target string
	Headers              map[string]string
	Body                 string
	Want                 string // accept, refuse or any
	Status               int    // of a refusal; 0: any
	Value                *struct {
		In, Name string
		Value    any
	}
}

// Each request of testdata/cases is accepted or refused as its file says. The member why has the reason.
func TestPublicCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.json")
	must.NoError(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			must.NoError(t, err)
			var public publicCase
			must.NoError(t, json.Unmarshal(text, &public))
			document, err := os.ReadFile(strings.TrimSuffix(file, "json") + "yaml")
			must.NoError(t, err)
			checker := newChecker(t, document, contract.Options{AcceptReadOnly: true})
			for _, request := range public.Requests {
				request.check(t, public, checker)
			}
		})
	}
}

func (c caseRequest) check(t *testing.T, public publicCase, checker *contract.Checker) {
	t.Helper()
	r := httptest.NewRequest(c.Method, c.Target, strings.NewReader(c.Body))
	for name, value := range c.Headers {
		r.Header.Set(name, value)
	}
	var got *http.Request
	w := httptest.NewRecorder()
	routed(public, checker, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r })).ServeHTTP(w, r)
	isAccepted := got != nil
	if c.Want != "any" && isAccepted != (c.Want == "accept") || c.Status != 0 && w.Code != c.Status {
		t.Errorf("%s: %d %s, want %s %d: %s", c.Name, w.Code, w.Body, c.Want, c.Status, public.Why)
	}
	if c.Value == nil || !isAccepted {
		return
	}
	text, err := json.Marshal(contract.RequestOf(got.Context()).Parameter(c.Value.In, c.Value.Name))
	must.NoError(t, err)
	var value any
	must.NoError(t, json.Unmarshal(text, &value))
	if diff := cmp.Diff(c.Value.Value, value); diff != "" {
		t.Errorf("%s: the value differs (-want +got):\n%s", c.Name, diff)
	}
}

// routed returns a handler behind the router of a case.
func routed(public publicCase, checker *contract.Checker, handler http.Handler) http.Handler {
	mux, router := http.NewServeMux(), chi.NewRouter()
	patterns := public.Patterns
	for _, operation := range checker.Operations() {
		if len(public.Patterns) == 0 {
			patterns = append(patterns, operation.Method+" "+operation.Path)
		}
		router.Group(func(r chi.Router) {
			r.Use(checker.Middleware)
			r.Method(operation.Method, operation.Path, handler)
		})
	}
	if public.Router == "chi" {
		return router
	}
	for _, pattern := range patterns {
		mux.Handle(pattern, checker.Wrap(handler))
	}
	return mux
}
