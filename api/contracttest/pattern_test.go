package contracttest

import (
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// A pattern is one of ECMA-262, as OpenAPI says, and not one of Go: a dot stands for no end of a line.
func TestPattern(t *testing.T) {
	t.Parallel()
	text := strings.Replace(smallDocument, "properties: {id: {type: integer}}", `properties: {id: {type: integer}, any: {type: string, pattern: '^a.b$'}}`, 1)
	c, err := New([]byte(text), Options{})
	must.NoError(t, err)
	if faults := c.judge.Faults(thing(200, `{"id":3,"any":"axb"}`)); len(faults) > 0 {
		t.Errorf("the pattern allows it, but the faults are %v", faults)
	}
	faults := c.judge.Faults(thing(200, `{"id":3,"any":"a\rb"}`))
	if len(faults) != 1 || faults[0].Keyword != "pattern" {
		t.Errorf("the faults are %v", faults)
	}
}

// What the reader leaves out of a document is not judged.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	left := strings.NewReplacer("openapi: 3.0.3", "openapi: 3.1.0", "properties: {id: {type: integer}}", "properties: {id: {type: integer}, pair: {type: array, prefixItems: [{type: string}]}}")
	c, err := New([]byte(left.Replace(smallDocument)), Options{})
	must.NoError(t, err)
	if faults := c.judge.Faults(thing(200, `{"id":3,"pair":[1]}`)); len(faults) > 0 {
		t.Errorf("the faults are %v", faults)
	}
}
