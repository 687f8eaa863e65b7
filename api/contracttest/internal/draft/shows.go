package draft

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What a service shows may differ from what it was sent without being wrong: it may add members, leave out
// secrets, or set some members itself. Of an inferred resource, and of none, even more may differ, because the document
// does not say that it shows what it takes: texts may be trimmed, fractions rounded, arrays sorted. What is left is
// a loss of data.

// managed are members that a service may set itself, where the schema of what it takes is that
// of what it returns. Of names that end with at, on or by the case counts: createdOn is one, description is none.
var managed = regexp.MustCompile(`^(?i:_?id|uuid|e?tag|version|revision|href|url|self|_?links|stat(e|us)|(created|updated|modified|deleted).*|.*_(at|on|by))$|[a-z](At|On|By)$`)

// Shows returns an error unless a response has the members that a request had: see Lost.
func (s *Drafts) Shows(x scenario.Interaction, sent map[string]any, operation *document.Operation) error {
	for _, name := range s.Lost(x, sent, operation) {
		return scenario.Brokenf("%s", difference(name, sent, operation.GivenBy(x)))
	}
	return nil
}

// Lost returns the names of the members of a request that the response does not have as they were sent, as far as the document
// gives both the same name. A response that is no object is not the resource.
func (s *Drafts) Lost(x scenario.Interaction, sent map[string]any, operation *document.Operation) []string {
	object := operation.GivenBy(x)
	if object == nil {
		return nil
	}
	sent = jsonvalue.Object(jsonvalue.Normal(sent))
	of := s.Resources.Of(operation)
	c := comparison{lenient: of == nil || of.IsInferred}
	lost := c.lost(schema.Parts(schema.At(operation.ResultOf(x.Status), operation.Gives.Members)), sent, object)
	return slices.DeleteFunc(lost, func(name string) bool {
		isSentTwice := operation.Parameter("query", name) != nil // with two values: the service may take either
		return isSentTwice || s.isManaged(of, operation, name)
	})
}

// difference says how a member of a response differs from that of the request. It shows the beginning of both.
//
//	was sent name = "a", but has "b"
func difference(name string, sent, object map[string]any) string {
	return fmt.Sprintf("was sent %s = %.60s, but has %.60s", name, jsonvalue.Encode(sent[name]), jsonvalue.Encode(object[name]))
}

// isManaged reports whether a service may set a member itself: one with such a name, unless it identifies the thing. The create
// must take things of the schema that the response has: otherwise the author has asked the client for the member.
func (s *Drafts) isManaged(x *resources.Resource, operation *document.Operation, name string) bool {
	creates := operation
	if x != nil {
		creates = x.Create
	}
	isIdentity := x != nil && name == x.Member
	return !isIdentity && managed.MatchString(name) && schema.IsSame(creates.ThingSchema(), operation.ThingResult())
}

// comparison compares what was sent with what a response has. If it is lenient, a service may have made
// one value of another, see isAlike.
type comparison struct{ lenient bool }

// KeepsLeniently reports whether a value of a response has what was sent, as that of an inferred resource must.
func KeepsLeniently(sent, have any) bool { return comparison{lenient: true}.keeps(nil, sent, have) }

// lost returns the names of the members that were sent and that an object does not have. Others may be
// there: the service may add some. A member that is absent is like null.
//
//	sent {"name": "a", "size": 1}, have {"id": 7, "name": "a"}: size is lost, if the response has a place for it
func (c comparison) lost(schemas []*schema.Schema, sent, have map[string]any) (names []string) {
	for _, name := range jsonvalue.Names(sent) {
		members := schema.Members(schemas, name)
		mayBeMissing := len(members) == 0 || slices.ContainsFunc(members, schema.IsForbidden)
		isMissing := have[name] == nil && mayBeMissing
		if !isMissing && !c.keeps(members, sent[name], have[name]) {
			names = append(names, name)
		}
	}
	return names
}

// keeps reports whether a value of a response has what was sent.
func (c comparison) keeps(schemas []*schema.Schema, sent, have any) bool {
	if c.lenient && isAlike(sent, have) {
		return true
	}
	schemas = schema.Parts(schemas...)
	switch sent := sent.(type) {
	case map[string]any:
		object, isObject := have.(map[string]any)
		return isObject && len(c.lost(schemas, sent, object)) == 0
	case []any:
		array, isArray := have.([]any)
		return isArray && c.keepsItems(schema.Items(schemas), sent, array)
	}
	return reflect.DeepEqual(sent, have)
}

// keepsItems compares arrays item by item. If it is lenient, the service may have sorted the items, or added
// some: [1, 2, 3] keeps [3, 1].
func (c comparison) keepsItems(items []*schema.Schema, sent, have []any) bool {
	if !c.lenient {
		return slices.EqualFunc(sent, have, func(item, other any) bool { return c.keeps(items, item, other) })
	}
	for _, item := range sent {
		isItem := func(other any) bool { return c.keeps(items, item, other) }
		if !slices.ContainsFunc(have, isItem) {
			return false
		}
	}
	return true
}

// emptyValues are values that a service may store as nothing at all.
var emptyValues = []string{"null", `""`, "[]", "{}", "0", "false"}

// isEmpty reports whether a service may leave a value out, or have it where there is none.
func isEmpty(value any) bool {
	return slices.Contains(emptyValues, string(jsonvalue.Encode(value)))
}

// isAlike reports whether a service may have made one value of another without a loss of data: it may trim a text, lower it,
// write a time in another zone, or leave out what cannot be printed; round a fraction; or have an empty value and none alike.
//
//	" Ficus" and "ficus"   "10:00:00Z" and "12:00:00+02:00" of one day   1.006 and 1.01   "" and null
func isAlike(sent, have any) bool {
	if isEmpty(sent) && isEmpty(have) {
		return true
	}
	switch sent := sent.(type) {
	case string:
		text, isText := have.(string)
		return isText && isAlikeText(sent, text)
	case json.Number:
		number, _ := have.(json.Number)
		return isAlikeFraction(sent, number)
	}
	return false
}

// isAlikeText reports whether a service may have made one text of another. What it makes of a text with characters that cannot
// be printed is not judged.
func isAlikeText(sent, have string) bool {
	isUnprintable := func(r rune) bool { return !unicode.IsPrint(r) || unicode.Is(unicode.M, r) }
	isFolded := strings.EqualFold(strings.TrimSpace(sent), strings.TrimSpace(have))
	return isFolded || strings.ContainsFunc(sent, isUnprintable) || isSameTime(sent, have)
}

// isSameTime reports whether two texts are the same time, maybe in other zones.
func isSameTime(one, other string) bool {
	timeOne, errOne := time.Parse(time.RFC3339, one)
	timeOther, errOther := time.Parse(time.RFC3339, other)
	return errors.Join(errOne, errOther) == nil && timeOne.Equal(timeOther)
}

// isAlikeFraction reports whether a fraction may be another one that was rounded. Two integers are never alike.
func isAlikeFraction(sent, have json.Number) bool {
	one, errOne := sent.Float64()
	other, errOther := have.Float64()
	isFraction := strings.ContainsAny(string(sent+have), ".eE")
	isNear := math.Abs(one-other) <= max(0.01, 1e-6*math.Abs(one))
	return isFraction && isNear && errors.Join(errOne, errOther) == nil
}
