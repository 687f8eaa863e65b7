package contracttest

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// ranTests is what Main runs in place of tests.
type ranTests struct{ code int }

func (r ranTests) Run() int { return r.code }

const smallDocument = `
openapi: 3.0.3
info: {title: Small, version: "1"}
paths:
  /things/{id}:
    get:
      operationId: getThing
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer}, example: 3}
      responses:
        "200":
          description: A thing.
          content: {application/json: {schema: {type: object, required: [id], properties: {id: {type: integer}}}}}
        "400": {description: Not an id.}
        "404": {description: None.}
`

func small(o Options) *Contract {
	o.Seed = 1
	c, err := New([]byte(smallDocument), o)
	if err != nil {
		panic(err)
	}
	return c
}

// mainOfTest is the TestMain of a package in which no test observes a promise.
func mainOfTest() {
	flag.Parse() // as testing.M does
	small(Options{}).Main(ranTests{})
}

func TestMainFails(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	must.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "CONTRACT_MAIN=1", "CONTRACT_REPORT=")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "not tested: getThing, 200: no test has observed it") {
		t.Errorf("Main with no test ends with %v: %s", err, out)
	}
}

func TestFinish(t *testing.T) {
	t.Parallel()
	c := small(Options{})
	var out bytes.Buffer
	for _, want := range []struct {
		name        string
		code, exits int
		whole       bool
	}{{"tests fail", 1, 1, true}, {"a promise is missing", 0, 1, true}, {"a part of the tests", 0, 0, false}} {
		if got := c.finish(want.code, want.whole, &out); got != want.exits {
			t.Errorf("%s: exits with %d, want %d", want.name, got, want.exits)
		}
	}
	for _, promise := range c.Promises() {
		c.ledger.Note("TestAll", promise.Promise)
	}
	if got := c.finish(0, true, &out); got != 0 {
		t.Errorf("with every promise observed it exits with %d: %s", got, &out)
	}
}
