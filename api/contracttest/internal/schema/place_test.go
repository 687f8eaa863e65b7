package schema_test

import (
	_ "embed"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/internal/testing/must"
)

//go:embed testdata/places.yaml
var placesDocument string

// The place of a value is in the innermost component, also through parts and items, and schemas may contain
// themselves.
func TestPlaceOf(t *testing.T) {
	t.Parallel()
	read, err := document.Parse([]byte(placesDocument))
	must.NoError(t, err)
	component := func(name string) *schema.Schema { return read.Component(name, schema.Received) }
	page := component("Page")
	unnamed := component("Unnamed").Properties["page"]
	for _, c := range []struct {
		root          *schema.Schema
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
		{component("Circle"), "/name", "Circle /name"},
		{nil, "/name", " /name"},
	} {
		if place := schema.PlaceOf(c.root, c.pointer); place.Component+" "+place.Pointer != c.want {
			t.Errorf("%s is in %+v, want %q", c.pointer, place, c.want)
		}
	}
	for _, name := range []string{"any", "one", "whole"} {
		if got := schema.At(component("Cat"), "/"+name); schema.TypeOf(got) != "string" {
			t.Errorf("%s is of type %v", name, got.Types)
		}
	}
}
