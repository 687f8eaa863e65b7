package httpapi_test

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/internal/testing/contract"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
)

// source draws requests. Each is derived from the document, three of four without a
// fault, and then changed up to three times.
type source struct {
	operations []string // equal shares for each
	obeying    map[string][]contract.Request
	breaking   map[string][]contract.Request
	queries    []string // names of parameters in queries
	members    []string // names of members anywhere in the document
}

func newSource(t *testing.T, doc *openapi3.T) *source {
	t.Helper()
	requests := plantcontract.Plants().Requests(1_000_000)
	s := &source{obeying: map[string][]contract.Request{}, breaking: map[string][]contract.Request{}}
	for _, r := range requests {
		if r.Obeys {
			s.obeying[r.Operation] = append(s.obeying[r.Operation], r)
		} else {
			s.breaking[r.Operation] = append(s.breaking[r.Operation], r)
		}
	}
	s.operations = slices.Sorted(maps.Keys(s.obeying))
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths.Value(path).Operations())) {
			for _, p := range doc.Paths.Value(path).GetOperation(method).Parameters {
				if p.Value.In == "query" {
					s.queries = append(s.queries, p.Value.Name)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		s.members = slices.AppendSeq(s.members, maps.Keys(doc.Components.Schemas[name].Value.Properties))
	}
	slices.Sort(s.members)
	s.members = slices.Compact(s.members)
	return s
}

// draft is what a request is made from.
type draft struct {
	source  *source
	start   contract.Request
	changes []change
	seeds   []uint64 // of the changes, so that each can be left out alone
}

// change changes a request.
type change func(*source, *rand.Rand, *contract.Request)

func (s *source) draft(random *rand.Rand) draft {
	operation := pick(random, s.operations)
	from := s.obeying[operation]
	if broken := s.breaking[operation]; random.IntN(4) == 0 && len(broken) > 0 {
		from = broken
	}
	d := draft{source: s, start: pick(random, from)}
	for range random.IntN(4) {
		d.changes = append(d.changes, pick(random, changes))
		d.seeds = append(d.seeds, random.Uint64())
	}
	return d
}

func (d draft) request() contract.Request {
	r := d.start
	r.Header = r.Header.Clone()
	r.Body = slices.Clone(r.Body)
	for i, change := range d.changes {
		change(d.source, rand.New(rand.NewPCG(d.seeds[i], 0)), &r)
	}
	return r
}

// shrink removes what a failing request does not need to fail. It tries up to a
// thousand times.
func (d draft) shrink(still func(contract.Request) bool) contract.Request {
	tries := 1000
	fails := func(r contract.Request) bool {
		tries--
		return tries >= 0 && still(r)
	}
	for i := len(d.changes) - 1; i >= 0; i-- {
		less := d
		less.changes = slices.Delete(slices.Clone(d.changes), i, i+1)
		less.seeds = slices.Delete(slices.Clone(d.seeds), i, i+1)
		if fails(less.request()) {
			d = less
		}
	}
	r := d.request()
	try := func(less contract.Request) bool {
		if !fails(less) {
			return false
		}
		r = less
		return true
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		less := r
		less.Header = r.Header.Clone()
		less.Header.Del(name)
		try(less)
	}
	for size := len(r.Body); size > 0; size /= 2 {
		for at := 0; at+size <= len(r.Body); {
			less := r
			less.Body = slices.Delete(slices.Clone(r.Body), at, at+size)
			if !try(less) {
				at += size
			}
		}
	}
	return r
}

// Unusual parts of requests.
var (
	oddValues = []string{
		`null`, `true`, `0`, `-1`, `1.5`, `""`, `"1"`, `[]`, `{}`, `[null]`, `{"name":"n"}`, `{"id":1,"name":"n"}`, `[{"id":1,"name":"n"}]`,
	}
	oddNumbers = []string{
		"0", "-0", "-1", "1.0", "1e2", "1E2", "1.5", "100e-2", "1e400", "1e-400", "0.0", "-0.0", "2147483648", "9007199254740993",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"100000000000000000000000000000", "01", "+1", "0x1", ".5", "1.", "--1", "NaN", "Infinity", "1_000",
	}
	oddTexts = []string{
		"", " ", "\x00", "a", "é", "e\u0301", "蘭", "🌵", "\ufeff", "\ufffd", "\u202e", "\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
		`\ud83c\udf35`, `\ud83c`, `\udf35`, `\ud83c\ud83c`, `\uD83C\u0041`, `\\ud83c`, `\u0000`, `\x`, `\u12`, `\/`, `\`, `"`, "\t", "\n", "\x7f",
	}
	oddParameters = []string{
		"", "0", "1", "5", "100", "-1", "-0", "+5", "05", "5.0", "1e1", " 5", "5 ", "5,6", "abc", "true", "null", "%35", "1001", "0x10", "1_0", "٥",
		"2147483647", "2147483648", "-2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"Moraceae", "\xff", "a\xc3", "\xed\xa0\x80", "%", "%zz", "a;b", "a&b", "a=b", "a/b", "蘭", "\x00",
	}
	oddConditions = []string{
		`*`, `"a"`, `W/"a"`, `"a", "b"`, `"a",,"b"`, `"a" , W/"b",`, ` "a" `, "\"a\"\t", ``, ` `, `a`, `"a`, `a"`, `"a" "b"`, `"a b"`, `w/"a"`, `W/ "a"`, `*,*`, `*, "a"`,
		`, "a"`, `"é"`, "\"\xff\"", `""`, `"a",b`,
	}
	oddMediaTypes = []string{
		"", "application/json", "application/merge-patch+json", "text/plain", "application/xml", "application/x-www-form-urlencoded",
		"Application/JSON", "APPLICATION/MERGE-PATCH+JSON", " application/json ", "application/json;", "application/json; charset=utf-8", "application/json;charset=UTF-8",
		`application/json; charset="utf-8"`, "application/json; charset=utf-16", "application/json; charset=iso-8859-1", "application/json; q", "application/json; q=1; q=2",
		"application/json; version=1", "application/json, application/json", "application/*", "*/*", "application", "application/jsonx", "application/problem+json",
		"application/merge-patch+json; charset=utf-8", "application/merge-patch+json; charset=latin1", "application/merge-patch+json;;",
	}
	pieces = []string{
		"{", "}", "[", "]", ",", ":", `"`, `\`, " ", "\n", "\t", "\f", "\u00a0", "\x00", "\xff", "0", "-", ".", "e", "null", "true", "nul", `""`, `"id"`, `,"id":1`, "//", "/**/", "'",
		"\ufeff",
	}
	methods = []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodTrace, "get", "PROPFIND",
	}
)
