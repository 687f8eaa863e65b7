package contracttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// lotsDocument has an operation below a resource, and a link to it from the create of the resource.
const lotsDocument = `openapi: 3.0.3
info: {title: Lots, version: 1.0.0}
paths:
  /lots:
    post:
      operationId: createLot
      requestBody: &lot {required: true, content: {application/json: {schema: {type: object}}}}
      responses:
        '201':
          description: The lot.
          links: {reserve: {operationId: reserveLotForAnHour, parameters: {lotId: '$response.body#/id'}}}
          content: &id {application/json: {schema: {type: object, required: [id], properties: {id: {type: string}}}}}
        '400': {description: It is wrong.}
  /lots/{lotId}/reservations:
    post:
      operationId: reserveLotForAnHour
      parameters: [{name: lotId, in: path, required: true, schema: {type: string, maxLength: 20}}]
      requestBody: *lot
      responses:
        '201': {description: It is reserved., content: *id}
        '400': {description: It is wrong.}
        '404': {description: There is no such lot.}
`

// lots is a service of lotsDocument.
func lots() http.Handler {
	var mu sync.Mutex
	known := map[string]bool{}
	respond := func(w http.ResponseWriter, r *http.Request, isKnown bool) {
		mu.Lock()
		defer mu.Unlock()
		var body map[string]any
		text, err := io.ReadAll(r.Body)
		err = errors.Join(err, json.Unmarshal(text, &body))
		isWrong := err != nil || body == nil || r.Header.Get("Content-Type") != "application/json"
		switch {
		case !isKnown:
			w.WriteHeader(http.StatusNotFound)
		case isWrong:
			w.WriteHeader(http.StatusBadRequest)
		default:
			id := fmt.Sprint("lot-", len(known))
			known[id] = true
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"id":%q}`, id)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /lots", func(w http.ResponseWriter, r *http.Request) { respond(w, r, true) })
	mux.HandleFunc("POST /lots/{lotId}/reservations", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		isKnown := known[r.PathValue("lotId")]
		mu.Unlock()
		respond(w, r, isKnown)
	})
	return mux
}

// An operation below a resource is tried if a link connects it with the create, or if a response has shown what its
// path names. Where nothing is known, the reason why it is untried says what to do. The names of operations are longer
// than most, and the columns of the overview stay below each other.
func TestBelowResource(t *testing.T) {
	t.Parallel()
	const reason = "it needs something that exists, and no test knows what creates it: name this operation in the links of that response"
	link := "          links: {reserve: {operationId: reserveLotForAnHour, parameters: {lotId: '$response.body#/id'}}}\n"
	unlinked := strings.Replace(lotsDocument, link, "", 1)
	misnamed := strings.ReplaceAll(unlinked, "lotId", "placeId")
	for document, wantsUntried := range map[string]bool{lotsDocument: false, unlinked: false, misnamed: true} {
		c, err := New([]byte(document), Options{Seed: 1})
		must.NoError(t, err)
		report, err := c.Run(t.Context(), Target{URL: "http://lots.example", Transport: inProcess{lots()}})
		must.NoError(t, err)
		for _, cause := range report.Causes {
			t.Errorf("the service is right, but: %s", cause)
		}
		var overview strings.Builder
		report.Overview(&overview)
		columns := map[int]bool{}
		for _, line := range strings.Split(overview.String(), "\n") {
			if at := strings.Index(line, " kept,"); at >= 0 {
				columns[at] = true
			}
		}
		if len(columns) != 1 {
			t.Errorf("the columns are not below each other:\n%s", &overview)
		}
		isUntried := false
		for _, promise := range report.Promises {
			if strings.HasPrefix(promise.Name, "reserveLotForAnHour, body") && promise.IsUntried() {
				isUntried = true
				if promise.Why != reason {
					t.Errorf("%s is untried: %s", promise.Name, promise.Why)
				}
			}
		}
		if isUntried != wantsUntried {
			t.Errorf("untried: %v, want %v, with\n%s", isUntried, wantsUntried, document)
		}
	}
}
