package contracttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// crewsDocument is of a service that wants more than its document says: the name of a crew is unique, a shift is of a
// crew that exists, and a zone is one of two.
const crewsDocument = `openapi: 3.0.3
info: {title: Crews, version: 1.0.0}
paths:
  /crews/:
    post:
      operationId: createCrew
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [name]
              properties: {name: {type: string, pattern: '^[a-z]{2,8}-[0-9]{3}$'}}
      responses:
        '201': {description: The crew., content: {application/json: {schema: {$ref: '#/components/schemas/Crew'}}}}
        '400': {description: It is wrong.}
        '409': {description: The name is taken.}
  /crews/{id}/shifts/count:
    get:
      operationId: countShifts
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses:
        '200': {description: How many., content: {application/json: {schema: {type: integer}}}}
        '404': {description: There is no such crew.}
  /shifts:
    post:
      operationId: createShift
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [crew_id, hours]
              properties:
                crew_id: {type: string}
                hours: {type: integer, minimum: 1, maximum: 12}
                zone: {type: string}
                note: {type: string, maxLength: 40}
      responses:
        '201': {description: The shift., content: {application/json: {schema: {type: object}}}}
        '400': {description: It is wrong.}
        '404': {description: There is no such crew.}
components:
  schemas:
    Crew: {type: object, required: [id, name], properties: {id: {type: string}, name: {type: string}}}
`

// crews is a service of crewsDocument.
type crews struct {
	mistake string

	mu     sync.Mutex
	byName map[string]string // the id
	shifts map[string]int    // by the id of the crew
}

// newCrews is a service with a mistake, or without.
func newCrews(mistake string) *crews {
	return &crews{
		mistake: mistake,
		byName:  map[string]string{},
		shifts:  map[string]int{},
	}
}

func (s *crews) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /crews/{$}", s.createCrew)
	mux.HandleFunc("POST /shifts", s.createShift)
	mux.HandleFunc("GET /crews/{id}/shifts/count", func(w http.ResponseWriter, r *http.Request) {
		shifts, exists := s.shifts[r.PathValue("id")]
		if !exists {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		respondJSON(w, http.StatusOK, shifts)
	})
	mux.ServeHTTP(w, r)
}

// crewName is what the document says of a name.
var crewName = regexp.MustCompile("^[a-z]{2,8}-[0-9]{3}$")

func (s *crews) createCrew(w http.ResponseWriter, r *http.Request) {
	body := map[string]any{}
	err := decodeJSON(r, &body)
	name, isText := body["name"].(string)
	isRight := crewName.MatchString(name) || isText && s.mistake == "takes any name"
	switch {
	case err != nil, r.Header.Get("Content-Type") != "application/json", !isRight:
		w.WriteHeader(http.StatusBadRequest)
	case s.byName[name] != "":
		w.WriteHeader(http.StatusConflict)
	default:
		id := fmt.Sprint("crew-", len(s.byName))
		s.byName[name] = id
		s.shifts[id] = 0
		respondJSON(w, http.StatusCreated, map[string]any{"id": id, "name": name})
	}
}

func (s *crews) createShift(w http.ResponseWriter, r *http.Request) {
	body := map[string]any{"zone": "UTC", "note": ""}
	err := decodeJSON(r, &body)
	crew, isText := body["crew_id"].(string)
	hours, isNumber := body["hours"].(float64)
	zone, hasZone := body["zone"].(string)
	note, hasNote := body["note"].(string)
	isShort := hasNote && (len([]rune(note)) <= 40 || s.mistake == "takes a long note")
	isWhole := isNumber && hours == float64(int(hours)) && hours >= 1 && hours <= 12
	isKnownZone := hasZone && slices.Contains([]string{"UTC", "CET"}, zone)
	isWrong := err != nil || !isText || !isWhole || !isShort || !isKnownZone
	_, exists := s.shifts[crew]
	switch {
	case isWrong, r.Header.Get("Content-Type") != "application/json":
		w.WriteHeader(http.StatusBadRequest)
	case !exists:
		w.WriteHeader(http.StatusNotFound)
	default:
		s.shifts[crew]++
		respondJSON(w, http.StatusCreated, map[string]any{"crew_id": crew})
	}
}

// decodeJSON reads a body that is one value.
func decodeJSON(r *http.Request, into any) error {
	text, err := io.ReadAll(r.Body)
	return errors.Join(err, json.Unmarshal(text, into))
}

// respondJSON responds with a value.
func respondJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

// A service that wants what its document does not say is tested all the same: names are fresh, what must exist is
// created first, and an optional member that is refused hides nothing. Only that member is wrong.
func TestReach(t *testing.T) {
	t.Parallel()
	for mistake, wanted := range map[string]string{
		"":                  "",
		"takes any name":    "createCrew in requests: a value that breaks pattern is accepted as /name",
		"takes a long note": "createShift in requests: a value that breaks maxLength is accepted as /note",
	} {
		c, err := New([]byte(crewsDocument), Options{Seed: 1})
		must.NoError(t, err)
		report, err := c.Run(t.Context(), Target{URL: "http://crews.example", Transport: inProcess{newCrews(mistake)}})
		must.NoError(t, err)
		var causes []string
		for _, cause := range report.Causes {
			causes = append(causes, cause.Cause)
			for _, test := range cause.Tests {
				if isOfZone := strings.Contains(test, "/zone"); isOfZone != strings.Contains(cause.Cause, "/zone") {
					t.Errorf("with %q the zone is in the way of %s", mistake, test)
				}
			}
		}
		want := []string{"createShift in requests: a valid /zone is refused with 400"}
		if wanted != "" {
			want = append(want, wanted)
		}
		slices.Sort(causes)
		slices.Sort(want)
		if !slices.Equal(causes, want) {
			t.Errorf("with %q the causes are %q, want %q", mistake, causes, want)
			for _, cause := range report.Causes {
				t.Log(cause)
			}
		}
		for _, operation := range c.document.Operations {
			isSuccess := func(status int) bool { return status < http.StatusMultipleChoices }
			if !slices.ContainsFunc(c.ledger.Statuses(operation.ID), isSuccess) {
				t.Errorf("with %q no request of %s was accepted", mistake, operation.ID)
			}
		}
	}
}
