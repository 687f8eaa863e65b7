// Package madeup makes up documents of OpenAPI and values for them, at random: tests hold the values to the documents in several ways.
package madeup

import (
	"encoding/json"
	"math/rand/v2"
)

// Maker makes up documents of OpenAPI 3.0, or of 3.1 if it is modern.
type Maker struct {
	*rand.Rand
	IsModern bool
}

// New returns a maker, which makes the same for the same numbers.
func New(seed, index uint64, isModern bool) Maker {
	return Maker{rand.New(rand.NewPCG(seed, index)), isModern}
}

func (m Maker) one(of ...string) string { return of[m.IntN(len(of))] }

// Seldom is true once in n times.
func (m Maker) Seldom(n int) bool { return m.IntN(n) == 0 }

// Document returns a document with an operation, POST /things, whose body has a schema with references to others. The operation may
// have parameters.
func (m Maker) Document(parameters ...any) ([]byte, error) {
	version := "3.0.3"
	if m.IsModern {
		version = "3.1.0"
	}
	schemas := map[string]any{"A": m.schema(2), "B": m.schema(1), "C": m.schema(0)}
	return json.Marshal(map[string]any{
		"openapi": version, "info": map[string]any{"title": "Made up", "version": "1"},
		"components": map[string]any{"schemas": schemas},
		"paths": map[string]any{"/things": map[string]any{"post": map[string]any{
			"operationId": "add", "responses": map[string]any{"200": map[string]any{"description": "OK"}},
			"parameters": append([]any{}, parameters...),
			"requestBody": map[string]any{"content": map[string]any{"application/json": map[string]any{
				"schema": map[string]any{"$ref": "#/components/schemas/A"},
			}}},
		}}},
	})
}

// schema returns a schema of some levels.
func (m Maker) schema(levels int) map[string]any {
	made := map[string]any{}
	switch m.IntN(6) {
	case 0:
		made["type"] = "integer"
		m.maybe(made, "minimum", m.IntN(3))
		m.maybe(made, "maximum", m.IntN(4))
		m.maybe(made, "multipleOf", 1+m.IntN(3))
	case 1:
		made["type"] = "string"
		m.maybe(made, "minLength", m.IntN(3))
		m.maybe(made, "maxLength", m.IntN(3))
		m.maybe(made, "enum", []any{"a", "bb"})
	case 2:
		made["type"] = "array"
		made["items"] = m.below(levels)
		m.maybe(made, "minItems", m.IntN(3))
		m.maybe(made, "maxItems", m.IntN(3))
		m.maybe(made, "uniqueItems", true)
	case 3, 4:
		m.object(made, levels)
	case 5: // kin-openapi takes a schema that is made of empty ones for an empty one
		if !m.IsModern {
			made["type"] = "boolean"
		}
	}
	if levels > 0 && m.Seldom(2) {
		m.combine(made, levels)
	}
	if m.IsModern && levels > 0 && m.Seldom(2) {
		m.modern(made, levels)
	}
	if !m.IsModern && made["type"] != nil && m.Seldom(8) {
		made["nullable"] = true
	}
	return made
}

func (m Maker) maybe(made map[string]any, keyword string, value any) {
	if m.Seldom(3) {
		made[keyword] = value
	}
}

// below returns a schema, or a reference to one, which may be above.
func (m Maker) below(levels int) any {
	if levels == 0 || m.Seldom(4) {
		return map[string]any{"$ref": "#/components/schemas/" + m.one("A", "B", "C")}
	}
	return m.schema(levels - 1)
}

func (m Maker) object(made map[string]any, levels int) {
	made["type"] = "object"
	made["properties"] = map[string]any{"a": m.below(levels), "b": m.below(levels)}
	m.maybe(made, "required", []any{m.one("a", "b", "c")})
	m.maybe(made, "minProperties", m.IntN(3))
	m.maybe(made, "maxProperties", m.IntN(3))
	if m.Seldom(2) {
		made["additionalProperties"] = m.Seldom(2)
	} else if m.Seldom(2) {
		made["additionalProperties"] = m.below(levels)
	}
}

func (m Maker) combine(made map[string]any, levels int) {
	switch m.IntN(4) {
	case 0: // kin-openapi takes not: {} for nothing
		made["not"] = map[string]any{"type": "string", "minLength": m.IntN(3)}
		if not := m.schema(levels - 1); not["type"] != nil {
			made["not"] = not
		}
	default:
		made[m.one("allOf", "anyOf", "oneOf")] = []any{m.schema(levels - 1), m.schema(levels - 1)}
	}
}

// modern adds what only OpenAPI 3.1 has.
func (m Maker) modern(made map[string]any, levels int) {
	switch m.IntN(8) {
	case 0:
		made["if"], made["then"], made["else"] = m.schema(levels-1), m.schema(levels-1), m.schema(levels-1)
	case 1:
		made["prefixItems"] = []any{m.schema(levels - 1)}
	case 2:
		made["contains"] = m.schema(levels - 1)
	case 3:
		made["patternProperties"] = map[string]any{"^b": m.schema(levels - 1)}
	case 4:
		made["dependentSchemas"] = map[string]any{"a": m.schema(levels - 1)}
	case 5:
		made["unevaluatedProperties"] = m.Seldom(2)
	case 6:
		made["unevaluatedItems"] = m.schema(levels - 1)
	case 7:
		made["const"] = m.Value(1)
	}
}

// Value returns a value of some levels.
func (m Maker) Value(levels int) any {
	switch kind := m.IntN(7); {
	case kind < 2:
		return m.IntN(4)
	case kind == 2:
		return m.one("", "a", "bb", "ccc")
	case kind == 3 || levels == 0:
		return []any{nil, true, 1.5}[m.IntN(3)]
	case kind == 4:
		items := make([]any, m.IntN(3))
		for i := range items {
			items[i] = m.Value(levels - 1)
		}
		return items
	}
	object := map[string]any{}
	for _, name := range []string{"a", "b", "c"} {
		if m.Seldom(2) {
			object[name] = m.Value(levels - 1)
		}
	}
	return object
}
