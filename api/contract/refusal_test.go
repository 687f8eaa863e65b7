package contract_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
)

// A refusal quotes little of a name that a client has chosen.
func TestRefusalOfALongName(t *testing.T) {
	body := `{"` + strings.Repeat("n", 10_000) + `":"x"}`
	for _, schema := range []string{
		"{type: object, additionalProperties: false}",
		"{type: object, additionalProperties: {type: integer}}",
	} {
		_, refusal := postJSON(t, schema, body)
		if refusal == nil || len(refusal.Message) > 200 || len(refusal.Faults[0].Pointer) > 100 {
			t.Errorf("%s: %v", schema, refusal)
		}
	}
}

// Of a hundred unknown parameters, 32 are reported.
func TestFaultsOfManyParameters(t *testing.T) {
	var query strings.Builder
	for i := range 100 {
		fmt.Fprintf(&query, "x%d&", i)
	}
	if _, refusal := get(t, "", query.String(), "", contract.Options{}); len(refusal.Faults) != 32 {
		t.Errorf("%d faults are reported, want 32", len(refusal.Faults))
	}
}

// Of very many values, as many faults are reported as of few: the others are not looked for.
func TestFaultsOfManyValues(t *testing.T) {
	for _, count := range []int{9_000, 300_000} {
		_, refusal := postJSON(t, "{type: array, items: {type: object, required: [a, b, c]}}", "["+strings.Repeat("{},", count)+"{}]")
		if len(refusal.Faults) != 32 {
			t.Errorf("of %d values %d faults are reported, want 32", count, len(refusal.Faults))
		}
	}
}

// Requests may share a refusal: it is not changed.
func TestSharedRefusal(t *testing.T) {
	shared := &contract.Refusal{
		Kind: contract.NotAuthorized, Message: "no", Faults: []contract.Fault{{In: "header", Pointer: "/X-Key", Message: "is old"}},
	}
	checker := newChecker(t, []byte(smallDocument), contract.Options{
		Authorize: func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
			return nil, shared
		},
	})
	r := httptest.NewRequest(http.MethodGet, "/things/1", nil)
	r.Pattern = "/things/{id}"
	w := httptest.NewRecorder()
	checker.Wrap(nil).ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized || w.Body.String() != "no: header /X-Key is old\n" {
		t.Errorf("the response is %d %s", w.Code, w.Body)
	}
	if shared.Message != "no" || shared.Operation != nil {
		t.Errorf("the shared refusal was changed: %+v", shared)
	}
}
