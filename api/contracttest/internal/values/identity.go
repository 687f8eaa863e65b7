package values

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// MarkIdentity makes all values of a schema identities: each is drawn fresh, so that no test uses what
// another one creates.
func (s *Shapes) MarkIdentity(of *openapi3.Schema) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identities[of] = true
}

// IsIdentity reports whether the values of a schema are identities.
func (s *Shapes) IsIdentity(of *openapi3.Schema) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identities[of]
}

// Identity returns a value that no other test has.
func (g *Generator) Identity(of *openapi3.Schema) any {
	number := g.drawn.Add(1)
	switch {
	case of.Type.Is("integer"):
		return number
	case of.Format == "uuid":
		return fmt.Sprintf("00000000-0000-4000-8000-%012x", number)
	}
	return padded(fmt.Sprintf("id%d", number), of)
}

// Identities lists the identities in a value.
func (g *Generator) Identities(of *openapi3.Schema, value any) (all []any) {
	isIdentity := g.IsIdentity(of)
	switch value := value.(type) {
	case string:
		if isIdentity && of.Type.Is("string") {
			return []any{value}
		}
	case int64:
		if isIdentity && !of.Type.Is("string") {
			return []any{value}
		}
	case json.Number:
		number, err := value.Int64()
		if isIdentity && of.Type.Is("integer") && err == nil {
			return []any{number}
		}
	case []any:
		for _, item := range value {
			all = append(all, g.Identities(schema.Of(of.Items), item)...)
		}
	case map[string]any:
		flat := g.Flatten(of)
		for _, name := range PropertyNames(flat) {
			if member, has := value[name]; has {
				all = append(all, g.Identities(flat.Properties[name].Value, member)...)
			}
		}
	}
	return all
}

// drawnText is an identity that Identity draws.
var drawnText = regexp.MustCompile(`^(id[0-9]+x*|00000000-0000-4000-8000-[0-9a-f]{12})$`)

// SharedIdentities lists the identities in a value that the generator has not drawn: the
// ends of the range, for example, which other tests use, too.
func (g *Generator) SharedIdentities(of *openapi3.Schema, value any) []any {
	return slices.DeleteFunc(g.Identities(of, value), func(identity any) bool {
		switch identity := identity.(type) {
		case string:
			return drawnText.MatchString(identity)
		case int64:
			return min(max(identity, g.FirstID+1), g.drawn.Load()) == identity
		}
		return true
	})
}
