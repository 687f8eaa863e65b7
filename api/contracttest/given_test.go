package contracttest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// regionsDocument is of a service for one tenant and one region, which it does not name.
const regionsDocument = `openapi: 3.0.3
info: {title: Regions, version: 1.0.0}
paths:
  /{tenant}/machines:
    parameters:
      - {name: tenant, in: path, required: true, schema: {type: string, maxLength: 12}}
      - {name: X-Version, in: header, schema: {type: integer}}
    post:
      operationId: createMachine
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [region, size]
              properties: {region: {type: string, maxLength: 12}, size: {type: integer, minimum: 1, maximum: 8}}
      responses:
        '201': {description: The machine., content: {application/json: {schema: &machine {type: object, required: [id], properties: {id: {type: string}}}}}}
        '400': {description: It is wrong.}
        '404': {description: There is no such tenant.}
  /{tenant}/machines/{id}:
    get:
      operationId: getMachine
      parameters:
        - {name: tenant, in: path, required: true, schema: {type: string, maxLength: 12}}
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: X-Version, in: header, schema: {type: integer}}
      responses:
        '200': {description: The machine., content: {application/json: {schema: *machine}}}
        '400': {description: It is wrong.}
        '404': {description: There is none.}
`

// regions is a service of regionsDocument.
func regions(mistake string) http.Handler {
	serve := func(then http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Header.Get("X-Version") != "7":
				w.WriteHeader(http.StatusBadRequest)
			case r.PathValue("tenant") != "acme":
				w.WriteHeader(http.StatusNotFound)
			default:
				then(w, r)
			}
		}
	}
	machine := map[string]any{"id": "m-1"}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{tenant}/machines", serve(func(w http.ResponseWriter, r *http.Request) {
		body := map[string]any{}
		err := decodeJSON(r, &body)
		size, isNumber := body["size"].(float64)
		isWhole := isNumber && size == float64(int(size)) && size >= 1 && (size <= 8 || mistake != "")
		isRight := err == nil && body["region"] == "north" && r.Header.Get("Content-Type") == "application/json"
		if !isRight || !isWhole {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		respondJSON(w, http.StatusCreated, machine)
	}))
	mux.HandleFunc("GET /{tenant}/machines/{id}", serve(func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != "m-1" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		respondJSON(w, http.StatusOK, machine)
	}))
	return mux
}

// The values that the options give are in each request that may have them, and other valid ones in none.
func TestGiven(t *testing.T) {
	t.Parallel()
	given := map[string]string{"tenant": "acme", "X-Version": "7", "region": "north"}
	for mistake, want := range map[string]string{
		"":               "",
		"takes any size": "createMachine in requests: a value that breaks maximum is accepted as /size",
	} {
		c, err := New([]byte(regionsDocument), Options{Seed: 1, Values: given})
		must.NoError(t, err)
		report, err := c.Run(t.Context(), Target{URL: "http://regions.example", Transport: inProcess{regions(mistake)}})
		must.NoError(t, err)
		for _, cause := range report.Causes {
			if cause.Cause != want {
				t.Errorf("with %q: %v", mistake, cause)
			}
		}
		if isFound := len(report.Causes) > 0; isFound != (want != "") {
			t.Errorf("with %q the causes are %v", mistake, report.Causes)
		}
		for _, id := range []string{"createMachine", "getMachine"} {
			if statuses := c.ledger.Statuses(id); !slices.ContainsFunc(statuses, func(status int) bool { return status < 300 }) {
				t.Errorf("%s responds with %v", id, statuses)
			}
		}
	}
	_, err := New([]byte(regionsDocument), Options{Values: map[string]string{"tennant": "acme"}})
	if err == nil || !strings.Contains(err.Error(), `"tennant"`) {
		t.Errorf("a name that the document does not have is %v", err)
	}
}
