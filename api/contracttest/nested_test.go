package contracttest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// deskDocument is of comments below tickets, which are below desks. The paths name a ticket in two ways.
const deskDocument = `openapi: 3.0.3
info: {title: Desk, version: 1.0.0}
security: [{key: []}]
paths:
  /desks:
    post:
      operationId: createDesk
      responses:
        '201': {description: The desk., content: {application/json: {schema: {$ref: '#/components/schemas/Numbered'}}}}
        '401': {description: No key.}
  /desks/{id}:
    get:
      operationId: getDesk
      parameters: [{name: id, in: path, required: true, schema: {type: integer, minimum: 1}}]
      responses:
        '200': {description: The desk., content: {application/json: {schema: {$ref: '#/components/schemas/Numbered'}}}}
        '400': {description: It is wrong.}
        '401': {description: No key.}
        '404': {description: There is none.}
  /desks/{deskId}/notes:
    parameters: [{name: deskId, in: path, required: true, schema: {type: integer, minimum: 1}}]
    post:
      operationId: createNote
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: '#/components/schemas/NewNote'}}}
      responses:
        '201': {description: The note., content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}
        '400': {description: It is wrong.}
        '401': {description: No key.}
        '404': {description: There is no such desk.}
    get:
      operationId: listNotes
      responses:
        '200':
          description: The notes of the desk.
          content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Note'}}}}
        '400': {description: It is wrong.}
        '401': {description: No key.}
        '404': {description: There is no such desk.}
  /desks/{deskId}/notes/{noteId}:
    parameters:
      - {name: deskId, in: path, required: true, schema: {type: integer, minimum: 1}}
      - {name: noteId, in: path, required: true, schema: {type: integer, minimum: 1}}
    get:
      operationId: getNote
      responses:
        '200': {description: The note., content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}
        '400': {description: It is wrong.}
        '401': {description: No key.}
        '404': {description: There is none.}
    delete:
      operationId: deleteNote
      responses:
        '204': {description: It is gone.}
        '400': {description: It is wrong.}
        '401': {description: No key.}
        '404': {description: There is none.}
  /desks/{deskId}/notes/{noteId}/pin:
    parameters:
      - {name: deskId, in: path, required: true, schema: {type: integer, minimum: 1}}
      - {name: noteId, in: path, required: true, schema: {type: integer, minimum: 1}}
    post:
      operationId: pinNote
      responses:
        '204': {description: It is pinned.}
        '400': {description: It is wrong.}
        '401': {description: No key.}
        '404': {description: There is none.}
components:
  securitySchemes: {key: {type: apiKey, in: cookie, name: key}}
  schemas:
    Numbered: {type: object, required: [id], properties: {id: {type: integer}}}
    NewNote: {type: object, required: [text], properties: {text: {type: string}}}
    Note: {type: object, required: [id, text], properties: {id: {type: integer}, text: {type: string}}}
`

// desk is a service of deskDocument.
type desk struct {
	mistake string

	mu    sync.Mutex
	desks int
	notes map[int]note
	last  int
}

// note is a note of a desk.
type note struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
	desk int
}

func (s *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /desks", s.createDesk)
	mux.HandleFunc("GET /desks/{desk}", s.ofDesk(func(w http.ResponseWriter, _ *http.Request, desk int) {
		respondJSON(w, http.StatusOK, map[string]any{"id": desk})
	}))
	mux.HandleFunc("POST /desks/{desk}/notes", s.ofDesk(s.createNote))
	mux.HandleFunc("GET /desks/{desk}/notes", s.ofDesk(s.listNotes))
	mux.HandleFunc("GET /desks/{desk}/notes/{note}", s.ofNote(func(w http.ResponseWriter, found note) {
		respondJSON(w, http.StatusOK, found)
	}))
	mux.HandleFunc("DELETE /desks/{desk}/notes/{note}", s.ofNote(func(w http.ResponseWriter, found note) {
		delete(s.notes, found.ID)
		w.WriteHeader(http.StatusNoContent)
	}))
	mux.HandleFunc("POST /desks/{desk}/notes/{note}/pin", s.ofNote(func(w http.ResponseWriter, _ note) {
		w.WriteHeader(http.StatusNoContent)
	}))
	cookie, err := r.Cookie("key")
	isOpen := s.mistake == "anybody writes a note" && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/notes")
	isLocked := err != nil || cookie.Value != "secret"
	if isLocked && !isOpen {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	mux.ServeHTTP(w, r)
}

func (s *desk) createDesk(w http.ResponseWriter, _ *http.Request) {
	s.desks++
	respondJSON(w, http.StatusCreated, map[string]any{"id": s.desks})
}

// number is a number in a path, or 0.
func number(r *http.Request, name string) (found int) {
	text := r.PathValue(name)
	_, err := fmt.Sscanf(text, "%d", &found)
	if err != nil || fmt.Sprint(found) != text {
		return 0
	}
	return found
}

// ofDesk finds the desk of a path.
func (s *desk) ofDesk(serve func(http.ResponseWriter, *http.Request, int)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		desk := number(r, "desk")
		isLax := s.mistake == "a note is written for a desk that does not exist" && r.Method == http.MethodPost
		switch {
		case desk < 1:
			w.WriteHeader(http.StatusBadRequest)
		case desk > s.desks && !isLax:
			w.WriteHeader(http.StatusNotFound)
		default:
			serve(w, r, desk)
		}
	}
}

// ofNote finds the note of a path.
func (s *desk) ofNote(serve func(http.ResponseWriter, note)) http.HandlerFunc {
	return s.ofDesk(func(w http.ResponseWriter, r *http.Request, desk int) {
		found, exists := s.notes[number(r, "note")]
		isLax := map[string]string{
			http.MethodGet:    "a note is read below any desk",
			http.MethodDelete: "a note is deleted below any desk",
			http.MethodPost:   "any note is pinned",
		}[r.Method] == s.mistake
		isHere := exists && (found.desk == desk || isLax) || isLax && r.Method == http.MethodPost
		switch {
		case number(r, "note") < 1:
			w.WriteHeader(http.StatusBadRequest)
		case !isHere:
			w.WriteHeader(http.StatusNotFound)
		default:
			serve(w, found)
		}
	})
}

func (s *desk) createNote(w http.ResponseWriter, r *http.Request, desk int) {
	body := map[string]any{}
	err := decodeJSON(r, &body)
	text, isText := body["text"].(string)
	if err != nil || !isText || r.Header.Get("Content-Type") != "application/json" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.last++
	created := note{
		ID:   s.last,
		Text: text,
		desk: desk,
	}
	s.notes[created.ID] = created
	respondJSON(w, http.StatusCreated, created)
}

func (s *desk) listNotes(w http.ResponseWriter, _ *http.Request, desk int) {
	found := []note{}
	for _, id := range slices.Sorted(maps.Keys(s.notes)) {
		if s.notes[id].desk == desk || s.mistake == "a list has the notes of all desks" {
			found = append(found, s.notes[id])
		}
	}
	respondJSON(w, http.StatusOK, found)
}

// What is below another resource is created there, and not found below another one. Nothing but the document and the
// key is given.
func TestNested(t *testing.T) {
	t.Parallel()
	for _, mistake := range []string{
		"",
		"anybody writes a note",
		"a note is written for a desk that does not exist",
		"a note is read below any desk",
		"a note is deleted below any desk",
		"any note is pinned",
		"a list has the notes of all desks",
	} {
		c, err := New([]byte(deskDocument), Options{Seed: 1, Header: http.Header{"Cookie": {"key=secret"}}})
		must.NoError(t, err)
		service := &desk{mistake: mistake, notes: map[int]note{}}
		report, err := c.Run(t.Context(), Target{URL: "http://desk.example", Transport: inProcess{service}})
		must.NoError(t, err)
		if isFound := len(report.Causes) > 0; isFound != (mistake != "") {
			t.Errorf("with %q the causes are %v", mistake, report.Causes)
		}
		if mistake != "" {
			continue
		}
		for _, promise := range report.Promises {
			if promise.IsUntried() {
				t.Errorf("untried: %s: %s", promise.Name, promise.Why)
			}
		}
	}
}
