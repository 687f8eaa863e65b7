package contracttest

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// jobsDocument has defaults of members of a body.
const jobsDocument = `openapi: 3.0.3
info: {title: Jobs, version: 1.0.0}
paths:
  /jobs:
    post:
      operationId: createJob
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/NewJob'}}}}
      responses:
        '201': {description: The job., content: {application/json: {schema: {$ref: '#/components/schemas/Job'}}}}
        '400': {description: It is wrong.}
  /jobs/{id}:
    get:
      operationId: getJob
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses:
        '200': {description: The job., content: {application/json: {schema: {$ref: '#/components/schemas/Job'}}}}
        '404': {description: There is none.}
components:
  schemas:
    NewJob:
      type: object
      required: [name]
      properties:
        name: {type: string}
        retries: {type: integer, minimum: 0, maximum: 9, default: 3}
        labels: {type: array, items: {type: string}, default: []}
    Job:
      type: object
      required: [id, name, retries, labels]
      properties:
        id: {type: string}
        name: {type: string}
        retries: {type: integer}
        labels: {type: array, items: {type: string}}
`

// jobs is a service of jobsDocument, with a number of retries that it takes where none is sent.
func jobs(retries float64) http.Handler {
	var mu sync.Mutex
	known := map[string]map[string]any{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /jobs", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		job := map[string]any{"retries": retries, "labels": []any{}}
		body := map[string]any{}
		err := decodeJSON(r, &body)
		maps.Copy(job, body)
		_, hasName := job["name"].(string)
		number, isNumber := job["retries"].(float64)
		labels, isList := job["labels"].([]any)
		for _, label := range labels {
			_, isText := label.(string)
			isList = isList && isText
		}
		isWhole := isNumber && number == float64(int(number)) && number >= 0 && number <= 9
		isJSON := r.Header.Get("Content-Type") == "application/json"
		if err != nil || !hasName || !isWhole || !isList || !isJSON {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		id := "job-" + strings.Repeat("x", len(known))
		job["id"] = id
		known[id] = job
		respondJSON(w, http.StatusCreated, job)
	})
	mux.HandleFunc("GET /jobs/{id}", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		job := known[r.PathValue("id")]
		if job == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		respondJSON(w, http.StatusOK, job)
	})
	return mux
}

// What a create leaves out has the default of the document.
func TestDefaults(t *testing.T) {
	t.Parallel()
	for retries, want := range map[float64]string{3: "", 0: "its default is 3, but it is 0"} {
		c, err := New([]byte(jobsDocument), Options{Seed: 1})
		must.NoError(t, err)
		report, err := c.Run(t.Context(), Target{URL: "http://jobs.example", Transport: inProcess{jobs(retries)}})
		must.NoError(t, err)
		found := ""
		for _, cause := range report.Causes {
			found += cause.String()
		}
		isRight := strings.Contains(found, want) && (want != "" || found == "")
		if !isRight {
			t.Errorf("with %v retries: %s, want %q", retries, found, want)
		}
	}
}
