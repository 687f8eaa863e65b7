package contracttest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// pensDocument does not say which colours the service takes.
const pensDocument = `openapi: 3.0.3
info: {title: Pens, version: 1.0.0}
paths:
  /pens:
    post:
      operationId: createPen
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/NewPen'}}}}
      responses:
        '201': {description: The pen., content: {application/json: {schema: {$ref: '#/components/schemas/Pen'}}}}
        '400': {description: It is wrong.}
  /pens/{penId}:
    parameters: [{name: penId, in: path, required: true, schema: {type: integer}}]
    get:
      operationId: getPen
      responses:
        '200': {description: The pen., content: {application/json: {schema: {$ref: '#/components/schemas/Pen'}}}}
        '400': {description: It is wrong.}
        '404': {description: There is none.}
components:
  schemas:
    NewPen: {type: object, required: [name], properties: {name: {type: string}, colour: {type: string}}}
    Pen: {type: object, required: [id, name], properties: {id: {type: integer}, name: {type: string}, colour: {type: string}}}
`

// pens is a service of pensDocument, which takes hexadecimal colours alone.
type pens struct {
	mu  sync.Mutex
	all []map[string]any
}

var hexColour = regexp.MustCompile(`^[0-9a-f]{6}$`)

func (s *pens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /pens", s.create)
	mux.HandleFunc("GET /pens/{id}", s.get)
	mux.ServeHTTP(w, r)
}

func (s *pens) create(w http.ResponseWriter, r *http.Request) {
	var pen map[string]any
	err := json.NewDecoder(r.Body).Decode(&pen)
	_, isNamed := pen["name"].(string)
	given, hasColour := pen["colour"]
	colour, _ := given.(string)
	isPlain := !hasColour || hexColour.MatchString(colour)
	if err != nil || !isNamed || !isPlain {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	pen["id"] = len(s.all)
	s.all = append(s.all, pen)
	respondJSON(w, http.StatusCreated, pen)
}

func (s *pens) get(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.Atoi(r.PathValue("id"))
	switch {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case number < 0 || number >= len(s.all):
		w.WriteHeader(http.StatusNotFound)
	default:
		respondJSON(w, http.StatusOK, s.all[number])
	}
}

// A create that the test of another operation has sent is no first request of its own: that the service refuses an
// optional member is found out all the same, and is in the way of no other test.
func TestEachOperationIsRehearsed(t *testing.T) {
	t.Parallel()
	c, err := New([]byte(pensDocument), Options{Seed: 1})
	must.NoError(t, err)
	report, err := c.Run(t.Context(), Target{URL: "http://pens.example", Transport: inProcess{&pens{}}})
	must.NoError(t, err)
	const want = "NewPen in requests: a valid /colour is refused with 400"
	if got := titlesOf(report.Causes); !slices.Contains(got, want) {
		t.Errorf("the causes are %q, want %q", got, want)
	}
}
