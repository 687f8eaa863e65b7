package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/plantstore/plantstore/api/contract"
)

// things is the document of these examples. In a program it is a file: //go:embed openapi.yaml
var things = []byte(`
openapi: 3.1.0
info: {title: Things, version: 1.0.0}
paths:
  /things:
    get:
      operationId: listThings
      security: [{key: []}]
      parameters: [{name: tags, in: query, explode: false, schema: {type: array, maxItems: 3, items: {type: string}}}]
      responses: {'200': {description: OK}}
    post:
      operationId: addThing
      requestBody:
        content: {application/json: {schema: {type: object, required: [name], properties: {name: {type: string}, age: {type: integer}}}}}
      responses: {'204': {description: It is added.}}
  /things/{id}:
    get:
      operationId: getThing
      parameters: [{name: id, in: path, required: true, schema: {type: integer, minimum: 1}}]
      responses: {'200': {description: OK}}
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
`)

// send sends a request to a handler, and prints the response.
func send(handler http.Handler, method, path, body string, headers ...string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	text, _ := io.ReadAll(w.Body)
	fmt.Println(strings.TrimSpace(fmt.Sprint(w.Code, " ", string(text))))
}

// A handler is called for the requests that the document allows.
func ExampleNew() {
	checker, err := contract.New(things, contract.Options{Authorize: func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
		return nil, nil
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /things/{id}", checker.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := contract.RequestOf(r.Context())
		fmt.Fprintln(w, request.Operation.ID, contract.Value[int64](request, "path", "id"))
	})))
	send(mux, "GET", "/things/7", "")
	send(mux, "GET", "/things/0", "")
	send(mux, "GET", "/things/seven", "")
	// Output:
	// 200 getThing 7
	// 400 a parameter is not valid: path /id must be at least 1
	// 400 a parameter is not valid: path /id must be an integer
}

// Authorize decides about the credentials that the document asks for. The handler gets what it returns as the context.
func ExampleOptions_authorize() {
	type clientName struct{}
	authorize := func(_ http.ResponseWriter, r *http.Request, operation *contract.Operation) (context.Context, error) {
		if len(operation.Security) == 0 { // it is open
			return r.Context(), nil
		}
		scheme := operation.Security[0][0]
		if r.Header.Get(scheme.Key) != "secret" {
			return nil, errors.New("send the key in the header " + scheme.Key)
		}
		return context.WithValue(r.Context(), clientName{}, "ann"), nil
	}
	checker, err := contract.New(things, contract.Options{Authorize: authorize})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /things", checker.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tags := contract.Value[[]string](contract.RequestOf(r.Context()), "query", "tags")
		fmt.Fprintln(w, r.Context().Value(clientName{}), tags)
	})))
	send(mux, "GET", "/things?tags=a,b", "", "X-Key", "secret")
	send(mux, "GET", "/things?tags=a,b", "", "X-Key", "another")
	send(mux, "GET", "/things?tags=a,b,c,d", "", "X-Key", "secret")
	send(mux, "GET", "/things?tag=a", "", "X-Key", "secret")
	// Output:
	// 200 ann [a b]
	// 401 send the key in the header X-Key
	// 400 a parameter is not valid: query /tags must have at most 3 items
	// 400 a parameter is not valid: query /tag is not known: remove it
}

// Refuse writes refusals in a form of one's own. Each fault has its place.
func ExampleOptions_refuse() {
	checker, err := contract.New(things, contract.Options{
		Authorize: func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
			return nil, nil
		},
		Refuse: func(w http.ResponseWriter, _ *http.Request, refusal *contract.Refusal) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(refusal.Kind.Status())
			_ = json.NewEncoder(w).Encode(map[string]any{"title": http.StatusText(refusal.Kind.Status()), "detail": refusal.Message})
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("POST /things", checker.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})))
	send(mux, "POST", "/things", `{"name": "a", "age": 3}`, "Content-Type", "application/json")
	send(mux, "POST", "/things", `{"age": "three"}`, "Content-Type", "application/json")
	send(mux, "POST", "/things", `name=a`, "Content-Type", "application/x-www-form-urlencoded")
	// Output:
	// 204
	// 400 {"detail":"body does not match the schema: /age must be an integer; /name is required","title":"Bad Request"}
	// 415 {"detail":"Content-Type must be application/json, got application/x-www-form-urlencoded: with curl, add -H 'Content-Type: application/json'","title":"Unsupported Media Type"}
}

// The body was decoded for the check: a handler need not do it again.
func ExampleRequest_Body() {
	checker, err := contract.New(things, contract.Options{
		Authorize: func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
			return nil, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := checker.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := contract.RequestOf(r.Context()).Body().(map[string]any)
		fmt.Fprintf(w, "%v is %v", body["name"], body["age"])
	}))
	send(handler, "POST", "/things", `{"name": "a", "age": 3}`, "Content-Type", "application/json")
	// Output: 200 a is 3
}
