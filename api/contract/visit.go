package contract

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
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
	isTracking      bool      // some schema asks which members and items others have evaluated
	memory          *place    // what was found for the present value; nil: no schema can be met twice
	evaluated       evaluated // members and items of the present value that a schema has; nil: no schema asks

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
func (v *visit) newEvaluated() evaluated {
	if v.isTracking {
		return evaluated{}
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

// isAllowedBelow reports whether a schema allows a member or an item of the present value.
func (v *visit) isAllowedBelow(schema *node, step step, value any) bool {
	memory, before := v.memory, v.evaluated
	v.memory, v.evaluated = memory.below(step, value), nil
	isRight := v.isAllowed(schema, value)
	v.memory, v.evaluated = memory, before
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
			v.fault("is not allowed: remove it")
		}
		return
	case schema.isNull && value == nil: // what the schema asks else is for other values
		v.holdToNot(schema, value)
		return
	case isInfinite(value):
		v.fault("must be a number that fits 64 bits, so at most 1.7e308")
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
	if value == nil && schema.isLegacy {
		isDecided := schema.types == 0 && len(schema.parts)+len(schema.anyOf)+len(schema.oneOf) > 0 // by these
		if !isDecided {
			v.fault("must not be null")
		}
		return
	}
	if schema.isEnum && !slices.ContainsFunc(schema.enum, func(each any) bool { return isSame(each, value) }) {
		v.fault(schema.enumMessage)
		return
	}
	if wrong := schema.types.refuse(value); wrong != "" {
		v.fault(wrong)
		return
	}
	switch value := value.(type) {
	case string:
		v.holdText(schema, value)
	case fileSize:
		v.holdFile(schema, value)
	case int64, float64:
		v.holdNumber(schema, value)
	case []any:
		v.holdArray(schema, value)
	case map[string]any:
		v.holdObject(schema, value)
	}
}
