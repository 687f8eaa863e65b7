package contracttest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

const recorderDocument = `openapi: 3.0.3
info: {title: Recorder, version: "1"}
paths:
  /recording/stop:
    post: {operationId: stopRecording, responses: {"204": {description: Stopped.}, "400": {description: Nothing to stop.}}}
  /receivers:
    delete:
      operationId: deleteReceivers
      requestBody: {required: true, content: {application/json: {schema: {type: array, items: {type: string}}}}}
      responses: {"204": {description: Gone.}, "400": {description: None of them exists.}}
  /labels/{labelId}:
    parameters: [{name: labelId, in: path, required: true, schema: {type: string}}]
    delete: {operationId: deleteLabel, responses: {"204": {description: Gone.}, "400": {description: No such label.}}}
  /events:
    get:
      operationId: nextEvents
      parameters: [{name: page-token, in: query, required: true, schema: {type: string}}]
      responses: {"200": {description: Some.}, "400": {description: No token.}, "403": {description: The token of another client.}}
`

// A service may refuse what depends on its state alone, what deletes nothing, and tokens that it has not made, with
// whatever status.
func TestRefusedForWhatExists(t *testing.T) {
	t.Parallel()
	methods := map[string]string{"/recording/stop": "POST", "/receivers": "DELETE", "/events": "GET"}
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		offered := methods[r.URL.Path]
		label, isLabel := strings.CutPrefix(r.URL.Path, "/labels/")
		if isLabel && label != "" && !strings.Contains(label, "/") {
			offered = http.MethodDelete
		}
		switch {
		case offered == "":
			http.NotFound(w, r)
		case r.Method != offered:
			w.Header().Set("Allow", offered)
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.URL.Query().Has("page-token"):
			w.WriteHeader(http.StatusForbidden)
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	contract, err := New([]byte(recorderDocument), Options{Seed: 1})
	must.NoError(t, err)
	report, err := contract.Run(t.Context(), Target{URL: "http://recorder.example", Transport: inProcess{service}})
	must.NoError(t, err)
	if len(report.Causes) > 0 {
		t.Errorf("a right service is accused: %v", report.Causes)
	}
}
