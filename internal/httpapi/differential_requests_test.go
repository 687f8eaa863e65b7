package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/internal/contract"
	"github.com/plantstore/plantstore/internal/contract/plantcontract"
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

// changes are the possible changes of a request.
var changes = []change{
	changeValue, changeValue, changeValue, dropMember, addMember, renameMember,
	changeNumber, changeText, repeatMember, changeBytes, changeBytes, appendBytes, nest, fillUp,
	changePathParameter, changePath, changeMethod,
	addQuery, addQuery, changeQueryBytes, addHeader, repeatHeader, changeMediaType, changeEncoding, dropBody, sendInChunks,
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

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// changeTree decodes a body, if it is JSON, changes one object, array or value in it,
// and encodes it again.
func changeTree(random *rand.Rand, r *contract.Request, change func(node any) any) {
	dec := json.NewDecoder(bytes.NewReader(r.Body))
	dec.UseNumber()
	var tree any
	if dec.Decode(&tree) != nil {
		return
	}
	depth := random.IntN(4)
	var walk func(node any, depth int) any
	walk = func(node any, depth int) any {
		switch node := node.(type) {
		case map[string]any:
			if names := slices.Sorted(maps.Keys(node)); depth > 0 && len(names) > 0 {
				name := pick(random, names)
				node[name] = walk(node[name], depth-1)
				return node
			}
		case []any:
			if depth > 0 && len(node) > 0 {
				i := random.IntN(len(node))
				node[i] = walk(node[i], depth-1)
				return node
			}
		}
		return change(node)
	}
	if body, err := json.Marshal(walk(tree, depth)); err == nil {
		r.Body = body
	}
}

// changeMembers is changeTree for objects alone.
func changeMembers(random *rand.Rand, r *contract.Request, change func(object map[string]any, names []string)) {
	changeTree(random, r, func(node any) any {
		if object, ok := node.(map[string]any); ok {
			change(object, slices.Sorted(maps.Keys(object)))
		}
		return node
	})
}

func changeValue(s *source, random *rand.Rand, r *contract.Request) {
	changeTree(random, r, func(node any) any {
		switch random.IntN(6) {
		case 0:
			return []any{node}
		case 1:
			return map[string]any{pick(random, s.members): node}
		case 2:
			return fmt.Sprint(node)
		}
		return json.RawMessage(pick(random, oddValues))
	})
}

func dropMember(_ *source, random *rand.Rand, r *contract.Request) {
	changeMembers(random, r, func(object map[string]any, names []string) {
		if len(names) > 0 {
			delete(object, pick(random, names))
		}
	})
}

func addMember(s *source, random *rand.Rand, r *contract.Request) {
	changeMembers(random, r, func(object map[string]any, _ []string) {
		object[pick(random, append(s.members, "", "unknown", "a/b~c"))] = json.RawMessage(pick(random, oddValues))
	})
}

func renameMember(_ *source, random *rand.Rand, r *contract.Request) {
	changeMembers(random, r, func(object map[string]any, names []string) {
		if len(names) == 0 {
			return
		}
		name := pick(random, names)
		object[pick(random, []string{strings.ToUpper(name), " " + name, name + "\u200b", name + "s"})] = object[name]
		if random.IntN(2) == 0 {
			delete(object, name)
		}
	})
}

var digits = regexp.MustCompile(`-?[0-9]+`)

func changeNumber(_ *source, random *rand.Rand, r *contract.Request) {
	replaceOne(random, r, digits, pick(random, oddNumbers))
}

var quotedText = regexp.MustCompile(`"[^"\\]*"`)

func changeText(_ *source, random *rand.Rand, r *contract.Request) {
	replaceOne(random, r, quotedText, `"`+pick(random, oddTexts)+`"`)
}

func replaceOne(random *rand.Rand, r *contract.Request, what *regexp.Regexp, by string) {
	if all := what.FindAllIndex(r.Body, -1); len(all) > 0 {
		at := pick(random, all)
		r.Body = slices.Replace(r.Body, at[0], at[1], []byte(by)...)
	}
}

func repeatMember(s *source, random *rand.Rand, r *contract.Request) {
	if at := bytes.IndexByte(r.Body, '{'); at >= 0 {
		name := pick(random, s.members)
		r.Body = slices.Insert(r.Body, at+1, []byte(fmt.Sprintf(`%q:%s,`, name, pick(random, oddValues)))...)
	}
}

func changeBytes(_ *source, random *rand.Rand, r *contract.Request) {
	if len(r.Body) == 0 {
		return
	}
	from := random.IntN(len(r.Body))
	to := min(from+random.IntN(3), len(r.Body))
	r.Body = slices.Replace(r.Body, from, to, []byte(pick(random, pieces))...)
}

func appendBytes(_ *source, random *rand.Rand, r *contract.Request) {
	if random.IntN(2) == 0 {
		r.Body = append(r.Body, pick(random, pieces)...)
		return
	}
	r.Body = append([]byte(pick(random, pieces)), r.Body...)
}

func nest(_ *source, random *rand.Rand, r *contract.Request) {
	depth := 60 + random.IntN(8) // around the limit of 64
	deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	replaceOne(random, r, regexp.MustCompile(`^\{`), `{"deep":`+deep+`,`)
}

// fillUp makes a body as large as the limit, or a byte larger. It is expensive, so it
// is used less often than the others.
func fillUp(_ *source, random *rand.Rand, r *contract.Request) {
	if want := maxBody + random.IntN(2); random.IntN(3) == 0 && len(r.Body) > 0 {
		r.Body = append(r.Body, bytes.Repeat([]byte(" "), max(0, want-len(r.Body)))...)
	}
}

func changePathParameter(_ *source, random *rand.Rand, r *contract.Request) {
	text := pick(random, oddParameters)
	if random.IntN(3) > 0 {
		text = url.PathEscape(text)
	}
	r.Path = "/plants/" + text
}

func changePath(_ *source, random *rand.Rand, r *contract.Request) {
	switch random.IntN(5) {
	case 0:
		r.Path += pick(random, []string{"/", "/x", "%2F", ":batch", "%20", ";a=b", "."})
	case 1:
		r.Path = pick(random, []string{"/nowhere", "//plants", "/PLANTS", "/plants", "/plants/", "/plants:batch", "/plants%3Abatch", "/plants//5", "/plants/../plants", "/plant"})
	default:
		at := 1 + random.IntN(len(r.Path)) // an escaped letter is the letter
		if at < len(r.Path) && r.Path[at] != '%' {
			r.Path = fmt.Sprintf("%s%%%02X%s", r.Path[:at], r.Path[at], r.Path[at+1:])
		}
	}
}

func changeMethod(_ *source, random *rand.Rand, r *contract.Request) {
	r.Method = pick(random, methods)
}

func addQuery(s *source, random *rand.Rand, r *contract.Request) {
	name := pick(random, s.queries)
	if random.IntN(8) == 0 {
		name = pick(random, []string{"unknown", "LIMIT", "limit[]", "", "a b"})
	}
	value := pick(random, oddParameters)
	if random.IntN(8) > 0 {
		name, value = url.QueryEscape(name), url.QueryEscape(value)
	}
	if r.Query != "" && random.IntN(3) == 0 {
		r.Query += "&"
	} else {
		r.Query = ""
	}
	r.Query += name + "=" + value
}

func changeQueryBytes(_ *source, random *rand.Rand, r *contract.Request) {
	at := random.IntN(len(r.Query) + 1)
	r.Query = r.Query[:at] + pick(random, []string{"&", "=", ";", "%", "+", "%00", "%FF", "?", "/", "1"}) + r.Query[at:]
}

func addHeader(s *source, random *rand.Rand, r *contract.Request) {
	r.Header.Set(pick(random, []string{"If-Match", "If-None-Match"}), pick(random, oddConditions))
}

func repeatHeader(_ *source, random *rand.Rand, r *contract.Request) {
	names := append(slices.Sorted(maps.Keys(r.Header)), "If-Match", "If-None-Match")
	name := pick(random, names)
	odd := oddConditions
	if name == "Content-Type" {
		odd = oddMediaTypes
	}
	if len(r.Header[name]) == 0 {
		r.Header.Add(name, `"a"`)
	}
	r.Header.Add(name, pick(random, odd))
}

func changeMediaType(_ *source, random *rand.Rand, r *contract.Request) {
	r.Header.Set("Content-Type", pick(random, oddMediaTypes))
	if random.IntN(8) == 0 {
		r.Header.Del("Content-Type")
	}
}

func changeEncoding(_ *source, random *rand.Rand, r *contract.Request) {
	r.Header.Set("Content-Encoding", pick(random, []string{"gzip", "identity", "Identity", "br", "gzip, identity", ""}))
}

func dropBody(_ *source, _ *rand.Rand, r *contract.Request) { r.Body = nil }

// sendInChunks removes the length of the body.
func sendInChunks(_ *source, _ *rand.Rand, r *contract.Request) {
	r.Header.Set("Transfer-Encoding", "chunked")
}
