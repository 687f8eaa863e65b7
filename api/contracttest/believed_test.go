package contracttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// A right service is accused of nothing, with any seed. Each of these was accused once, or is of a kind that people have
// reported of such tools.
func TestRightServices(t *testing.T) {
	t.Parallel()
	basic := http.Header{"Authorization": {"Basic YW5uOnNlY3JldA=="}}
	for name, c := range map[string]struct {
		service func() *http.ServeMux
		header  http.Header
	}{
		"login-401":              {service: login},
		"end-before-begin-422":   {service: trips},
		"view-counter":           {service: views},
		"discriminated-oneOf":    {service: constant("GET /p", `[{"kind":"cat","lives":9},{"kind":"dog","bark":true}]`)},
		"date-time-lower-case":   {service: constant("GET /p", `{"t":"2024-01-01t12:00:00z","d":"2024-02-29","u":"123E4567-E89B-12D3-A456-426614174000"}`)},
		"reserved-header-accept": {service: constant("GET /traces", `{}`)},
		"integer-5.0":            {service: constant("GET /p", `{"n":5.0}`)},
		"providers":              {service: providers},
		"projects":               {service: projects},
		"passwords":              {service: passwords},
		"sessions":               {service: sessions},
		"loans":                  {service: loans},
		"unique-names":           {service: tags},
		"two-schemes":            {service: twoSchemes, header: basic},
		"wrapped":                {service: wrapped},
		"tokens":                 {service: messages, header: http.Header{"X-Key": {"client"}}},
		"reports":                {service: reports},
		"media-type-parameters":  {service: cups},
		"calls":                  {service: calls},
	} {
		document, err := os.ReadFile("testdata/believed/" + name + ".yaml")
		must.NoError(t, err)
		for seed := uint64(1); seed <= 5; seed++ {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				t.Parallel()
				tests, err := New(document, Options{Seed: seed, Header: c.header})
				must.NoError(t, err)
				report, err := tests.Run(t.Context(), Target{URL: "http://right.example", Transport: inProcess{framed(c.service())}})
				must.NoError(t, err)
				for _, cause := range causeTexts(report.Causes) {
					t.Errorf("a right service is accused: %s", cause)
				}
			})
		}
	}
}

// framed gives what a ServeMux refuses itself the error of the document.
func framed(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		held := httptest.NewRecorder()
		mux.ServeHTTP(held, r)
		if allow := held.Header().Get("Allow"); allow != "" {
			w.Header().Set("Allow", allow)
		}
		answer(func(*http.Request) (int, any, error) { return 0, nil, refused{held.Code, "no such operation"} })(w, r)
	})
}

// refusingText refuses bodies with some texts before a service sees them.
func refusingText(service *http.ServeMux, refuses func(text any) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var read object
		_ = json.Unmarshal(body, &read) // what is no object has no text
		if text, has := read["text"]; has && refuses(text) {
			answer(func(*http.Request) (int, any, error) {
				return 0, nil, refused{http.StatusBadRequest, "text is not valid"}
			})(w, r)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		framed(service).ServeHTTP(w, r)
	})
}

// forgetsMissing responds with 400 to what is not there.
func forgetsMissing() http.Handler {
	right := framed(views())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := httptest.NewRecorder()
		right.ServeHTTP(held, r)
		if held.Code == http.StatusNotFound && strings.HasPrefix(r.URL.Path, "/things/") {
			held.Code = http.StatusBadRequest
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(held.Code)
		_, _ = w.Write(held.Body.Bytes())
	})
}

// renamesOthers counts reads, and gives all things another name when one is deleted.
func renamesOthers() http.Handler {
	right, deletions := framed(views()), 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := httptest.NewRecorder()
		right.ServeHTTP(held, r)
		if r.Method == http.MethodDelete && held.Code == http.StatusNoContent {
			deletions++
			w.WriteHeader(held.Code)
			return
		}
		body := held.Body.String()
		if r.Method == http.MethodGet {
			body = strings.Replace(body, `"name":"`, fmt.Sprintf(`"name":"%d`, deletions), 1)
		}
		w.Header().Set("Content-Type", "application/json")
		if allow := held.Header().Get("Allow"); allow != "" {
			w.Header().Set("Allow", allow)
		}
		w.WriteHeader(held.Code)
		_, _ = io.WriteString(w, body)
	})
}

// What right services may do hides no wrong one, with any seed.
func TestWrongServices(t *testing.T) {
	t.Parallel()
	const valid = "NewNote in requests: a valid /text is refused with 400"
	isLong := func(length func(string) int) func(any) bool {
		return func(text any) bool { s, isText := text.(string); return isText && length(s) > 199 }
	}
	for name, c := range map[string]struct {
		document, from, to string // a text of the document, and what replaces it
		service            func() http.Handler
		want               string
	}{
		"counts bytes": {"wrapped", "", "", func() http.Handler {
			return refusingText(wrapped(), isLong(func(s string) int { return len(s) - 1 }))
		}, valid},
		"refuses the longest": {"wrapped", "", "", func() http.Handler {
			return refusingText(wrapped(), isLong(func(s string) int { return len([]rune(s)) }))
		}, valid},
		"refuses null": {"wrapped", "maxLength: 200", "maxLength: 200, nullable: true", func() http.Handler { return framed(wrapped()) }, valid},
		"400 for a listed 404": {
			"view-counter", "      operationId: getThing\n      responses:\n", "      operationId: getThing\n      responses:\n        '404': {description: none}\n",
			forgetsMissing, "getThing: unknown resource refused with 400",
		},
		"renames others": {"view-counter", "", "", renamesOthers, "addThing: a deletion of one resource changes another one"},
	} {
		document, err := os.ReadFile("testdata/believed/" + c.document + ".yaml")
		must.NoError(t, err)
		for seed := uint64(1); seed <= 5; seed++ {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				t.Parallel()
				tests, err := New([]byte(strings.Replace(string(document), c.from, c.to, 1)), Options{Seed: seed})
				must.NoError(t, err)
				report, err := tests.Run(t.Context(), Target{URL: "http://wrong.example", Transport: inProcess{c.service()}})
				must.NoError(t, err)
				if causes := causeTexts(report.Causes); !slices.Contains(causes, c.want) {
					t.Errorf("the causes are %q, want %q", causes, c.want)
				}
			})
		}
	}
}
