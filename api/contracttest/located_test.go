package contracttest

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// memosDocument has a create that says only in Location what it has created, and nothing deletes it.
const memosDocument = `
openapi: 3.0.3
info: {title: Memos, version: "1"}
paths:
  /memos:
    post:
      operationId: createMemo
      requestBody: {required: true, content: {application/json: {schema: {type: object, properties: {text: {type: string}}}}}}
      responses: {"201": {description: Created., headers: {Location: {schema: {type: string}}}}, "400": {description: It is not one.}}
  /memos/{id}:
    get:
      operationId: getMemo
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {"200": {description: A memo., content: {application/json: {schema: {type: object}}}}, "404": {description: None.}}
`

// memos is a service of the document. With isOne all creates lead to one memo.
type memos struct {
	isOne bool
	mu    sync.Mutex
	texts [][]byte
}

func (s *memos) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var id int
	_, err := fmt.Sscanf(r.URL.Path, "/memos/%d", &id)
	switch {
	case r.Method == http.MethodPost:
		text, _ := io.ReadAll(r.Body)
		s.texts = append(s.texts, text)
		id = len(s.texts)
		if s.isOne {
			id = 1
		}
		w.Header().Set("Location", fmt.Sprint("/memos/", id))
		w.WriteHeader(http.StatusCreated)
	case err != nil, id < 1, id > len(s.texts):
		w.WriteHeader(http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(s.texts[id-1])
	}
}

// Creates at the same time are told apart by Location alone, also where nothing deletes what they have created.
func TestLocated(t *testing.T) {
	t.Parallel()
	const name = "sequence, createMemo: creates at the same time have identities of their own"
	for _, isOne := range []bool{false, true} {
		c, err := New([]byte(memosDocument), Options{Seed: 1})
		must.NoError(t, err)
		target := Target{URL: "http://service.invalid", Transport: inProcess{&memos{isOne: isOne}}}
		isTried := false
		for _, test := range testsOf(c) {
			if test.Name != name {
				continue
			}
			isTried = true
			failures, why := attempt(test, target)
			if found := len(failures) > 0; found != isOne || why != "" {
				t.Errorf("all creates are one: %v; the failures are %v, untried: %s", isOne, failures, why)
			}
		}
		if !isTried {
			t.Errorf("there is no test %q", name)
		}
	}
}
