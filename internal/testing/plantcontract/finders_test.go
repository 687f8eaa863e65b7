package plantcontract

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// findersFile names, for each wrong server, the generated test that finds its fault.
// That test runs first, and the others run only if it finds nothing: running them all
// takes up to a second for each of more than a hundred servers. So a name that is
// missing or old makes the tests slower, and no weaker. To write the file again:
//
//	go test -run 'WrongServers|DishonestServers' ./internal/testing/plantcontract -finders
const findersFile = "testdata/finders.json"

var writeFinders = flag.Bool("finders", false, "write "+findersFile)

var finders = sync.OnceValues(func() (names map[string]string, err error) {
	text, err := os.ReadFile(findersFile)
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	return names, err
})

// wantFaults fails unless the generated tests alone find a fault in each server.
func wantFaults(t *testing.T, servers map[string]http.Handler) {
	t.Helper()
	first, err := finders()
	must.NoError(t, err)
	if *writeFinders {
		first = nil // the tests of one request come before those of many
	}
	for name, handler := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault, by := firstFault(t, handler, first[name])
			if fault == "" {
				t.Fatal("no generated test found the fault")
			}
			t.Logf("%s: %s", by, fault)
			if *writeFinders {
				noteFinder(t, name, by)
			}
		})
	}
}

// firstFault runs the generated tests, first the one with a name, until one finds a
// fault.
func firstFault(t *testing.T, handler http.Handler, first string) (fault, by string) {
	t.Helper()
	tests := slices.Clone(allTests())
	if i := slices.IndexFunc(tests, func(test contracttest.Case) bool { return test.Name == first }); i > 0 {
		tests = slices.Concat(tests[i:i+1], tests[:i], tests[i+1:])
	}
	target := Target("http://plantstore.invalid", staticToken, readOnlyToken, "")
	target.Transport = inProcess{handler}
	for _, test := range tests {
		if outcome := test.Try(t.Context(), target); len(outcome.Failures) > 0 {
			return outcome.Failures[0].String(), test.Name
		}
	}
	return "", ""
}

// allTests are the generated tests. Making them takes longer than running most of them.
var allTests = sync.OnceValue(func() []contracttest.Case {
	return slices.Collect(Plants().Tests(context.Background()))
})

var (
	mu    sync.Mutex
	found = map[string]string{}
)

// noteFinder adds a line to findersFile.
func noteFinder(t *testing.T, name, by string) {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	found[name] = by
	text, err := json.MarshalIndent(found, "", "\t")
	if err == nil {
		err = os.WriteFile(findersFile, append(text, '\n'), 0o644)
	}
	expect.NoError(t, err)
}
