package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	sch "github.com/plantstore/plantstore/api/contracttest/internal/schema"

	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"
)

// shows fails unless a response has the members that a request had, as far as
// the document gives both the same name.
func (v *Session) shows(x Interaction, sent map[string]any, r *document.Operation) {
	object := x.Object()
	if object == nil {
		return // the response is not the resource
	}
	of := v.suite.resourceOf(r)
	lenient := of != nil && of.inferred
	for name, value := range jsonvalue.Normal(sent).(map[string]any) {
		have, there := object[name]
		properties := v.members(r, x.Status, name)
		switch {
		case lenient && alike(value, have):
		case of != nil && name != of.member && managed.MatchString(name) && v.shared(r, of):
		case !there && len(properties) == 0:
		case value == nil && (!there || have == nil):
		case value != nil && there && same(properties, value, have, lenient):
		default:
			v.Failf("was sent %s = %v, but has %v", name, value, have)
		}
	}
}

// members returns the schemas of a member of a response that a request may have,
// too.
func (v *Session) members(r *document.Operation, status int, name string) []*openapi3.Schema {
	response := r.Response(status)
	if response == nil {
		return nil
	}
	_, schema := document.JSONOf(response.Content)
	if schema == nil {
		return nil
	}
	properties := sch.Members(sch.Parts(schema), name)
	return slices.DeleteFunc(properties, func(p *openapi3.Schema) bool { return p.WriteOnly })
}

// same reports whether a response has what was sent: members that are writeOnly
// or that no schema names may be missing, and others added.
func same(schemas []*openapi3.Schema, sent, have any, lenient bool) bool {
	schemas = sch.Parts(schemas...)
	switch sent := sent.(type) {
	case map[string]any:
		object, ok := have.(map[string]any)
		for name, value := range sent {
			properties := sch.Members(schemas, name)
			got, there := object[name]
			if !there && (len(properties) == 0 || slices.ContainsFunc(properties, func(p *openapi3.Schema) bool { return p.WriteOnly })) {
				continue
			}
			if !there && !(lenient && isEmpty(value)) || there && !same(properties, value, got, lenient) {
				return false
			}
		}
		return ok
	case []any:
		array, ok := have.([]any)
		items := sch.Items(schemas)
		for i := range min(len(sent), len(array)) {
			ok = ok && same(items, sent[i], array[i], lenient)
		}
		return ok && len(sent) == len(array)
	}
	return reflect.DeepEqual(sent, have) || lenient && alike(sent, have)
}

// isEmpty reports whether a service may leave a value out, or have it where there is none.
func isEmpty(value any) bool {
	return slices.Contains([]string{"null", `""`, "[]", "{}", "0", "false"}, string(jsonvalue.Encode(value)))
}

// managed are members that a service may set itself, where the schema of what it takes is that
// of what it returns.
var managed = regexp.MustCompile(`(?i)^(_?id|uuid|e?tag|version|revision|href|url|self|_?links|stat(e|us)|(created|updated|modified|deleted).*|.*_(at|on|by))$|[a-z](At|On|By)$`)

// shared reports whether an operation returns what the create takes.
func (v *Session) shared(r *document.Operation, x *resource) bool {
	_, sent := x.create.Body()
	return sent != nil && v.suite.result(r) == sent
}

// alike reports whether a service may have made one value of another: it may trim a text, lower it,
// or leave out what cannot be printed; round a fraction; sort an array, or empty a value instead of having none.
func alike(sent, have any) bool {
	if isEmpty(sent) && isEmpty(have) {
		return true
	}
	switch sent := sent.(type) {
	case string:
		text, ok := have.(string)
		a, errA := time.Parse(time.RFC3339, sent)
		b, errB := time.Parse(time.RFC3339, text)
		odd := func(r rune) bool { return !unicode.IsPrint(r) || unicode.Is(unicode.M, r) }
		return ok && (strings.EqualFold(strings.TrimSpace(sent), strings.TrimSpace(text)) || errA == nil && errB == nil && a.Equal(b) || strings.ContainsFunc(sent, odd))
	case json.Number:
		number, _ := have.(json.Number)
		a, errA := sent.Float64()
		b, errB := number.Float64()
		whole := !strings.ContainsAny(string(sent+number), ".eE")
		return errA == nil && errB == nil && (sent == number || !whole && math.Abs(a-b) <= max(0.01, 1e-6*math.Abs(a)))
	case []any:
		array, ok := have.([]any)
		return ok && !slices.ContainsFunc(sent, func(item any) bool {
			return !slices.ContainsFunc(array, func(other any) bool { return alike(item, other) })
		})
	}
	return reflect.DeepEqual(sent, have)
}
