package contracttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/internal/testing/must"
)

const shelvesDocument = `
openapi: 3.0.3
info: {title: Shelves, version: "1"}
paths:
  /shelves/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string, maxLength: 40}}]
    get:
      operationId: getShelf
      responses:
        "200": {description: A shelf., headers: {ETag: {required: true, schema: {type: string}}}, content: {application/json: {schema: {$ref: '#/components/schemas/Shelf'}}}}
        "404": {description: None.}
    put:
      operationId: putShelf
      parameters: [{name: If-Match, in: header, schema: {type: string}}]
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Shelf'}}}}
      responses:
        "200": {description: Put., content: {application/json: {schema: {$ref: '#/components/schemas/Shelf'}}}}
        "400": {description: Refused.}
        "412": {description: Another version.}
components: {schemas: {Shelf: {type: object, required: [room], properties: {room: {type: string, maxLength: 30}}}}}
`

// shelves is a service of shelvesDocument with one flaw, or none.
type shelves struct {
	flaw string
	mu   sync.Mutex
	all  map[string]string // bodies
}

func (s *shelves) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, isShelf := strings.CutPrefix(r.URL.Path, "/shelves/")
	if !isShelf || r.Method != http.MethodGet && r.Method != http.MethodPut {
		w.Header().Set("Allow", "GET, PUT")
		w.WriteHeader(map[bool]int{true: http.StatusMethodNotAllowed, false: http.StatusNotFound}[isShelf])
		return
	}
	body, exists := s.all[id]
	etag := fmt.Sprintf("\"%x\"", body)
	switch condition := r.Header.Get("If-Match"); {
	case r.Method == http.MethodGet && !exists:
		w.WriteHeader(http.StatusNotFound)
		return
	case r.Method == http.MethodGet:
		w.Header().Set("ETag", etag)
	case condition != "" && condition != "*" && !strings.Contains(condition, etag):
		w.WriteHeader(map[bool]int{true: http.StatusBadRequest, false: http.StatusPreconditionFailed}[s.flaw == "400 for 412"])
		return
	default:
		sent, _ := io.ReadAll(r.Body)
		var shelf struct{ Room *string }
		err := json.Unmarshal(sent, &shelf)
		isValid := err == nil && shelf.Room != nil && len([]rune(*shelf.Room)) <= 30 && len([]rune(id)) <= 40
		if isValid || s.flaw == "stores what it refuses" && exists && json.Valid(sent) && strings.HasPrefix(string(sent), "{") {
			body, s.all[id] = string(sent), string(sent)
		}
		if !isValid || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

// A refused request must change nothing, and be refused with the status of its reason.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	for flaw, want := range map[string]string{
		"stores what it refuses": "a refused request has changed",
		"400 for 412":            "putShelf: precondition failed refused with 400",
	} {
		c, err := New([]byte(shelvesDocument), Options{Seed: 1})
		must.NoError(t, err)
		found := ""
		for _, test := range testsOf(c) {
			failures, _ := attempt(test, Target{URL: "http://shelves.example", Transport: inProcess{&shelves{flaw: flaw, all: map[string]string{}}}})
			for _, failure := range failures {
				found += report.Title(failure.Cause) + ": " + failure.Message + "\n"
			}
		}
		if !strings.Contains(found, want) {
			t.Errorf("of a service that has the flaw %q, no test says %q, but:\n%.2000s", flaw, want, found)
		}
	}
}
