package contracttest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// nullDocument has a member that must be null, as OpenAPI 3.1 says it.
const nullDocument = `
openapi: 3.1.0
info: {title: Parcels, version: "1"}
paths:
  /parcels:
    post:
      operationId: addParcel
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Parcel'}}}}
      responses:
        "200": {description: It is there., content: {application/json: {schema: {$ref: '#/components/schemas/Parcel'}}}}
        "400": {description: It is wrong.}
        "415": {description: It is no JSON.}
components:
  schemas:
    Parcel: {type: object, required: [owner], properties: {owner: {type: "null"}}}
`

// parcels is a service that checks the member, unless it takes any value, and responds with it.
type parcels struct {
	takesAll bool
	owner    any // in responses
}

func (p parcels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var sent any
	if r.URL.Path != "/parcels" {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "no such method", http.StatusMethodNotAllowed)
		return
	}
	if r.Header.Get("Content-Type") != "application/json" {
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	body, _ := io.ReadAll(r.Body)
	err := json.Unmarshal(body, &sent)
	parcel, isObject := sent.(map[string]any)
	owner, has := parcel["owner"]
	isRight := err == nil && isObject && has && (p.takesAll || owner == nil)
	if !isRight {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"owner": p.owner}) // the client sees what is missing
}

// What is not null where only null may be has another type, and is not a value that an enumeration lacks.
func TestNullType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		service parcels
		want    string // a cause; empty: none
	}{
		{parcels{}, ""},
		{parcels{takesAll: true}, "Parcel in requests: a value of another type is accepted as /owner"},
		{parcels{owner: "me"}, "Parcel in responses: /owner has another type"},
	} {
		contract, err := contracttest.New([]byte(nullDocument), contracttest.Options{})
		must.NoError(t, err)
		server := httptest.NewServer(c.service)
		report, err := contract.Run(t.Context(), contracttest.Target{URL: server.URL})
		server.Close()
		must.NoError(t, err)
		want := []string{c.want}
		if c.want == "" {
			want = nil
		}
		if got := causesOf(report); !slices.Equal(got, want) {
			t.Errorf("of %+v the causes are %q, want %q", c.service, got, want)
		}
	}
}
