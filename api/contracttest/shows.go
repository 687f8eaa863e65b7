package contracttest

import (
	"reflect"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// shows fails unless a response has the members that a request had, as far as
// the document gives both the same name.
func (v *Session) shows(x Interaction, sent map[string]any, r *route) {
	got, err := decode(x.Body)
	object, ok := got.(map[string]any)
	if err != nil || !ok {
		return // the response is not the resource
	}
	for name, value := range normal(sent).(map[string]any) {
		have, there := object[name]
		properties := v.members(r, x.Status, name)
		switch {
		case !there && len(properties) == 0:
		case value == nil && (!there || have == nil):
		case value != nil && there && same(properties, value, have):
		default:
			v.Failf("was sent %s = %v, but has %v", name, value, have)
		}
	}
}

// members returns the schemas of a member of a response that a request may have,
// too.
func (v *Session) members(r *route, status int, name string) []*openapi3.Schema {
	response := r.response(status)
	if response == nil {
		return nil
	}
	_, schema := jsonOf(response.Content)
	if schema == nil {
		return nil
	}
	properties := propertiesOf(composed([]*openapi3.Schema{schema}), name)
	return slices.DeleteFunc(properties, func(p *openapi3.Schema) bool { return p.WriteOnly })
}

// same reports whether a response has what was sent: members that are writeOnly
// or that no schema names may be missing, and others added.
func same(schemas []*openapi3.Schema, sent, have any) bool {
	schemas = composed(schemas)
	switch sent := sent.(type) {
	case map[string]any:
		object, ok := have.(map[string]any)
		for name, value := range sent {
			properties := propertiesOf(schemas, name)
			got, there := object[name]
			if !there && (len(properties) == 0 || slices.ContainsFunc(properties, func(p *openapi3.Schema) bool { return p.WriteOnly })) {
				continue
			}
			if !there || !same(properties, value, got) {
				return false
			}
		}
		return ok
	case []any:
		array, ok := have.([]any)
		var items []*openapi3.Schema
		for _, s := range schemas {
			if s.Items != nil {
				items = append(items, s.Items.Value)
			}
		}
		for i := range min(len(sent), len(array)) {
			ok = ok && same(items, sent[i], array[i])
		}
		return ok && len(sent) == len(array)
	}
	return reflect.DeepEqual(sent, have)
}
