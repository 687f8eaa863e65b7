package checkers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/madeup"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// stricter are the reasons for which package contract refuses what libopenapi-validator accepts. The README of the package explains
// each of them.
var stricter = []string{
	"is not known", "is given more than once", // queries
	"must be an integer", "must be written as", "must be a number", "must be true or false", // texts that are read leniently
}

// parameters are those of each made-up document.
var parameters = []any{
	map[string]any{"name": "n", "in": "query", "schema": map[string]any{"type": "integer", "minimum": 1, "maximum": 9}},
	map[string]any{"name": "w", "in": "query", "schema": map[string]any{"type": "number", "multipleOf": 0.5}},
	map[string]any{"name": "b", "in": "query", "schema": map[string]any{"type": "boolean"}},
	map[string]any{"name": "s", "in": "query", "schema": map[string]any{"type": "string", "maxLength": 3, "pattern": "^[a-z]*$"}},
	map[string]any{"name": "l", "in": "query", "schema": map[string]any{
		"type": "array", "maxItems": 2, "items": map[string]any{"type": "string", "enum": []any{"x", "y"}},
	}},
	map[string]any{"name": "h", "in": "header", "schema": map[string]any{"type": "string", "enum": []any{"p", "q"}}},
}

// texts are those of the parameters. The first two are valid.
var texts = map[string][]string{
	"n": {"1", "9", "0", "10", "x", "1.5", "01"}, "w": {"1", "0.5", "0.3", "x", "NaN"}, "b": {"true", "false", "TRUE", "1"},
	"s": {"", "abc", "abcd", "A", "é"}, "l": {"x", "y", "z"}, "h": {"p", "q", "r"},
}

// Random requests to made-up documents of both versions are judged by package contract and by libopenapi-validator.
// PLANTSTORE_TEST_REQUESTS is how many there are.
func TestDifferencesToLibopenapi(t *testing.T) {
	count := must.Number(t, "PLANTSTORE_TEST_REQUESTS", 4_000)
	const documents = 40
	figures := map[string]int{}
	for i, judged := uint64(0), 0; judged < documents; i++ {
		made := madeup.New(uint64(count), i, i%2 == 1)
		text, err := made.Document(parameters...)
		must.NoError(t, err)
		reason := ""
		checker, err := contract.New(text, contract.Options{Refuse: func(w http.ResponseWriter, _ *http.Request, why *contract.Refusal) {
			reason = why.Message
			w.WriteHeader(why.Kind.Status())
		}})
		if err != nil {
			figures["documents that are not valid"]++
			continue
		}
		checked := checker.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		isValid := libopenapiOf(t, text)
		if isValid == nil {
			figures["documents that libopenapi does not take"]++
			continue
		}
		judged++
		for range count / documents {
			request := randomRequest(t, made)
			reason = ""
			checked.ServeHTTP(httptest.NewRecorder(), request())
			isAccepted := isValid(request())
			switch {
			case reason == "" && isAccepted:
				figures["accepted"]++
			case reason != "" && !isAccepted:
				figures["refused by both"]++
			case reason == "" && strings.Contains(describe(request()), "<nil>") && hasNullableChoice(text):
				figures["a null beside oneOf or anyOf"]++
			case reason == "":
				figures["refused by libopenapi alone"]++
				t.Errorf("document %d: %s\n%s\nis accepted, but libopenapi-validator refuses it", i, text, describe(request()))
			case isExplained(reason):
				figures["refused by contract alone"]++
			default:
				figures["not explained"]++
				t.Errorf("document %d: %s\n%s\nis refused, but libopenapi-validator accepts it: %s", i, text, describe(request()), reason)
			}
		}
	}
	t.Logf("figures: %v", figures)
}

// hasNullableChoice reports whether a schema is nullable beside oneOf or anyOf. Package contract takes a null then, as kin-openapi
// does.
func hasNullableChoice(document []byte) bool {
	return nullableChoice.Match(document)
}

// nullableChoice matches a schema whose members are sorted.
var nullableChoice = regexp.MustCompile(`"nullable":true,"oneOf"|"anyOf":.*"nullable":true`)

// isExplained reports whether a refusal has a reason that libopenapi-validator does not look for.
func isExplained(reason string) bool {
	for _, known := range stricter {
		if strings.Contains(reason, known) {
			return true
		}
	}
	return false
}

// libopenapiOf returns libopenapi-validator for a document, or nil for one that it does not take, such as a schema that needs itself.
func libopenapiOf(t *testing.T, text []byte) func(*http.Request) bool {
	t.Helper()
	document, err := libopenapi.NewDocument(text)
	must.NoError(t, err)
	checker, errs := validator.NewValidator(document)
	if len(errs) > 0 {
		return nil
	}
	return func(r *http.Request) bool {
		isValid, _ := checker.ValidateHttpRequestSync(r)
		return isValid
	}
}

// randomRequest returns a function that makes the same request each time. Most parameters are valid.
func randomRequest(t *testing.T, made madeup.Maker) func() *http.Request {
	t.Helper()
	query, header := url.Values{}, http.Header{"Content-Type": {"application/json"}}
	for _, name := range []string{"n", "w", "b", "s", "l", "h"} {
		if !made.Seldom(4) {
			continue
		}
		text := texts[name][made.IntN(2)]
		if made.Seldom(6) {
			text = texts[name][made.IntN(len(texts[name]))]
		}
		if name == "h" {
			header.Set(name, text)
			continue
		}
		query.Add(name, text)
		if name == "l" && made.Seldom(2) {
			query.Add(name, texts[name][made.IntN(2)])
		}
	}
	body, err := json.Marshal(made.Value(3))
	must.NoError(t, err)
	return func() *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/things?"+query.Encode(), strings.NewReader(string(body)))
		r.Header = header.Clone()
		return r
	}
}

func describe(r *http.Request) string {
	var body any
	_ = json.NewDecoder(r.Body).Decode(&body)
	return fmt.Sprintf("%s %q %v", r.URL, r.Header, body)
}
