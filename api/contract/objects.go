package contract

import (
	"maps"
	"slices"
)

// unknownName is what is wrong with a member or a parameter that the document does not have.
const unknownName = "is not known: remove it"

func (v *visit) holdObject(schema *node, object map[string]any) {
	v.holdSize(schema.memberCount, len(object))
	if v.isRequest && !v.acceptsReadOnly {
		v.holdReadOnly(schema, object)
	}
	v.holdMembers(schema, object)
	for _, name := range schema.required {
		if _, isGiven := object[name]; !isGiven && !v.isForResponses(name) {
			v.fault("is required", name)
		}
	}
	for name, needed := range schema.dependents {
		if _, isGiven := object[name]; isGiven {
			v.holdDependents(object, needed)
		}
	}
	if schema.unevaluatedMembers != nil {
		v.holdUnevaluatedMembers(schema.unevaluatedMembers, object)
	}
}

// holdMembers holds each member to the schemas that have its name, sorted if faults are reported.
func (v *visit) holdMembers(schema *node, object map[string]any) {
	if v.isSilent {
		for name, member := range object {
			if !v.isDone() {
				v.holdMember(schema, name, member)
			}
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !v.isDone() {
			v.holdMember(schema, name, object[name])
		}
	}
}

func (v *visit) holdReadOnly(schema *node, object map[string]any) {
	for _, name := range slices.Sorted(slices.Values(schema.readOnly)) {
		if schema.members[name] != nil && object[name] != nil {
			v.fault("is only for responses: remove it", name)
		}
	}
}

// isForResponses reports whether a member is readOnly in a schema that the present value is held to.
func (v *visit) isForResponses(name string) bool {
	return v.isRequest && slices.ContainsFunc(v.above, func(schema *node) bool { return slices.Contains(schema.readOnly, name) })
}

// holdMember holds a member to the schemas that have its name.
func (v *visit) holdMember(schema *node, name string, member any) {
	here, isKnown := step{name, -1}, false
	if schema.names != nil && !v.isAllowedBelow(schema.names, step{name, nameIndex}, name) {
		v.fault("must have a name that matches the schema in propertyNames", shorten(name))
	}
	if wanted := schema.members[name]; wanted != nil {
		isKnown = true
		v.below(wanted, here, member)
	}
	for _, each := range schema.patternMembers {
		if v.matches(each.pattern, name) {
			isKnown = true
			v.below(each.schema, here, member)
		}
	}
	switch {
	case isKnown || schema.others == nil:
	case schema.others.always != nil && !*schema.others.always:
		v.fault(unknownName, shorten(name))
	default:
		v.below(schema.others, here, member)
	}
}

func (v *visit) holdDependents(object map[string]any, needed []string) {
	for _, name := range needed {
		if _, isGiven := object[name]; !isGiven {
			v.fault("is required", name)
		}
	}
}

func (v *visit) holdUnevaluatedMembers(rest *node, object map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		here := step{name, -1}
		switch {
		case v.evaluated[here]:
		case rest.always != nil && !*rest.always:
			v.fault(unknownName, shorten(name))
		default:
			v.below(rest, here, object[name])
		}
	}
}
