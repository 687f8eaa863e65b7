package contract

import (
	"cmp"
	"maps"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// resources are the places of the schemas with an $id, and that of the document, each with the schemas that have a $dynamicAnchor
// in it.
type resources map[string]map[string]*jsonschema.Schema

// of returns the place of the resource that a schema is in.
func (r resources) of(schema *jsonschema.Schema) string {
	address, place, _ := strings.Cut(schema.Location, "#")
	if address != documentURL {
		return address
	}
	for place != "" && r[place] == nil {
		place = place[:strings.LastIndexByte(place, '/')]
	}
	return place
}

// findAnchors finds the schemas with a $dynamicAnchor below a place of the document. The outermost schema around each is compiled
// first: the compiler finds the resources in it then.
func (m *nodes) findAnchors(outermost, place string, value any) {
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			m.findAnchors(outermost, place+"/"+strconv.Itoa(i), item)
		}
	case map[string]any:
		if _, hasAddress := value["$id"].(string); hasAddress {
			m.resources[place] = map[string]*jsonschema.Schema{}
		}
		if _, isAnchor := value["$dynamicAnchor"].(string); isAnchor {
			m.addAnchor(cmp.Or(outermost, place), place)
		}
		for name, member := range value {
			below := place + pointerTo(name)
			isOutermost := name == "schema" || place == "/components/schemas"
			if outermost == "" && isOutermost {
				m.findAnchors(below, below, member)
			} else {
				m.findAnchors(outermost, below, member)
			}
		}
	}
}

func (m *nodes) addAnchor(outermost, place string) {
	if _, err := m.compile(outermost); err != nil { // which is named when the schema is used
		return
	}
	if found, err := m.compile(place); err == nil {
		m.resources[m.resources.of(found)][found.DynamicAnchor] = found
	}
}

// scope is what the dynamic anchors mean on a way through schemas: the first resource on the way that has an anchor counts.
type scope struct {
	bound   map[string]*jsonschema.Schema
	entered map[string]*scope // by resource, so that each way to the same has the same scope
}

// enter returns the scope in a schema.
func (s *scope) enter(schema *jsonschema.Schema, known resources) *scope {
	resource := known.of(schema)
	if found := s.entered[resource]; found != nil {
		return found
	}
	bound := maps.Clone(known[resource])
	if bound == nil {
		bound = map[string]*jsonschema.Schema{}
	}
	maps.Copy(bound, s.bound)
	inner := s
	if len(bound) > len(s.bound) {
		inner = &scope{bound: bound}
	}
	if s.entered == nil {
		s.entered = map[string]*scope{}
	}
	s.entered[resource] = inner
	return inner
}

// target returns the schema that a $dynamicRef means.
func (s *scope) target(reference *jsonschema.DynamicRef) *jsonschema.Schema {
	isDynamic := reference.Anchor != "" && reference.Ref.DynamicAnchor == reference.Anchor
	if bound := s.bound[reference.Anchor]; isDynamic && bound != nil {
		return bound
	}
	return reference.Ref
}
