package contracttest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// roots are mistakes that many tests see, each in another operation or another way, and what a reader is told.
var roots = map[mistake][]string{
	tagsNull: {"Ticket in responses: /tags is null"},
	hugeID:   {"a value of parameter ticketId gives 500"},
	// What is accepted comes back in responses, and that is no cause of its own.
	impossibleDate: {"values of another format are accepted"},
	limitClamped:   {"a value that breaks maximum is accepted as parameter limit"},
}

// A mistake is told once, by what has to be mended: a component or a parameter that operations share.
func TestRoots(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	for wrong, want := range roots {
		contract, err := contracttest.New(helpdeskDocument, contracttest.Options{})
		must.NoError(t, err)
		server := httptest.NewServer(newHelpdesk(wrong))
		report, err := contract.Run(t.Context(), contracttest.Target{URL: server.URL + "/v1"})
		server.Close()
		must.NoError(t, err)
		if got := causesOf(report); !slices.Equal(got, want) {
			t.Errorf("of %q the causes are %q, want %q", wrong, got, want)
		}
	}
}

// A create is not accused where what it creates is found, and an operation below it is missing.
func TestMissingOperation(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	contract, err := contracttest.New(helpdeskDocument, contracttest.Options{})
	must.NoError(t, err)
	desk := newHelpdesk(none)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/comments") {
			http.NotFound(w, r)
			return
		}
		desk.ServeHTTP(w, r)
	}))
	defer server.Close()
	report, err := contract.Run(t.Context(), contracttest.Target{URL: server.URL + "/v1"})
	must.NoError(t, err)
	causes := causesOf(report)
	if slices.Contains(causes, "createTicket: what it creates is not found") || len(causes) == 0 {
		t.Errorf("the causes are %q, want those of comments", causes)
	}
}

// A valid value that is refused is named, where its operation accepts others.
func TestRefusedMember(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	contract, err := contracttest.New(helpdeskDocument, contracttest.Options{})
	must.NoError(t, err)
	server := httptest.NewServer(newHelpdesk(subjectInBytes))
	defer server.Close()
	report, err := contract.Run(t.Context(), contracttest.Target{URL: server.URL + "/v1"})
	must.NoError(t, err)
	const want = "TicketInput in requests: a valid /subject is refused with 400"
	if got := causesOf(report); !slices.Contains(got, want) {
		t.Errorf("the causes are %q, want %q", got, want)
	}
}

// causesOf are the causes as sentences, sorted.
func causesOf(report contracttest.Report) (texts []string) {
	for _, cause := range report.Causes {
		texts = append(texts, cause.Cause)
	}
	slices.Sort(texts)
	return texts
}

// causesOfRun are the causes of a run of all tests of a document on a service.
func causesOfRun(t *testing.T, document string, service http.Handler) []string {
	t.Helper()
	contract, err := contracttest.New([]byte(document), contracttest.Options{Seed: 1})
	must.NoError(t, err)
	server := httptest.NewServer(service)
	defer server.Close()
	report, err := contract.Run(t.Context(), contracttest.Target{URL: server.URL})
	must.NoError(t, err)
	return causesOf(report)
}

// A number that no integer holds, and a NUL in a path, are one cause each, in however many operations, also where the parameters
// are not the same.
func TestRootsOfCrashes(t *testing.T) {
	t.Parallel()
	document, mux := `openapi: 3.0.3
info: {title: t, version: '1'}
x-sorted: [&by {name: "sort[by]", in: query, schema: {type: string}}, &order {name: "sort[order]", in: query, schema: {type: string}}]
paths:
`, http.NewServeMux()
	for i, name := range []string{"cups", "mugs", "jugs"} {
		most := 50 + i
		const responses = `responses: {'200': {description: ok}, '400': {description: wrong}}`
		document += fmt.Sprintf(`
  /%[1]s:
    get: {operationId: %[1]s, parameters: [{name: limit, in: query, schema: {type: integer, minimum: 1, maximum: %[2]d}}, *by, *order], %[3]s}
  /%[1]s/{%[1]sName}:
    get: {operationId: %[1]sOne, parameters: [{name: %[1]sName, in: path, required: true, schema: {type: string, maxLength: %[2]d}}], %[3]s}
`, name, most, responses)
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			limit, err := 1, error(nil)
			if r.URL.Query().Has("limit") {
				limit, err = strconv.Atoi(r.URL.Query().Get("limit"))
			}
			isSorted := r.URL.Query().Has("sort[by]") || r.URL.Query().Has("sort[order]")
			switch {
			case errors.Is(err, strconv.ErrRange), limit == most, isSorted: // also for valid values
				w.WriteHeader(http.StatusInternalServerError)
			case err != nil, limit < 1, limit > most:
				w.WriteHeader(http.StatusBadRequest)
			}
		})
		mux.HandleFunc("GET /"+name+"/{name}", func(w http.ResponseWriter, r *http.Request) {
			switch text := r.PathValue("name"); {
			case strings.Contains(text, "\x00"):
				w.WriteHeader(http.StatusInternalServerError)
			case utf8.RuneCountInString(text) > most:
				w.WriteHeader(http.StatusBadRequest)
			}
		})
	}
	want := []string{"a path with %00 gives 500", "a value of parameter limit gives 500", "a value of parameter sort gives 500"}
	if got := causesOfRun(t, document, mux); !slices.Equal(got, want) {
		t.Errorf("the causes are %q, want %q", got, want)
	}
}

// Reads that fail for what does not exist are one cause, and a write that fails there is another one.
func TestRootsOfReads(t *testing.T) {
	t.Parallel()
	document := "openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths:\n"
	mux := http.NewServeMux()
	for _, operation := range []string{"get /pots/{id}", "get /pots/{id}/label", "get /pots/{id}/plants/{plant}", "post /pots/{id}/turn"} {
		method, path, _ := strings.Cut(operation, " ")
		document += fmt.Sprintf("  %s:\n    %s: {parameters: [{name: id, in: path, required: true, schema: {type: string}}", path, method)
		if strings.HasSuffix(path, "{plant}") {
			document += ", {name: plant, in: path, required: true, schema: {type: string}}"
		}
		document += "], responses: {'200': {description: ok}, '404': {description: none}}}\n"
		mux.HandleFunc(strings.ToUpper(method)+" "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		})
	}
	want := []string{"GET /pots/{id}/plants/{plant} responds with 500", "POST /pots/{id}/turn responds with 500", "reads of /pots/{} and below it give 500"}
	if got := causesOfRun(t, document, mux); !slices.Equal(got, want) {
		t.Errorf("the causes are %q, want %q", got, want)
	}
}

// A failure on a value in a component is one cause, however deep the bodies of several operations have the component.
func TestRootsOfComponents(t *testing.T) {
	t.Parallel()
	document := `openapi: 3.0.3
info: {title: t, version: '1'}
components: {schemas: {Pot: {type: object, required: [tags], properties: {tags: {type: array, items: {type: string, maxLength: 5}}}}}}
paths:
`
	for path, body := range map[string]string{
		"/pots":  "{$ref: '#/components/schemas/Pot'}",
		"/plans": "{type: object, required: [pot], properties: {pot: {$ref: '#/components/schemas/Pot'}}}",
	} {
		document += fmt.Sprintf(`
  %s:
    post:
      requestBody: {required: true, content: {application/json: {schema: %s}}}
      responses: {'200': {description: ok}, '400': {description: wrong}}
`, path, body)
	}
	mux := http.NewServeMux()
	failing := func(w http.ResponseWriter, r *http.Request) {
		type pot struct{ Tags []string }
		var body struct {
			pot
			Pot pot
		}
		if wrong := json.NewDecoder(r.Body).Decode(&body); wrong != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		for _, tag := range slices.Concat(body.Tags, body.Pot.Tags) {
			if utf8.RuneCountInString(tag) > 5 {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}
	}
	mux.HandleFunc("POST /pots", failing)
	mux.HandleFunc("POST /plans", failing)
	crashes := slices.DeleteFunc(causesOfRun(t, document, mux), func(cause string) bool { return !strings.Contains(cause, "500") })
	if want := []string{"Pot in requests gives 500"}; !slices.Equal(crashes, want) {
		t.Errorf("the causes are %q, want %q", crashes, want)
	}
}

// Dates that lack their time zone in many components are one cause, also where the document allows null beside them.
func TestRootsOfFormats(t *testing.T) {
	t.Parallel()
	const document = `openapi: 3.1.0
info: {title: t, version: '1'}
components:
  schemas:
    Pot: {type: object, properties: {made: {type: string, format: date-time}, body: {anyOf: [{$ref: '#/components/schemas/Body'}, {type: 'null'}]}}}
    Body: {type: object, properties: {moved: {anyOf: [{type: 'null'}, {type: string, format: date-time}]}, count: {type: integer}}}
paths:
  /pot: {get: {operationId: pot, responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Pot'}}}}}}}
`
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pot", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"made":"2026-11-20T09:00:00","body":{"moved":"2026-11-20T09:00:00","count":1}}`))
	})
	if got, want := causesOfRun(t, document, mux), []string{"responses have values without their format: date-time"}; !slices.Equal(got, want) {
		t.Errorf("the causes are %q, want %q", got, want)
	}
}

// One mistake in what several operations respond with is one cause: a response that has another form than the document says, a
// parameter that is not read, and a default that describes failures and is sent as a success.
func TestRootsOfForms(t *testing.T) {
	t.Parallel()
	const of = `
      responses:
        '200': {description: ok, content: {application/json: {schema: {type: object, required: [id, state], properties: {id: {type: string}, state: {type: string}}}}}}
        default: {description: wrong, content: {application/json: {schema: {type: object, required: [message], properties: {message: {type: string}, code: {enum: [404]}}}}}}
`
	document := "openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths:\n"
	for _, name := range []string{"cups", "mugs", "jugs"} {
		document += fmt.Sprintf("  /%[1]s:\n    put:\n      operationId: %[1]s%[2]s", name, of)
	}
	document += "  /pots:\n    get:\n      operationId: pots\n      parameters: [{name: size, in: query, schema: {type: integer, maximum: 9}}]" + of
	document += "    post:\n      operationId: addPot" + of
	mux := http.NewServeMux()
	respond := func(pattern string, status int, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		})
	}
	for _, name := range []string{"cups", "mugs", "jugs"} {
		respond("PUT /"+name, 200, `{"state":1}`)
	}
	respond("GET /pots", 200, `{"id":"1","state":"ok"}`)
	respond("POST /pots", 201, `{"id":"1","code":201}`)
	want := []string{
		"a response with 200: bodies are not as the document says", "addPot succeeds with 201, which is not documented",
		"values of another type are accepted",
	}
	got := slices.DeleteFunc(causesOfRun(t, document, mux), func(cause string) bool { return strings.Contains(cause, "4") }) // of net/http's own refusals
	if !slices.Equal(got, want) {
		t.Errorf("the causes are %q, want %q", got, want)
	}
}
