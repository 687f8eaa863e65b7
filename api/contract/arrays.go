package contract

func (v *visit) holdArray(schema *node, items []any) {
	if !v.holdSize(schema.itemCount, len(items)) { // the rest was not read
		return
	}
	if schema.isUnique && !areUnique(items) {
		v.fault("must not have equal items")
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
		if here := (step{index: i}); v.isAllowedBelow(schema.contains, here, item) {
			count++
			v.evaluated.add(here)
		}
	}
	v.holdSize(schema.containsCount, count)
}

func (v *visit) holdUnevaluatedItems(rest *node, items []any) {
	for i, item := range items {
		if here := (step{index: i}); !v.evaluated[here] && !v.isDone() {
			v.below(rest, here, item)
		}
	}
}
