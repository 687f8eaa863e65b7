package contracttest

import (
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/scenario"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// A difference is a failure of its own kind, for requests and for responses.
func TestOraclesDiffer(t *testing.T) {
	t.Parallel()
	// kin-openapi computes with float64, and its patterns are Go's.
	text := strings.Replace(smallDocument, "properties: {id: {type: integer}}", `properties: {id: {type: integer}, any: {type: string, pattern: '^a.b$'}}`, 1)
	c, err := New([]byte(text), Options{})
	must.NoError(t, err)
	if faults := c.judge.Faults(thing(200, `{"id":3,"any":"axb"}`)); len(faults) > 0 {
		t.Errorf("both allow it, but the faults are %v", faults)
	}
	x := thing(200, `{"id":3,"any":"a\rb"}`)
	faults := c.judge.Faults(x)
	if len(faults) != 1 || faults[0].Keyword != judge.TwoOracles {
		t.Fatalf("the faults are %v", faults)
	}
	if f := c.judge.Failures(x, "a test", nil)[0]; f.Cause != "two oracles differ on a response of getThing with 200" || f.Rank != scenario.Oracles {
		t.Errorf("the cause is %q", f.Cause)
	}
	left := strings.NewReplacer("openapi: 3.0.3", "openapi: 3.1.0", "properties: {id: {type: integer}}", "properties: {id: {type: integer}, pair: {type: array, prefixItems: [{type: string}]}}")
	c, err = New([]byte(left.Replace(smallDocument)), Options{})
	must.NoError(t, err)
	if faults := c.judge.Faults(thing(200, `{"id":3,"pair":[1]}`)); len(faults) > 0 {
		t.Errorf("the translation leaves prefixItems out, but the second oracle reads it: %v", faults)
	}
	text = strings.Replace(text, "      responses:", `      requestBody: {content: {application/json: {schema: {type: object, properties: {a: {type: string, pattern: '^[^\s]{3}$', example: "a\u00a0b"}}}}}}`+"\n      responses:", 1)
	c, err = New([]byte(text), Options{})
	must.NoError(t, err)
	recorded := &recording{}
	for _, test := range testsOf(c) {
		if test.Name != `getThing, body /a pattern, accepted: {"a":"a b"}` && !strings.Contains(test.Name, "/a pattern, accepted") {
			continue
		}
		failures, _ := attempt(test, Target{URL: "http://things.example", Transport: recorded})
		if len(failures) != 1 || failures[0].Cause != "two oracles differ on getThing, body /a pattern, accepted" || len(recorded.methods) > 0 {
			t.Errorf("%s: the failures are %v after the requests %v", test.Name, failures, recorded.methods)
		}
		return
	}
	t.Error("no test sends a pattern")
}
