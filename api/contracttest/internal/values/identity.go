package values

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// Tests run on one service, at the same time and one after the other, and nothing is cleaned up between them. So
// that a test meets only what it has created itself, identities are drawn from one counter, which begins with
// [Settings.FirstID]. Where a schema is too narrow for that, or a test is about the ends of its range, several
// tests use one identity (SharedIdentities), and each removes what has it before it begins.

// MarkIdentity makes all values of a schema identities: each is drawn fresh, so that no test uses what
// another one creates. It is marked on the schema, so that it is found wherever a body has it.
func (s *Shapes) MarkIdentity(of *schema.Schema) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identities[of] = true
}

// IsIdentity reports whether the values of a schema are identities.
func (s *Shapes) IsIdentity(of *schema.Schema) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identities[of]
}

// Identity returns a value that no other test has. Integers count up, because some services demand that; a
// UUID has the number at its end.
func (g *Generator) Identity(of *schema.Schema) any {
	number := g.drawn.Add(1)
	shape := g.WithoutNull(g.Flatten(of))
	switch {
	case schema.TypeOf(shape) == "integer":
		return number
	case schema.FormatOf(shape) == "uuid":
		return fmt.Sprintf("00000000-0000-4000-8000-%012x", number)
	}
	return padded(fmt.Sprintf("id%d", number), shape)
}

// Identities lists the identities in a value, also those of a batch, which has several.
func (g *Generator) Identities(of *schema.Schema, value any) (all []any) {
	if identity := g.identityIn(of, value); identity != nil {
		return []any{identity}
	}
	for _, item := range jsonvalue.List(value) {
		all = append(all, g.Identities(schema.Of(of.Items2020), item)...)
	}
	object := jsonvalue.Object(value)
	flat := g.Flatten(of)
	for _, name := range PropertyNames(flat) {
		if member, has := object[name]; has {
			all = append(all, g.Identities(flat.Properties[name], member)...)
		}
	}
	return all
}

// identityIn returns a value that is an identity, as Identity draws it: a string or an int64. Otherwise it returns nil. A
// variant may have a value of another type there, which names nothing.
func (g *Generator) identityIn(of *schema.Schema, value any) any {
	if !g.IsIdentity(of) {
		return nil
	}
	name := schema.TypeOf(g.WithoutNull(g.Flatten(of)))
	if name == "integer" && jsonvalue.IsInteger(value) {
		value, _ = value.(json.Number).Int64()
	}
	_, isIdentity := value.(int64)
	if name == "string" {
		_, isIdentity = value.(string)
	}
	if !isIdentity {
		return nil
	}
	return value
}

// drawnText is an identity that Identity draws.
var drawnText = regexp.MustCompile(`^(id[0-9]+x*|00000000-0000-4000-8000-[0-9a-f]{12})$`)

// SharedIdentities lists the identities in a value that the generator has not drawn: the
// ends of the range, for example, which other tests use, too.
func (g *Generator) SharedIdentities(of *schema.Schema, value any) []any {
	return slices.DeleteFunc(g.Identities(of, value), func(identity any) bool {
		if text, isText := identity.(string); isText {
			return drawnText.MatchString(text)
		}
		number, _ := identity.(int64) // there is no third type
		return g.FirstID < number && number <= g.drawn.Load()
	})
}
