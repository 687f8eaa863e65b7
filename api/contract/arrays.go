package contract

import (
	"fmt"
)

func (v *visit) holdArray(schema *node, items []any) {
	if len(items) < schema.minItems {
		v.fault(fmt.Sprintf("minimum number of items is %d", schema.minItems))
	}
	if len(items) > schema.maxItems { // the rest was not read
		v.fault(fmt.Sprintf("maximum number of items is %d", schema.maxItems))
		return
	}
	if schema.isUnique && !areUnique(items) {
		v.fault("duplicate items found")
	}
	for i, item := range items {
		if wanted := schema.item(i); wanted != nil && !v.isDone() {
			v.below(wanted, step{index: i}, item)
		}
	}
	if schema.contains != nil {
		v.holdContains(schema, items)
	}
	if schema.unevaluatedItems != nil {
		v.holdUnevaluatedItems(schema.unevaluatedItems, items)
	}
}

// item returns the schema of an item, or nil.
func (n *node) item(index int) *node {
	if index < len(n.prefixItems) {
		return n.prefixItems[index]
	}
	return n.items
}

// holdContains counts the items that match the schema of contains.
func (v *visit) holdContains(schema *node, items []any) {
	count := 0
	for i, item := range items {
		memory, before := v.memory, v.evaluated
		v.memory, v.evaluated = memory.below(step{index: i}, item), nil
		isMatch := v.isAllowed(schema.contains, item)
		v.memory, v.evaluated = memory, before
		if isMatch {
			count++
			v.evaluated.add(step{index: i})
		}
	}
	if count < schema.minContains {
		v.fault(fmt.Sprintf("must have at least %d items that match contains", schema.minContains))
	}
	if count > schema.maxContains {
		v.fault(fmt.Sprintf("must have at most %d items that match contains", schema.maxContains))
	}
}

func (v *visit) holdUnevaluatedItems(rest *node, items []any) {
	for i, item := range items {
		if here := (step{index: i}); !v.evaluated.has(here) && !v.isDone() {
			v.below(rest, here, item)
		}
	}
}
