package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	sch "github.com/plantstore/plantstore/api/contracttest/internal/schema"

	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// draws are the random numbers that a body is made from. They are kept, so that it can be
// shrunk: fewer and smaller numbers make a plainer body.
type draws struct {
	again  []uint64   // come first
	random *rand.Rand // then these; nil: zeroes
	made   []uint64
}

func (d *draws) below(n int) int { return int(d.bits() % uint64(max(n, 1))) }

func (d *draws) bits() (n uint64) {
	if at := len(d.made); at < len(d.again) {
		n = d.again[at]
	} else if d.random != nil {
		n = d.random.Uint64()
	}
	d.made = append(d.made, n)
	return n
}

// shrink looks for fewer and smaller numbers that still fail.
func shrink(found []uint64, attempts int, fails func([]uint64) bool) {
	for i := 0; i < len(found) && attempts > 0; attempts-- {
		try := func(without int, with ...uint64) bool {
			less := slices.Concat(found[:i], with, found[min(i+without, len(found)):])
			if fails(less) {
				found = less
				return true
			}
			return false
		}
		if !try(3) && !try(1) && (found[i] == 0 || !try(1, 0) && !try(1, found[i]/2)) {
			i++
		}
	}
}

// randomTests send bodies that are drawn from the schemas of the document: the service must not
// refuse a valid one, and must refuse one with a single fault. What fails is shrunk.
func (s *suite) randomTests() (all []Case) {
	bodies := 50
	if s.gen.plain {
		bodies = 10
	}
	for i, r := range s.document.Operations {
		if _, schema := r.Body(); schema == nil || s.unwritable(r) != "" {
			continue
		}
		promise := r.ID + ", random bodies"
		all = append(all, newCase(promise, func(v *Session) {
			attempt := func(d *draws) []Failure {
				request := s.randomCase(r, d)
				failures, why := Case{promise, v.contract, []string{request.promise}, func(v *Session) { v.suite = s; v.run(request) }}.attempt(v.ctx, v.target)
				if why != "" {
					panic(untried(why))
				}
				return failures
			}
			told, random := map[string]bool{}, rand.New(rand.NewPCG(v.contract.seed, uint64(i)))
			for range bodies {
				drawn := &draws{random: random}
				for _, f := range attempt(drawn) {
					if told[f.Cause] {
						continue
					}
					told[f.Cause] = true
					if f.Sent.Status == 0 { // there was no response, and waiting for none takes long
						v.failures = append(v.failures, f)
						return
					}
					attempts := 100
					if len(told) > 3 {
						attempts = 0
					}
					shrink(drawn.made, attempts, func(again []uint64) bool {
						isSame := func(other Failure) bool { return other.Cause == f.Cause }
						same := firstWhere(attempt(&draws{again: again}), isSame)
						if same.Cause != "" {
							f = same
						}
						return same.Cause != ""
					})
					v.failures = append(v.failures, f)
				}
			}
		}))
	}
	return all
}

// randomCase is a request with a random body, which may have one fault.
func (s *suite) randomCase(r *document.Operation, d *draws) *testCase {
	_, schema := r.Body()
	request := s.request(r, "random bodies", "random bodies")
	value := s.gen.draw(d, schema)
	if object, ok := value.(map[string]any); ok && !sch.IsComposed(schema) && len(schema.Properties) > 0 && d.below(2) == 1 {
		if pointer, keyword := s.gen.spoil(d, schema, object); keyword != "" {
			request.refused(Violation{Kind: InvalidBody, In: "body", Pointer: pointer})
			request.promise = fmt.Sprintf("%s, body %s %s, refused", r.ID, place(pointer), keyword)
		}
	}
	request.body = jsonvalue.Encode(value)
	return request
}

// draw draws a valid value. Identities are fresh, as in base.
func (g *generator) draw(d *draws, s *openapi3.Schema) any {
	if g.identities[s] || !g.enter(s) {
		return g.base(s)
	}
	defer g.leave(s)
	flat := g.flatten(s)
	if branches := g.branches(flat); len(branches) > 0 {
		if value := g.base(branches[d.below(len(branches))]); g.valid(s, value) {
			return value
		}
		return g.base(s)
	}
	switch s = flat; {
	case s.Not != nil, len(s.Enum) > 0, s.Pattern != "", s.MultipleOf != nil, s.UniqueItems, sch.Formats[s.Format].Check != nil, s.Type.Is("number"):
		return g.base(s)
	case s.Nullable && s.Type != nil && d.below(4) == 3:
		return nil
	case s.Type.Is("object"), s.Type == nil && len(s.Properties) > 0:
		object := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			property := s.Properties[name].Value
			if !g.absent(property) && (slices.Contains(s.Required, name) || d.below(2) == 1) {
				object[name] = g.draw(d, property)
			}
		}
		if !sch.IsClosed(s) && s.AdditionalProperties.Schema == nil && s.MaxProps == nil && d.below(2) == 1 {
			object[judge.UnknownMember] = anyJSON(d, 2)
		}
		if n := uint64(len(object)); n < s.MinProps || s.MaxProps != nil && n > *s.MaxProps {
			return g.base(s)
		}
		return object
	case s.Type.Is("array"):
		most := int(min(orMost(s.MaxItems), 5))
		least := max(int(s.MinItems), min(1, most))
		array := make([]any, least+d.below(max(most, least)-least+1))
		for i := range array {
			array[i] = g.draw(d, sch.Of(s.Items))
		}
		return array
	case s.Type.Is("integer"):
		low, high := limits(s)
		n := int64(d.bits() >> d.below(64)) // as often small as large
		return min(max(n*int64(1-2*d.below(2)), low), high)
	case s.Type.Is("boolean"):
		return d.below(2) == 1
	case s.Type.Is("string"):
		return padded(anyText(d), s)
	default:
		return g.base(s)
	}
}

// spoil breaks one member of an object, or of one in it, and says which and by which keyword.
func (g *generator) spoil(d *draws, s *openapi3.Schema, object map[string]any) (pointer, keyword string) {
	names := slices.Sorted(maps.Keys(s.Properties))
	name := names[d.below(len(names))]
	property := s.Properties[name].Value
	if array, ok := object[name].([]any); ok && len(array) > 0 && property.Items != nil && len(property.Items.Value.Properties) > 0 {
		i := d.below(len(array))
		if inner, ok := array[i].(map[string]any); ok {
			pointer, keyword = g.spoil(d, property.Items.Value, inner)
			return fmt.Sprintf("/%s/%d%s", jsonvalue.Escape(name), i, pointer), keyword
		}
	}
	pointer = "/" + jsonvalue.Escape(name)
	if slices.Contains(s.Required, name) && !g.absent(property) && d.below(2) == 1 {
		delete(object, name)
		return pointer, "required"
	}
	plain, wrong := jsonvalue.Normal(g.base(property)), anyJSON(d, 1)
	if g.absent(property) || fmt.Sprintf("%T", wrong) == fmt.Sprintf("%T", plain) || g.valid(property, wrong) {
		return "", ""
	}
	if object[name] = wrong; wrong == nil {
		return pointer, "nullable"
	}
	return pointer, "type"
}

// anyJSON draws any value, as deep as told.
func anyJSON(d *draws, depth int) any {
	switch d.below(4 + 2*min(depth, 1)) {
	case 0:
		return nil
	case 1:
		return d.below(2) == 1
	case 2:
		return anyText(d)
	case 3:
		numbers := []json.Number{"0", "-1", "1.5", "1.0", "1e2", "-0.0", "9007199254740993"}
		return numbers[d.below(len(numbers))]
	case 4:
		array := make([]any, d.below(4))
		for i := range array {
			array[i] = anyJSON(d, depth-1)
		}
		return array
	default:
		object := map[string]any{}
		for range d.below(4) {
			object[anyText(d)] = anyJSON(d, depth-1)
		}
		return object
	}
}

// anyText draws a few characters, many of them letters. Three draws are a character.
func anyText(d *draws) (text string) {
	for d.below(6) > 0 {
		from := [][2]int{{'a', 26}, {'a', 26}, {' ', 95}, {0, 0xd800}, {0x1f300, 256}}[d.below(5)]
		text += string(rune(from[0] + d.below(from[1])))
	}
	return text
}

// Request is a generated request without credentials, as it is sent.
type Request struct {
	Method, Path, Query string // path and query are escaped
	Header              http.Header
	Body                []byte
}

// Requests returns the requests of [Contract.Tests]: each keyword of the
// document, with values to accept and to refuse. They are for a test that needs something to start
// from.
func (c *Contract) Requests() []Request {
	var all []Request
	for _, r := range newSuite(c).cases() {
		if r.credentials == nil {
			all = append(all, Request{r.route.Method, r.path(), strings.Join(r.query, "&"), r.header, r.body})
		}
	}
	return all
}
