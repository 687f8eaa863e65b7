package contract

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// visit is one check of a value. It goes through the value and the schemas that it is held to.
type visit struct {
	path       []step  // to the present value
	above      []*node // those that the present value is held to
	faults     []Fault
	mostFaults int
	isSilent   bool // whether the value is wrong is all that is asked
	isWrong    bool
	in, prefix string // of a fault

	isRequest       bool // some members are readOnly
	acceptsReadOnly bool
	isTracking      bool       // some schema asks which members and items others have evaluated
	memory          *place     // what was found for the present value; nil: no schema can be met twice
	evaluated       *evaluated // members and items of the present value that a schema has; nil: no schema asks

	matching     time.Duration // of slow patterns
	isTooComplex bool
}

// step leads to an item, or to a member, whose index is -1.
type step struct {
	member string
	index  int
}

// isDone reports whether nothing that follows can matter.
func (v *visit) isDone() bool {
	if v.isSilent {
		return v.isWrong || v.isTooComplex
	}
	return v.isTooComplex || len(v.faults) >= v.mostFaults
}

// fault notes what is wrong with the present value, or with a member of it.
func (v *visit) fault(message string, member ...string) {
	v.isWrong = true
	if v.isSilent || len(v.faults) >= v.mostFaults {
		return
	}
	var pointer strings.Builder
	pointer.WriteString(v.prefix)
	for _, step := range v.path {
		name := step.member
		if step.index >= 0 {
			name = strconv.Itoa(step.index)
		}
		pointer.WriteString(pointerTo(shorten(name)))
	}
	pointer.WriteString(pointerTo(member...))
	v.faults = append(v.faults, Fault{In: v.in, Pointer: pointer.String(), Message: message})
}

// check holds the present value to a schema. What was found before is remembered: otherwise two schemas that meet one
// value, and lead on to the next one, would double the time of each level.
func (v *visit) check(schema *node, value any) {
	wasWrong := v.isWrong
	v.isWrong = false
	if v.memory == nil {
		v.hold(schema, value)
	} else {
		v.recall(schema, value)
	}
	v.isWrong = wasWrong || v.isWrong
}

// recall holds the present value to a schema unless it is known what comes of it.
func (v *visit) recall(schema *node, value any) {
	found := v.memory.of(schema)
	isKnown := found != nil && (!found.isWrong || found.isReported || v.isSilent)
	if !isKnown {
		if found == nil {
			found = &verdict{schema: schema}
			v.memory.verdicts = append(v.memory.verdicts, found)
		}
		found.isWrong = false // a schema that leads to itself for the same value asks for nothing more
		before := v.evaluated
		v.evaluated = v.newEvaluated()
		v.hold(schema, value)
		found.isWrong, found.isReported, found.evaluated = v.isWrong, !v.isSilent, v.evaluated
		v.evaluated = before
	}
	v.isWrong = found.isWrong
	if !found.isWrong {
		v.evaluated.merge(found.evaluated)
	}
}

// newEvaluated returns a set if a schema asks what others have evaluated.
func (v *visit) newEvaluated() *evaluated {
	if v.isTracking {
		return &evaluated{}
	}
	return nil
}

// isAllowed reports whether a schema allows the present value.
func (v *visit) isAllowed(schema *node, value any) bool {
	wasSilent, wasWrong := v.isSilent, v.isWrong
	v.isSilent, v.isWrong = true, false
	v.check(schema, value)
	isRight := !v.isWrong
	v.isSilent, v.isWrong = wasSilent, wasWrong
	return isRight
}

// below holds a member or an item of the present value to a schema.
func (v *visit) below(schema *node, step step, value any) {
	above, memory, before := v.above, v.memory, v.evaluated
	v.path = append(v.path, step)
	v.above, v.memory, v.evaluated = nil, memory.below(step, value), nil
	v.check(schema, value)
	v.path = v.path[:len(v.path)-1]
	v.above, v.memory, v.evaluated = above, memory, before
	v.evaluated.add(step)
}

// hold holds the present value to a schema: first to the schemas that this one is made of, and then to its own keywords.
func (v *visit) hold(schema *node, value any) {
	switch {
	case schema.always != nil:
		if !*schema.always {
			v.fault("must not be there")
		}
		return
	case schema.isNull && value == nil:
		return
	case isInfinite(value):
		v.fault("does not match the schema")
		return
	}
	if v.isRequest {
		v.above = append(v.above, schema)
		defer func() { v.above = v.above[:len(v.above)-1] }()
	}
	if v.holdToParts(schema, value); !v.isWrong {
		v.holdToKeywords(schema, value)
	}
}

func isInfinite(value any) bool {
	number, isFloat := value.(float64)
	return isFloat && math.IsInf(number, 0)
}

// holdToKeywords holds the present value to what a schema itself asks of it.
func (v *visit) holdToKeywords(schema *node, value any) {
	isChecked := len(schema.allOf)+len(schema.anyOf)+len(schema.oneOf) > 0
	if value == nil && schema.isLegacy {
		if !isChecked {
			v.fault("must not be null")
		}
		return
	}
	if schema.isEnum && !slices.ContainsFunc(schema.enum, func(each any) bool { return isSame(each, value) }) {
		v.fault("value is not one of the allowed values " + schema.enumText)
		return
	}
	if wrong := schema.types.refuse(value, schema.format); wrong != "" {
		v.fault(wrong)
		return
	}
	switch value := value.(type) {
	case string:
		v.holdText(schema, value)
	case int64, float64:
		v.holdNumber(schema, value)
	case []any:
		v.holdArray(schema, value)
	case map[string]any:
		v.holdObject(schema, value)
	}
}

// typeOfValue returns the types that a value has. A number is an integer if it is written as one of 64 bits.
func typeOfValue(value any) types {
	switch value.(type) {
	case map[string]any:
		return typeObject
	case []any:
		return typeArray
	case string:
		return typeString
	case bool:
		return typeBoolean
	case int64:
		return typeNumber | typeInteger
	case float64:
		return typeNumber
	}
	return typeNull
}

// refuse says which type a value must have, or nothing if it has one of the types.
func (t types) refuse(value any, format *format) string {
	isFloat := typeOfValue(value) == typeNumber
	switch {
	case t == 0 || t.has(typeOfValue(value)):
		return ""
	case value == nil:
		return "must not be null"
	case isFloat && t.has(typeInteger):
		return "must be an integer of " + bitsOf(format) + " bits, without fraction or exponent"
	}
	kind := t.String()
	if article := withArticle[kind]; article != "" {
		return "must be " + article
	}
	return "must be a " + kind
}

var withArticle = map[string]string{"array": "an array", "integer": "an integer", "object": "an object"}

// bitsOf returns the size of an integer.
func bitsOf(format *format) string {
	if format == nil {
		return "64"
	}
	return strings.TrimLeft(format.name, "uint")
}

func (v *visit) holdText(schema *node, text string) {
	if isBounded := schema.minLength > 0 || schema.maxLength < unlimited; isBounded {
		length := utf8.RuneCountInString(text)
		if length < schema.minLength {
			v.fault(fmt.Sprintf("minimum string length is %d", schema.minLength))
		}
		if length > schema.maxLength {
			v.fault(fmt.Sprintf("must have at most %d characters", schema.maxLength))
		}
	}
	if schema.pattern != nil && !v.matches(schema.pattern, text) {
		v.fault(schema.wrongPattern())
	}
	if schema.format != nil && schema.format.checkText != nil && schema.format.checkText(text) != nil {
		v.fault("does not match the format " + schema.format.name)
	}
}

// wrongPattern says that a text does not match the pattern, in the words of the document if it has some.
func (n *node) wrongPattern() string {
	if n.patternMessage != "" {
		return n.patternMessage
	}
	return "does not match the pattern"
}

func (v *visit) holdNumber(schema *node, number any) {
	if schema.format != nil && schema.format.checkNumber != nil && !schema.format.checkNumber(number) {
		v.fault("does not match the format " + schema.format.name)
	}
	for _, bound := range [...]numberBound{schema.minimum, schema.above} {
		if bound.value != nil {
			v.holdToBound(compareNumbers(number, bound.value), bound, "at least", "more than")
		}
	}
	for _, bound := range [...]numberBound{schema.maximum, schema.under} {
		if bound.value != nil {
			v.holdToBound(compareNumbers(bound.value, number), bound, "at most", "less than")
		}
	}
	if schema.multipleOf != nil && !isMultiple(number, schema.multipleOf) {
		v.fault("number must be a multiple of " + formatNumber(schema.multipleOf))
	}
}

// holdToBound notes a fault if a number is on the wrong side of a bound, or on an exclusive one.
func (v *visit) holdToBound(side int, bound numberBound, inclusive, exclusive string) {
	if bound.isExclusive && side <= 0 {
		v.fault("number must be " + exclusive + " " + formatNumber(bound.value))
	} else if side < 0 {
		v.fault("number must be " + inclusive + " " + formatNumber(bound.value))
	}
}

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

func (v *visit) holdObject(schema *node, object map[string]any) {
	if len(object) < schema.minMembers {
		v.fault(fmt.Sprintf("there must be at least %d properties", schema.minMembers))
	}
	if len(object) > schema.maxMembers {
		v.fault(fmt.Sprintf("there must be at most %d properties", schema.maxMembers))
	}
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
			v.fault(fmt.Sprintf("readOnly property %q in request", name), name)
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
	if schema.names != nil && !v.isNameAllowed(schema.names, name) {
		v.fault("has a name that does not match propertyNames", shorten(name))
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
		v.fault(fmt.Sprintf("property %q is unsupported", shorten(name)))
	default:
		v.below(schema.others, here, member)
	}
}

func (v *visit) isNameAllowed(names *node, name string) bool {
	memory, before := v.memory, v.evaluated
	v.memory, v.evaluated = memory.below(step{name, nameIndex}, name), nil
	isRight := v.isAllowed(names, name)
	v.memory, v.evaluated = memory, before
	return isRight
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
		case v.evaluated.has(here):
		case rest.always != nil && !*rest.always:
			v.fault(fmt.Sprintf("property %q is unsupported", shorten(name)))
		default:
			v.below(rest, here, object[name])
		}
	}
}
