package contract

import "slices"

// wanted says what of a JSON value its schemas can need. JSON of a MiB can become forty as Go values, so what no schema can
// need is checked as JSON, and not kept: members that the schema does not have, all items but one of those that an array may not
// have, and what is in an object or array in place of something else. The zero value keeps nothing.
type wanted struct {
	schemas []*node // which the value may be held to
	isWhole bool    // everything is kept, because no single schema says what is needed
}

// wanted returns what a value of a schema is decoded for.
func (n *node) wanted() wanted { return wanted{n.together, n.needsWhole} }

// join returns what is wanted of a value that is decoded for one more schema.
func (w wanted) join(schema *node) wanted {
	if len(w.schemas) == 0 {
		return wanted{schema.together, w.isWhole || schema.needsWhole}
	}
	all := slices.Clone(w.schemas)
	for _, part := range schema.together {
		if !slices.Contains(all, part) { // or each level of a recursion would have twice as many
			all = append(all, part)
		}
	}
	return wanted{all, true}
}

// member returns what is wanted of a member that a schema has a name for.
func (w wanted) member(name string) (member wanted, isKnown bool) {
	member.isWhole = w.isWhole
	for _, schema := range w.schemas {
		if described := schema.members[name]; described != nil {
			member = member.join(described)
			isKnown = true
		}
	}
	return member, isKnown
}

// others returns what is wanted of members that no schema has a name for, and whether they are kept at all.
func (w wanted) others() (member wanted, isKept bool) {
	if w.isWhole {
		return wanted{isWhole: true}, true
	}
	object := w.schemas[0] // the only one
	switch others := object.others; {
	case others != nil && others.always == nil:
		return others.wanted(), true
	case others != nil && *others.always || others == nil && len(object.members) == 0: // an object of any members
		return wanted{isWhole: true}, true
	case others == nil:
		return wanted{}, object.countsMembers()
	}
	return wanted{}, true // such members are forbidden, so the name is kept
}

// countsMembers reports whether members without a schema matter.
func (n *node) countsMembers() bool {
	isElsewhere := func(name string) bool { return n.members[name] == nil }
	return n.memberCount != nil || slices.ContainsFunc(n.required, isElsewhere)
}

// items returns what is wanted of the items of an array, and how many are kept.
func (w wanted) items() (item wanted, most int) {
	item.isWhole = w.isWhole
	for _, schema := range w.schemas {
		if schema.items != nil {
			item = item.join(schema.items)
			most = schema.itemCount.mostRead()
		}
	}
	if w.isWhole {
		most = unlimited
	}
	return item, most
}

// mostRead is one more than there may be.
func (b *sizeBounds) mostRead() int {
	if b == nil || b.most == unlimited {
		return unlimited
	}
	return b.most + 1
}

// hasObject reports whether anything of an object is kept.
func (w wanted) hasObject() bool {
	return w.isWhole || len(w.schemas) > 0 && w.schemas[0].types.has(typeObject)
}

// isTime reports whether a text is a time.
func (w wanted) isTime() bool {
	return slices.ContainsFunc(w.schemas, func(schema *node) bool {
		return schema.format != nil && schema.format.name == "date-time"
	})
}

// leavesOut reports whether a member is left out because it is for responses alone.
func (w wanted) leavesOut(name string) bool {
	return slices.ContainsFunc(w.schemas, func(schema *node) bool {
		return schema.leavesOut && slices.Contains(schema.readOnly, name)
	})
}

// isWholeNeeded reports whether a schema is combined of others, or compares whole values, or accepts values of any type.
func isWholeNeeded(schema *node) bool {
	isCombined := len(schema.sameValue())+len(schema.meeting())+len(schema.prefixItems)+len(schema.dependents) > 0
	isCompared := schema.isEnum || schema.isUnique || schema.names != nil
	isOpen := schema.types == 0 || schema.types.has(typeArray) && schema.items == nil
	return isCombined || isCompared || isOpen
}
