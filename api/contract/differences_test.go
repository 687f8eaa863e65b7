package contract_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/shelf"
	"github.com/plantstore/plantstore/internal/testing/shelf/stock"
)

// stricter are the reasons for which package contract refuses what kin-openapi accepts. README.md
// explains each of them.
var stricter = []string{
	"is not known", "is given more than once", // queries
	"must be an integer", "must be written as", "must be a number", "must be true or false", // texts that are read leniently
	"must be valid UTF-8",
	"body is not one well-formed JSON value", "in upper and lower case only",
	"without fraction or exponent",
	"is not a well-formed query",
}

// Each random request is judged by package contract and by kin-openapi's own filter. What differs is
// in README.md. PLANTSTORE_TEST_REQUESTS is how many requests there are; without it, they are the same each time.
func TestDifferencesToKinOpenAPI(t *testing.T) {
	count := must.Number(t, "PLANTSTORE_TEST_REQUESTS", 20_000)
	var refusal *contract.Refusal
	checker := newChecker(t, shelf.Document, contract.Options{
		Authorize: anyone,
		Refuse: func(w http.ResponseWriter, _ *http.Request, why *contract.Refusal) {
			refusal = why
			w.WriteHeader(why.Kind.Status())
		},
	})
	handler := stock.Serve(checker.Middleware)
	judge := newJudge(t)
	figures := map[string]int{}
	seed := uint64(1)
	if os.Getenv("PLANTSTORE_TEST_REQUESTS") != "" {
		seed = rand.Uint64()
	}
	for i := range uint64(count) {
		draw := draw{rand.New(rand.NewPCG(seed, i))}
		request := draw.request()
		refusal = nil
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request())
		kinRefuses := judge(request())
		name := fmt.Sprintf("seed %d, request %d: %s", seed, i, describeRequest(request()))
		switch {
		case response.Code == http.StatusNotFound: // chi finds no operation for an empty part of a path
			figures["without an operation"]++
		case refusal == nil && response.Code != http.StatusOK:
			t.Fatalf("%s\nis accepted, but the code of oapi-codegen refuses it: %d %s", name, response.Code, response.Body)
		case refusal == nil && kinRefuses != nil:
			t.Fatalf("%s\nis accepted, but kin-openapi refuses it: %v", name, kinRefuses)
		case refusal == nil:
			figures["accepted"]++
		case kinRefuses != nil:
			figures["refused by both"]++
		case isExplained(refusal):
			figures["refused by contract alone"]++
		default:
			t.Fatalf("%s\nis refused, but kin-openapi accepts it: %v", name, refusal)
		}
	}
	t.Logf("figures: %v", figures)
	for _, outcome := range []string{"accepted", "refused by both", "refused by contract alone"} {
		if figures[outcome] < count/50 {
			t.Errorf("of %d requests %d are %s: the test shows little", count, figures[outcome], outcome)
		}
	}
}

// isExplained reports whether each fault of a refusal is one that kin-openapi does not look for.
func isExplained(refusal *contract.Refusal) bool {
	faults := refusal.Faults
	if len(faults) == 0 {
		faults = []contract.Fault{{Message: refusal.Message}}
	}
	return !slices.ContainsFunc(faults, func(fault contract.Fault) bool {
		return !slices.ContainsFunc(stricter, func(reason string) bool { return strings.Contains(fault.Message, reason) })
	})
}

func describeRequest(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	return fmt.Sprintf("%s %s %q %q", r.Method, r.URL, r.Header, body)
}

// newJudge returns kin-openapi's own filter, which returns why it refuses a request.
func newJudge(t *testing.T) func(*http.Request) error {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(shelf.Document)
	must.NoError(t, err)
	document.Servers = nil // any host
	router, err := legacy.NewRouter(document)
	must.NoError(t, err)
	return func(r *http.Request) error {
		route, path, err := router.FindRoute(r)
		if err != nil {
			return err
		}
		return openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
			Request: r, PathParams: path, Route: route,
			Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
		})
	}
}

// draw draws requests. Most parts of them are valid, so that many requests have one fault.
type draw struct{ *rand.Rand }

func (d draw) one(of ...string) string { return of[d.IntN(len(of))] }

// seldom is true once in n times.
func (d draw) seldom(n int) bool { return d.IntN(n) == 0 }

var (
	integers = []string{"1", "7", "50", "51", "0", "-1", "+1", "01", "1.0", "1e1", "2147483647", "2147483648", "9223372036854775808", "", "x", "null"}
	numbers  = []string{"0", "1.5", "100", "100.5", "-1", "1e1", "1E400", "NaN", "0x1p-2", "1_0", ".5", "5.", "", "x"}
	booleans = []string{"true", "false", "TRUE", "1", "", "x"}
	genres   = []string{"novel", "poetry", "plays", "letters", "Novel", "", "novel,poetry"}
	words    = []string{"en", "de", "EN", "eng", "", "é", "\xff", "a b", `"`}
	dates    = []string{"2026-11-25", "2026-02-30", "2026-1-1", "", "2026-11-25,2026-11-26", "2026-11-25,2026-11-25,2026-11-25,2026-11-25"}
)

// likely returns one of the first valid texts, or seldom any of them.
func (d draw) likely(valid int, of []string) string {
	if d.seldom(6) {
		return d.one(of...)
	}
	return of[d.IntN(valid)]
}

// request returns a function that makes the same request each time.
func (d draw) request() func() *http.Request {
	method, path, query, header, body := http.MethodGet, "", "", http.Header{}, ""
	switch d.IntN(5) {
	case 0:
		path = "/books/" + d.likely(1, []string{"1234", "123", "abcd", "12345", "١٢٣٤"}) + "/" +
			d.likely(2, []string{"pdf", "epub", "PDF", ""}) + "/edition-" + d.likely(2, integers)
	case 1:
		path = "/ratings/" + d.likely(2, numbers) + "/" + d.likely(2, booleans) + "/" + d.likely(1, dates)
	case 2:
		path, query, header = d.list()
	default:
		method, path = http.MethodPost, "/shelves/"+d.likely(1, []string{"upper", "lower", "Upper"})+"/books"
		body = d.body()
		header.Set("Content-Type", d.likely(1, []string{"application/json", "text/plain", "application/json; charset=utf-8", "text/html", ""}))
	}
	return func() *http.Request {
		r := httptest.NewRequest(method, "http://host/", bytes.NewReader([]byte(body)))
		r.URL = &url.URL{Scheme: "http", Host: "host", Path: path, RawQuery: query}
		r.Header = header.Clone()
		return r
	}
}

func (d draw) list() (path, query string, header http.Header) {
	header = http.Header{}
	values := url.Values{}
	for name, drawn := range map[string]func() string{
		"limit":      func() string { return d.likely(3, integers) },
		"min_weight": func() string { return d.likely(3, numbers) },
		"lent":       func() string { return d.likely(2, booleans) },
		"genre":      func() string { return d.likely(4, genres) },
		"years":      func() string { return d.likely(3, integers) + "," + d.likely(3, integers) },
		"other":      func() string { return "" },
	} {
		for d.seldom(3) && (name != "other" || d.seldom(3)) {
			values.Add(name, drawn())
		}
	}
	if d.seldom(4) {
		header.Set("X-Language", d.likely(2, words))
	}
	if d.seldom(4) {
		header.Set("X-Ranks", d.likely(3, integers)+","+d.likely(3, integers))
	}
	if d.seldom(4) {
		header.Set("Cookie", "dense="+d.likely(2, booleans)+"; scale="+d.likely(2, numbers))
	}
	return "/shelves/" + d.one("upper", "lower") + "/books", values.Encode(), header
}

// body returns JSON that may become a book, changed in a few places.
func (d draw) body() string {
	members := []string{
		`"title":` + d.likely(2, []string{`"Walden"`, `"\u00e9"`, `""`, `null`, `7`, `"\ud83c"`, `"` + strings.Repeat("x", 81) + `"`}),
		`"weight":` + d.likely(3, []string{"1", "0.5", "1e2", "0", "-1", "null", `"1"`, "1E400"}),
		`"form":` + d.likely(2, []string{
			`{"kind":"printed","cover":"hard"}`, `{"kind":"spoken","minutes":3}`, `{"kind":"spoken","minutes":0}`, `{"kind":"sung"}`,
			`{"cover":"hard"}`, `{"kind":"printed","minutes":3}`, `{"kind":"spoken","minutes":3,"Minutes":9}`, `[]`, `{"kind":"spoken","minutes":1.5}`,
		}),
	}
	optional := map[string][]string{
		"pages":  {"1", "300", "2147483648", "0", "1.0", "1.5", "1e2", `"1"`, "null"},
		"lent":   {"true", "false", "null", `"true"`},
		"genres": {`["novel"]`, `[]`, `["novel","novel"]`, `["novel",7]`, `["novel","poetry","plays","letters"]`, `{}`, `null`},
		"note":   {`"n"`, `null`, `7`},
		"other":  {`{"a":[{}]}`, `[[]]`, `1`},
		"Title":  {`"w"`},
	}
	for name, values := range optional {
		if d.seldom(5) {
			members = append(members, fmt.Sprintf("%q:%s", name, d.likely(2, append(values, values[0]))))
		}
	}
	if d.seldom(10) {
		members = append(members, members[d.IntN(len(members))])
	}
	d.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	if d.seldom(10) {
		members = members[1:]
	}
	text := "{" + strings.Join(members, ",") + "}"
	switch {
	case d.seldom(30):
		return ""
	case d.seldom(20):
		return text + d.one(" ", "{}", "x", "\n")
	case d.seldom(20):
		return text[:d.IntN(len(text))]
	case d.seldom(20):
		at := d.IntN(len(text))
		return text[:at] + string(rune(d.IntN(256))) + text[at+1:]
	}
	return text
}
