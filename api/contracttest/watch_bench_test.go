package contracttest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const benchDocument = `
openapi: 3.0.3
info: {title: Bench, version: "1"}
paths:
  /things:
    get:
      operationId: listThings
      responses:
        "200": {description: All., content: {application/json: {schema: {type: object, required: [things], properties: {things: {type: array, items: {$ref: '#/components/schemas/Thing'}}}}}}}
  /things/{id}:
    get:
      operationId: getThing
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses:
        "200": {description: One., content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}
components:
  schemas:
    Thing:
      type: object
      required: [id, name]
      properties:
        id: {type: integer, minimum: 1}
        name: {type: string, minLength: 1, maxLength: 2000}
        tag: {type: string, nullable: true}
        when: {type: string, format: date-time}
        kind: {type: string, enum: [a, b, c]}
        parts: {type: array, items: {type: string}}
`

func thingOfSize(size int) string {
	return fmt.Sprintf(`{"id":7,"name":%q,"tag":null,"when":"2026-11-28T10:00:00Z","kind":"b","parts":["x","y"]}`, strings.Repeat("n", size))
}

func listOf(count int) string {
	return `{"things":[` + strings.Join(strings.Split(strings.Repeat(thingOfSize(20)+"\n", count-1)+thingOfSize(20), "\n"), ",") + `]}`
}

// BenchmarkHandler is the time that a response takes more because it is checked.
func BenchmarkHandler(b *testing.B) {
	for _, c := range []struct{ name, path, body string }{
		{"object", "/things/7", thingOfSize(900)},
		{"list", "/things", listOf(25)},
		{"large", "/things", listOf(10_000)},
	} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(c.body))
		})
		contract, err := New([]byte(benchDocument), Options{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		for name, handler := range map[string]http.Handler{"plain": handler, "checked": contract.Handler(b, handler)} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(c.body)))
				for b.Loop() {
					handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, c.path, http.NoBody))
				}
			})
		}
	}
}
