package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/internal/testing/contract"
)

// changes are the possible changes of a request.
var changes = []change{
	changeValue, changeValue, changeValue, dropMember, addMember, renameMember,
	changeNumber, changeText, repeatMember, changeBytes, changeBytes, appendBytes, nest, fillUp,
	changePathParameter, changePath, changeMethod,
	addQuery, addQuery, changeQueryBytes, addHeader, repeatHeader, changeMediaType, changeEncoding, dropBody, sendInChunks,
}

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
