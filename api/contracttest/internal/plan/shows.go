package plan

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What a service shows may differ from what it was sent without being wrong: it may add members, leave out
// secrets, or set some members itself. Of an inferred resource even more may differ, because the document
// does not say that it shows what it takes: texts may be trimmed, fractions rounded, arrays sorted. What is left is
// a loss of data.

// managed are members that a service may set itself, where the schema of what it takes is that
// of what it returns.
var managed = regexp.MustCompile(`(?i)^(_?id|uuid|e?tag|version|revision|href|url|self|_?links|stat(e|us)|(created|updated|modified|deleted).*|.*_(at|on|by))$|[a-z](At|On|By)$`)

// shows returns an error unless a response has the members that a request had, as far as
// the document gives both the same name. A response that is no object is not the resource.
func (p *Planner) shows(x scenario.Interaction, sent map[string]any, operation *document.Operation) error {
	object := x.Object()
	if object == nil {
		return nil
	}
	of := p.resourceOf(operation)
	c := comparison{lenient: of != nil && of.inferred}
	for name, value := range jsonvalue.Object(jsonvalue.Normal(sent)) {
		have, isThere := object[name]
		members := shownMembers(operation, x.Status, name)
		isUnnamed := !isThere && len(members) == 0
		if isUnnamed || p.isManaged(of, operation, name) {
			continue
		}
		if !c.isSame(members, value, have, isThere) {
			return scenario.Brokenf("was sent %s = %v, but has %v", name, value, have)
		}
	}
	return nil
}

// isManaged reports whether a service may set a member itself. Only where both have one schema: otherwise
// the author would not have asked for the member.
func (p *Planner) isManaged(x *resource, operation *document.Operation, name string) bool {
	if x == nil || name == x.member || !managed.MatchString(name) {
		return false
	}
	taken := x.create.BodySchema()
	return taken != nil && operation.Result() == taken
}

// shownMembers returns the schemas of a member of a response that a request may have, too.
func shownMembers(operation *document.Operation, status int, name string) []*openapi3.Schema {
	response := operation.Response(status)
	if response == nil {
		return nil
	}
	_, described := document.JSONOf(response.Content)
	if described == nil {
		return nil
	}
	members := schema.Members(schema.Parts(described), name)
	return slices.DeleteFunc(members, func(member *openapi3.Schema) bool {
		return member.WriteOnly
	})
}

// comparison compares what was sent with what a response has. If it is lenient, a service may have made
// one value of another, see isAlike.
type comparison struct{ lenient bool }

// isSame compares members: one that is absent is like null.
func (c comparison) isSame(members []*openapi3.Schema, sent, have any, isThere bool) bool {
	switch {
	case c.lenient && isAlike(sent, have):
		return true
	case sent == nil:
		return have == nil
	}
	return isThere && c.equals(members, sent, have)
}

// equals reports whether a response has what was sent: members that are writeOnly
// or that no schema names may be missing, and others added.
func (c comparison) equals(schemas []*openapi3.Schema, sent, have any) bool {
	if c.lenient && isScalar(sent) && isAlike(sent, have) {
		return true
	}
	schemas = schema.Parts(schemas...)
	switch sent := sent.(type) {
	case map[string]any:
		object, isObject := have.(map[string]any)
		return isObject && c.hasMembers(schemas, sent, object)
	case []any:
		array, isArray := have.([]any)
		isAsLong := isArray && len(sent) == len(array)
		return isAsLong && c.hasItems(schema.Items(schemas), sent, array)
	}
	return reflect.DeepEqual(sent, have)
}

// isScalar reports whether a value is neither an array nor an object.
func isScalar(value any) bool {
	switch value.(type) {
	case []any, map[string]any:
		return false
	}
	return true
}

// hasItems compares arrays of the same length item by item.
func (c comparison) hasItems(items []*openapi3.Schema, sent, have []any) bool {
	for i := range sent {
		if !c.equals(items, sent[i], have[i]) {
			return false
		}
	}
	return true
}

// hasMembers compares the members that were sent. Others may be there: the service may add some.
func (c comparison) hasMembers(schemas []*openapi3.Schema, sent, have map[string]any) bool {
	for name, value := range sent {
		members := schema.Members(schemas, name)
		got, isThere := have[name]
		isRight := c.mayBeMissing(members, value)
		if isThere {
			isRight = c.equals(members, value, got)
		}
		if !isRight {
			return false
		}
	}
	return true
}

// mayBeMissing reports whether a member need not be shown: no schema of the response has it, it is secret, or
// there is nothing to show.
func (c comparison) mayBeMissing(members []*openapi3.Schema, sent any) bool {
	isShown := len(members) > 0 && !schema.IsWriteOnly(members)
	isNothing := c.lenient && isEmpty(sent)
	return !isShown || isNothing
}

// emptyValues are values that a service may store as nothing at all.
var emptyValues = []string{"null", `""`, "[]", "{}", "0", "false"}

// isEmpty reports whether a service may leave a value out, or have it where there is none.
func isEmpty(value any) bool {
	return slices.Contains(emptyValues, string(jsonvalue.Encode(value)))
}

// isAlike reports whether a service may have made one value of another: it may trim a text, lower it, or
// leave out what cannot be printed; round a fraction; sort an array, or empty a value instead of having
// none. None of it is a
// loss of data.
func isAlike(sent, have any) bool {
	if isEmpty(sent) && isEmpty(have) {
		return true
	}
	switch sent := sent.(type) {
	case string:
		text, isText := have.(string)
		return isText && isAlikeText(sent, text)
	case json.Number:
		number, _ := have.(json.Number) // else it is empty, and no number
		return sent == number || isAlikeFraction(sent, number)
	case []any:
		array, isArray := have.([]any)
		return isArray && !slices.ContainsFunc(sent, func(item any) bool {
			return !slices.ContainsFunc(array, func(other any) bool { return isAlike(item, other) })
		})
	}
	return reflect.DeepEqual(sent, have)
}

// isAlikeText reports whether a service may have made one text of another.
func isAlikeText(sent, have string) bool {
	if strings.EqualFold(strings.TrimSpace(sent), strings.TrimSpace(have)) {
		return true
	}
	isOdd := func(r rune) bool { return !unicode.IsPrint(r) || unicode.Is(unicode.M, r) }
	one, errOne := time.Parse(time.RFC3339, sent)
	other, errOther := time.Parse(time.RFC3339, have)
	areTimes := errOne == nil && errOther == nil
	return strings.ContainsFunc(sent, isOdd) || areTimes && one.Equal(other)
}

// isAlikeFraction reports whether a fraction may be another one that was rounded. Integers are not.
func isAlikeFraction(sent, have json.Number) bool {
	one, errOne := sent.Float64()
	other, errOther := have.Float64()
	areNumbers := errOne == nil && errOther == nil
	isFraction := strings.ContainsAny(string(sent+have), ".eE")
	return areNumbers && isFraction && math.Abs(one-other) <= max(0.01, 1e-6*math.Abs(one))
}
