package contracttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// coloredDocument is of notes with two members.
const coloredDocument = `
openapi: 3.0.3
info: {title: Notes, version: "1"}
paths:
  /notes:
    post:
      operationId: addNote
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/NewNote"}}}}
      responses: {"201": {description: Added., content: {application/json: {schema: {$ref: "#/components/schemas/Note"}}}}, "400": {description: No note.}}
  /notes/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    get:
      operationId: getNote
      responses: {"200": {description: A note., content: {application/json: {schema: {$ref: "#/components/schemas/Note"}}}}, "400": {description: No id.}, "404": {description: None.}}
    delete:
      operationId: deleteNote
      responses: {"204": {description: Gone.}, "400": {description: No id.}, "404": {description: None.}}
components:
  schemas:
    NewNote: {type: object, required: [text, color], properties: {text: {type: string}, color: {type: string}}}
    Note: {allOf: [{$ref: "#/components/schemas/NewNote"}, {type: object, required: [id], properties: {id: {type: integer}}}]}
`

// losesColor is a service of notes that responds to a create with another color, and deletes nothing.
func losesColor() http.Handler {
	notes := map[string]map[string]any{}
	respond := func(w http.ResponseWriter, status int, note map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(note)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /notes", func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		note := map[string]any{}
		err := json.Unmarshal(text, &note)
		_, hasText := note["text"].(string)
		color, hasColor := note["color"].(string)
		if err != nil || !hasText || !hasColor {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		note["id"] = len(notes) + 1
		notes[fmt.Sprint(note["id"])] = note
		note["color"] = "not " + color
		respond(w, http.StatusCreated, note)
	})
	mux.HandleFunc("/notes/{id}", func(w http.ResponseWriter, r *http.Request) {
		note := notes[r.PathValue("id")]
		switch {
		case strings.Trim(r.PathValue("id"), "-0123456789") != "":
			w.WriteHeader(http.StatusBadRequest)
		case note == nil:
			w.WriteHeader(http.StatusNotFound)
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		default:
			respond(w, http.StatusOK, note)
		}
	})
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

// What a create loses hides nothing: the tests that begin with it go on, whether that is known or not.
func TestLossHidesNothing(t *testing.T) {
	t.Parallel()
	const loss, stays = "addNote: color is not what was sent", "getNote succeeds for what does not exist"
	known := map[string]string{}
	for range 2 {
		contract, err := New([]byte(coloredDocument), Options{Seed: 1, Known: known})
		must.NoError(t, err)
		shown := ran(t, contract, inProcess{losesColor()})
		if got := causeTexts(shown.Causes); !slices.Contains(got, loss) || !slices.Contains(got, stays) {
			t.Errorf("with %d known causes, the causes are %q", len(known), got)
		}
		for _, cause := range shown.Causes {
			if isKnown := cause.Cause == loss && len(known) > 0; isKnown != (cause.Known != "") {
				t.Errorf("with %d known causes, %q is known: %q", len(known), cause.Cause, cause.Known)
			}
			if cause.Cause == loss {
				known[cause.Places[0].ID] = "a known loss"
			}
		}
		for _, promise := range shown.Promises {
			if strings.HasSuffix(promise.Name, "a deleted resource is gone") && !promise.Fails() {
				t.Errorf("with %d known causes, %q does not fail", len(known), promise.Name)
			}
		}
	}
}
