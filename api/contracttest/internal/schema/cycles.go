package schema

import "github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"

// A schema may lead to itself for the same value: a pet is one of a cat and a dog, and a cat is a pet with more. jsonschema
// allows no value then. Here a cat has what a pet has but for the choice.

// cutter cuts such cycles.
type cutter struct {
	isOpen map[*Schema]bool // is being followed
	isDone map[*Schema]bool // has no cycle any more
	added  []*Schema
}

// cut cuts the cycles of schemas, and returns the schemas that it has made. It begins with choices, so that the parts lose
// the choice, and not the choice a part.
func cut(all []*Schema) (added []*Schema) {
	c := &cutter{isOpen: map[*Schema]bool{}, isDone: map[*Schema]bool{}}
	for _, schema := range all {
		if len(schema.OneOf)+len(schema.AnyOf) > 0 {
			c.enter(schema)
		}
	}
	for _, schema := range all {
		c.enter(schema)
	}
	return c.added
}

// enter follows a schema to all other schemas that it may demand of the same value, but not to those of members and items.
func (c *cutter) enter(schema *Schema) {
	if c.isDone[schema] {
		return
	}
	c.isOpen[schema] = true
	for i, part := range schema.AllOf {
		schema.AllOf[i] = c.part(part)
	}
	for _, choices := range [][]*Schema{schema.OneOf, schema.AnyOf} {
		for i, choice := range choices {
			if c.isOpen[choice] {
				choices[i] = &Schema{Not: anything, DraftVersion: draft} // the schema itself is no choice
			} else {
				c.enter(choice)
			}
		}
	}
	for _, condition := range []**Schema{&schema.Not, &schema.If, &schema.Then, &schema.Else} {
		if *condition != nil {
			*condition = c.part(*condition)
		}
	}
	for _, name := range jsonvalue.Names(schema.DependentSchemas) {
		schema.DependentSchemas[name] = c.part(schema.DependentSchemas[name])
	}
	c.isOpen[schema] = false
	c.isDone[schema] = true
}

// part is a part of a schema. If the part is being followed already, it leads back to itself: then it is a copy that is not
// composed of anything, and has its own members and bounds alone.
func (c *cutter) part(part *Schema) *Schema {
	if !c.isOpen[part] {
		c.enter(part)
		return part
	}
	alone := *part
	alone.AllOf = nil
	alone.OneOf = nil
	alone.AnyOf = nil
	alone.Not = nil
	alone.If = nil
	alone.DependentSchemas = nil
	c.added = append(c.added, &alone)
	return &alone
}
