package world

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// Only so many values are remembered that were not found, and none of a path without parameters.
func TestMissing(t *testing.T) {
	t.Parallel()
	read, err := document.Parse([]byte(`{"openapi": "3.0.3", "info": {"title": "Pots", "version": "1"}, "paths": {
		"/pots": {"get": {"operationId": "listPots", "responses": {"200": {"description": "Pots."}}}},
		"/pots/{id}": {"get": {"operationId": "getPot", "responses": {"200": {"description": "A pot."}},
			"parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}]}}}}`))
	must.NoError(t, err)
	w := New(read, resources.Find(read, values.New(values.Settings{}), resources.Declarations{}))
	w.Learn(scenario.Interaction{Method: http.MethodGet, Path: "/pots", Status: http.StatusNotFound})
	if len(w.missing) != 0 {
		t.Error("a path without parameters has not found a value")
	}
	for i := range 10_005 {
		w.Learn(scenario.Interaction{Method: http.MethodGet, Path: fmt.Sprint("/pots/", i), Status: http.StatusNotFound})
	}
	if len(w.missing) != 10_000 {
		t.Errorf("%d values are remembered", len(w.missing))
	}
	if get := read.Operation("getPot"); !w.IsMissing(get, 7) || w.IsMissing(get, "x") {
		t.Error("a value that was not found is not missing, or another one is")
	}
}

// Of several operations that have created what was never found, the uppermost one is the reason, each time.
func TestNeverFound(t *testing.T) {
	t.Parallel()
	for range 20 {
		w := New(nil, nil)
		for path, creator := range map[string]string{"/pots/7": "createPot", "/pots/7/parts/1": "createPart", "/pots/70": "other"} {
			w.created[path] = &scenario.Thing{Creator: creator}
		}
		if got := w.NeverFound("/pots/7/parts/1"); got != "createPot" {
			t.Errorf("it is %q", got)
		}
	}
}
