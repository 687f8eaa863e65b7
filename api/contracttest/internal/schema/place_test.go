package schema

import (
	_ "embed"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/internal/testing/must"
)

//go:embed testdata/places.yaml
var placesDocument string

// The place of a value is in the innermost component, also through parts and items, and schemas may contain
// themselves.
func TestPlaceOf(t *testing.T) {
	t.Parallel()
	loaded, err := openapi3.NewLoader().LoadFromData([]byte(placesDocument))
	must.NoError(t, err)
	page := openapi3.NewSchemaRef("#/components/schemas/Page", loaded.Components.Schemas["Page"].Value)
	circle := openapi3.NewSchemaRef("#/components/schemas/Circle", loaded.Components.Schemas["Circle"].Value)
	cat := openapi3.NewSchemaRef("#/components/schemas/Cat", loaded.Components.Schemas["Cat"].Value)
	unread := &openapi3.SchemaRef{Ref: "other.yaml#/Ape"}
	unnamed := openapi3.NewSchemaRef("", page.Value)
	for _, c := range []struct {
		root          *openapi3.SchemaRef
		pointer, want string
	}{
		{page, "", "Page "},
		{page, "/next", "Page /next"},
		{page, "/items", "Page /items"},
		{page, "/items/17", "Dog "},
		{page, "/items/17/name", "Animal /name"},
		{page, "/items/17/bark~1y", "Dog /bark~1y"},
		{page, "/items/17/bark~1y/any", "Dog /bark~1y/*"},
		{page, "/items/17/parent/parent/name", "Animal /name"},
		{page, "/items/17/self/name", "Animal /name"},
		{page, "/unknown/3", "Page /unknown/3"},
		{unnamed, "/next", " /next"},
		{unnamed, "/items/3/name", "Animal /name"},
		{circle, "/name", "Circle /name"},
		{unread, "/name", "Ape /name"},
		{nil, "/name", " /name"},
	} {
		if place := PlaceOf(c.root, c.pointer); place.Component+" "+place.Pointer != c.want {
			t.Errorf("%s is in %+v, want %q", c.pointer, place, c.want)
		}
	}
	for _, name := range []string{"any", "one", "whole"} {
		if got := At(cat, "/"+name); !got.Type.Is("string") {
			t.Errorf("%s is of type %v", name, got.Type)
		}
	}
}
