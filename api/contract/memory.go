package contract

import (
	"maps"
	"slices"
)

// place remembers what was found for a value in a place, and below it. A nil one remembers nothing.
type place struct {
	verdicts []*verdict
	places   map[step]*place // of arrays and objects
}

// verdict is what was found for a value and a schema.
type verdict struct {
	schema     *node
	isWrong    bool
	isReported bool // its faults are noted
	evaluated  evaluated
}

// of returns what was found for a schema, or nil.
func (p *place) of(schema *node) *verdict {
	for _, found := range p.verdicts {
		if found.schema == schema {
			return found
		}
	}
	return nil
}

// nameIndex is the index of a step to the name of a member.
const nameIndex = -2

// below returns the place of a member or an item. Texts and numbers have a new one each time: nothing is below them, and a
// MiB of numbers would take 100 MiB.
func (p *place) below(to step, value any) *place {
	if p == nil {
		return nil
	}
	switch value.(type) {
	case []any, map[string]any:
	default:
		return &place{}
	}
	if p.places == nil {
		p.places = map[step]*place{}
	}
	if p.places[to] == nil {
		p.places[to] = &place{}
	}
	return p.places[to]
}

// evaluated is the set of members and items of a value that a schema has. A nil one is not kept.
type evaluated map[step]bool

func (e evaluated) add(here step) {
	if e != nil {
		e[here] = true
	}
}

// merge adds what another schema of the same value has.
func (e evaluated) merge(other evaluated) {
	if e != nil {
		maps.Copy(e, other)
	}
}

// mostPaths is the largest number of ways through a schema for which nothing is remembered.
const mostPaths = 200

// counts counts the ways through schemas.
type counts struct {
	known       map[*node]int // 0 while a schema is counted
	isRecursive bool
	hasParts    bool
	hasTracking bool // unevaluated members or items are asked for
	hasReadOnly bool
}

// needsMemory reports whether schemas can meet a value in so many ways that the time of a body would not be in proportion to
// its size.
func (c *counts) needsMemory(root *node) bool {
	return c.of(root) > mostPaths || c.hasTracking || c.isRecursive && c.hasParts
}

func (c *counts) of(schema *node) int {
	if schema == nil {
		return 0
	}
	if count, isKnown := c.known[schema]; isKnown {
		c.isRecursive = c.isRecursive || count == 0
		return count
	}
	c.known[schema] = 0
	c.hasTracking = c.hasTracking || schema.unevaluatedItems != nil || schema.unevaluatedMembers != nil
	c.hasReadOnly = c.hasReadOnly || len(schema.readOnly) > 0
	sum := 1
	for _, part := range slices.Concat(schema.sameValue(), schema.meeting()) {
		c.hasParts = true
		sum += c.of(part)
	}
	for _, child := range schema.children() {
		sum += c.of(child)
	}
	c.known[schema] = min(sum, 1<<30)
	return c.known[schema]
}
