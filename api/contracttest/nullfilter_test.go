package contracttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// As pydantic writes what may be left out: a choice of a type and null.
const booksDocument = `openapi: 3.1.0
info: {title: Books, version: "1"}
paths:
  /books:
    get:
      operationId: listBooks
      parameters: [{name: year, in: query, schema: {anyOf: [{type: integer}, {type: "null"}]}}]
      responses:
        "200": {description: All., content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Book"}}}}}
        "422": {description: Wrong.}
    post:
      operationId: addBook
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Book"}}}}
      responses:
        "201": {description: Added., content: {application/json: {schema: {$ref: "#/components/schemas/Book"}}}}
        "422": {description: Wrong.}
  /books/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    get:
      operationId: readBook
      responses:
        "200": {description: It., content: {application/json: {schema: {$ref: "#/components/schemas/Book"}}}}
        "404": {description: None.}
        "422": {description: Wrong.}
components:
  schemas:
    Book:
      type: object
      required: [year]
      properties:
        id: {type: integer, readOnly: true}
        year: {anyOf: [{type: integer, minimum: 1, maximum: 3000}, {type: "null"}]}
`

// book is what the service keeps.
type book struct {
	ID   int  `json:"id"`
	Year *int `json:"year"`
}

// bookshelf serves books. isRight: it looks at the year.
type bookshelf struct {
	isRight bool
	mu      sync.Mutex
	books   []book
}

func (s *bookshelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, isOne := strings.CutPrefix(r.URL.Path, "/books/")
	switch {
	case r.Method == http.MethodGet && isOne:
		s.read(w, id)
	case r.URL.Path != "/books":
		http.NotFound(w, r)
	case r.Method == http.MethodGet:
		s.list(w, r)
	case r.Method == http.MethodPost:
		s.add(w, r)
	default:
		w.Header().Set("Allow", "GET, POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (s *bookshelf) read(w http.ResponseWriter, id string) {
	number, err := strconv.Atoi(id)
	switch {
	case err != nil:
		w.WriteHeader(http.StatusUnprocessableEntity)
	case number < 1 || number > len(s.books):
		w.WriteHeader(http.StatusNotFound)
	default:
		respondJSON(w, http.StatusOK, s.books[number-1])
	}
}

func (s *bookshelf) list(w http.ResponseWriter, r *http.Request) {
	found := slices.Clone(s.books)
	if text := r.URL.Query().Get("year"); text != "" && text != "null" {
		year, err := strconv.Atoi(text)
		if err != nil {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		found = slices.DeleteFunc(found, func(b book) bool { return s.isRight && (b.Year == nil || *b.Year != year) })
	}
	respondJSON(w, http.StatusOK, append([]book{}, found...))
}

func (s *bookshelf) add(w http.ResponseWriter, r *http.Request) {
	var added book
	err := json.NewDecoder(r.Body).Decode(&added)
	isOutside := added.Year != nil && (*added.Year < 1 || *added.Year > 3000)
	if err != nil || isOutside {
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	added.ID = len(s.books) + 1
	s.books = append(s.books, added)
	respondJSON(w, http.StatusCreated, added)
}

// A filter that may be null is inferred, and found out if it selects nothing.
func TestFilterThatMayBeNull(t *testing.T) {
	t.Parallel()
	for _, isRight := range []bool{true, false} {
		contract, err := New([]byte(booksDocument), Options{Seed: 1})
		must.NoError(t, err)
		report, err := contract.Run(t.Context(), Target{URL: "http://books.example", Transport: inProcess{&bookshelf{isRight: isRight}}})
		must.NoError(t, err)
		isFound := strings.Contains(fmt.Sprint(report.Causes), "effect of parameter year")
		if isFound == isRight {
			t.Errorf("right: %v, and the causes are %v", isRight, report.Causes)
		}
	}
}
