package document

import (
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A thing is found in a body, and other members are put in its place, unless they are no object, or wrapped already.
func TestWrapping(t *testing.T) {
	t.Parallel()
	plain, inData := Wrapping{}, Wrapping{Members: "/data"}
	inAttributes := Wrapping{Members: "/data/attributes", Identity: "/data/id"}
	for _, c := range []struct {
		wrapping             Wrapping
		body, members        string
		thing, wrapped, name string
	}{
		{plain, `{"id":7}`, `{"a":1}`, `{"id":7}`, `{"a":1}`, "id"},
		{inData, `{"data":{"id":7},"b":2}`, `{"a":1}`, `{"id":7}`, `{"b":2,"data":{"a":1}}`, "/data/id"},
		{inData, `{"data":{"id":7}}`, `{"data":{"a":1}}`, `{"id":7}`, `{"data":{"a":1}}`, "/data/id"},
		{inData, `[7]`, `7`, `null`, `7`, "/data/id"},
		{inAttributes, `{"data":{"id":7,"attributes":{"a":1}}}`, `{"a":2}`, `{"a":1,"id":7}`, `{"data":{"attributes":{"a":2},"id":7}}`, "/data/id"},
		{inAttributes, `{"data":{"id":7}}`, `{"a":2}`, `null`, `{"data":{"attributes":{"a":2},"id":7}}`, "/data/id"},
	} {
		body, err := jsonvalue.Decode([]byte(c.body))
		must.NoError(t, err)
		members, err := jsonvalue.Decode([]byte(c.members))
		must.NoError(t, err)
		thing, wrapped := string(jsonvalue.Encode(c.wrapping.Thing(body))), string(jsonvalue.Encode(c.wrapping.Wrapped(body, members)))
		if name := c.wrapping.NameOf("id"); thing != c.thing || wrapped != c.wrapped || name != c.name {
			t.Errorf("in %s as %+v is %s with %s, and with %s it is %s", c.body, c.wrapping, thing, name, c.members, wrapped)
		}
	}
}
