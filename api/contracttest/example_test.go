package contracttest_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest"
)

// document is that of a shop with one operation. In a test of yours it is a file: //go:embed openapi.yaml
var document = []byte(`
openapi: 3.0.3
info: {title: Shop, version: "1"}
paths:
  /things/{id}:
    get:
      operationId: getThing
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses:
        "200":
          description: A thing.
          content: {application/json: {schema: {type: object, required: [id], properties: {id: {type: integer}}}}}
        "400": {description: Not an id.}
        "404": {description: There is no such thing.}
`)

// shop has a fault: the id in its response is a text.
func shop() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /things/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"%d"}`, id)
	})
	return mux
}

// printer stands for the *testing.T of a test, so that these examples can fail.
type printer struct{}

func (printer) Helper()             {}
func (printer) Name() string        { return "TestShop" }
func (printer) Logf(string, ...any) {}
func (printer) Errorf(format string, args ...any) {
	text, _, _ := strings.Cut(fmt.Sprintf(format, args...), " times\n")
	fmt.Println(strings.TrimRight(text, ", 0123456789"))
}

// Hold the tests that you have to the document: one line around their handler. A response that breaks the document fails the
// test that has asked for it.
func ExampleWatch() {
	t := printer{}
	handler := contracttest.Watch(t, document, shop())

	// The test itself need not change.
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/things/7", http.NoBody))
	if w.Code != http.StatusOK {
		t.Errorf("got %d", w.Code)
	}
	// Output:
	// contract: getThing, 200: [9d043fe1] body /id: type: got string, want integer, got "7"
	// 	sent: GET /things/7
	// 	got:  200 application/json {"id":"7"}
}

// Let the document make the tests: one line, no test of yours.
func ExampleTest() {
	t := printer{}
	contracttest.Test(t, document, shop(), contracttest.Options{Seed: 1})
	// Output:
	// contract: [9d043fe1] getThing, 200: body /id has another type
}

// A service at a URL, in any language, is tested with New and Run. The report has each promise of the document, and what is wrong.
func ExampleContract_Run() {
	server := httptest.NewServer(shop())
	defer server.Close()
	contract, err := contracttest.New(document, contracttest.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := contract.Run(context.Background(), contracttest.Target{URL: server.URL})
	if err != nil {
		fmt.Println(err)
	}
	for _, cause := range report.Causes {
		fmt.Println(cause.Cause)
	}
	fmt.Println(report.Kept > 0, report.Broken > 0)
	// Output:
	// getThing, 200: body /id has another type
	// true true
}

// What is known does not fail, and keeps its reason. An id is the same in every run.
func ExampleOptions_known() {
	t := printer{}
	contracttest.Test(t, document, shop(), contracttest.Options{Known: map[string]string{"9d043fe1": "clients rely on it"}})
	fmt.Println("nothing new")
	// Output: nothing new
}

// Credentials are sent with each request, but for those of tests that send none or wrong ones: this service asks for none.
func ExampleOptions_header() {
	secured := bytes.ReplaceAll(document, []byte("operationId"), []byte("security: [{key: []}]\n      operationId"))
	secured = append(secured, "components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}\n"...)
	contracttest.Test(printer{}, secured, shop(), contracttest.Options{
		Header: http.Header{"X-Key": {"secret"}},
		Known:  map[string]string{"9d043fe1": "clients rely on it"},
		Seed:   1,
	})
	// Output: contract: [c98bdd59] requests without credentials are not refused
}
