package contract

import "fmt"

// holdToParts holds the present value to the schemas that a schema is made of, until one of them does not allow it.
func (v *visit) holdToParts(schema *node, value any) {
	for _, part := range schema.parts {
		v.check(part, value)
	}
	v.holdToNot(schema, value)
	if len(schema.oneOf) > 0 && !v.isWrong {
		v.holdToOne(schema, value)
	}
	if len(schema.anyOf) > 0 && !v.isWrong {
		v.holdToAny(schema, value)
	}
	for _, condition := range schema.conditions {
		v.holdToCondition(condition, value)
	}
	object, _ := value.(map[string]any)
	for name, dependent := range schema.dependentSchemas {
		if _, isGiven := object[name]; isGiven {
			v.check(dependent, value)
		}
	}
}

// holdToNot holds the present value to not.
func (v *visit) holdToNot(schema *node, value any) {
	if schema.not != nil && v.isAllowedApart(schema.not, value) {
		v.fault("must not match the schema in not")
	}
}

// isAllowedApart reports whether a schema allows the present value. What it has evaluated does not count.
func (v *visit) isAllowedApart(schema *node, value any) bool {
	before := v.evaluated
	v.evaluated = nil
	isRight := v.isAllowed(schema, value)
	v.evaluated = before
	return isRight
}

// holdToOne holds the present value to oneOf.
func (v *visit) holdToOne(schema *node, value any) {
	alternatives, wrong := schema.discriminator.choose(schema.oneOf, value)
	if wrong != "" {
		v.fault(wrong, schema.discriminator.member)
		return
	}
	matched := 0
	for _, alternative := range alternatives {
		if v.isAllowed(alternative, value) {
			matched++
		}
	}
	if matched != 1 {
		v.fault(fmt.Sprintf("must match exactly one schema in oneOf, but matches %d", matched))
	}
}

// holdToAny holds the present value to anyOf.
func (v *visit) holdToAny(schema *node, value any) {
	var named *discriminator
	if len(schema.oneOf) == 0 {
		named = schema.discriminator
	}
	alternatives, wrong := named.choose(schema.anyOf, value)
	if wrong != "" {
		v.fault(wrong, named.member)
		return
	}
	isMatch := false
	for _, alternative := range alternatives {
		if isNeeded := !isMatch || v.evaluated != nil; isNeeded && v.isAllowed(alternative, value) {
			isMatch = true
		}
	}
	if !isMatch {
		v.fault("must match a schema in anyOf")
	}
}

// choose returns the alternatives to which a value is held: the one that the discriminator names, or all. Or it says what is
// wrong.
func (d *discriminator) choose(alternatives []*node, value any) (chosen []*node, wrong string) {
	object, isObject := value.(map[string]any)
	if d == nil || !isObject {
		return alternatives, ""
	}
	member, isGiven := object[d.member]
	if !isGiven {
		return nil, "is required"
	}
	name, isText := member.(string)
	if !isText {
		return nil, "must be a string"
	}
	index, isNamed := d.named[name]
	switch {
	case isNamed && index >= 0:
		return alternatives[index : index+1], ""
	case isNamed || d.isClosed:
		return nil, d.message
	}
	return alternatives, ""
}

// holdToCondition holds the present value to then or else.
func (v *visit) holdToCondition(condition condition, value any) {
	chosen := condition.otherwise
	if v.isAllowed(condition.when, value) {
		chosen = condition.then
	}
	if chosen != nil {
		v.check(chosen, value)
	}
}
