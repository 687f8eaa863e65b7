// Package internal_test holds the repository to its shape.
package internal_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
)

const (
	module  = "github.com/plantstore/plantstore/"
	example = "cmd/specfirst/bookshelf/"
)

// mayImport says which packages of ours each package may import. Imports point
// inward: towards what a plant is and what the document says. Tests are free.
var mayImport = map[string][]string{
	"api":        {},
	"api/client": {"gen/plantapi", "gen/plantclient", "internal/backoff"},
	"api/client/clienttest": {
		"api/client", "gen/plantapi", "internal/feed", "internal/httpapi", "internal/store/sqlite",
		"internal/token",
	},
	"gen/plantapi":                   {},
	"gen/plantclient":                {"gen/plantapi"},
	"gen/plantjson":                  {"gen/plantapi"},
	"gen/plantserver":                {"gen/plantapi"},
	"internal/plant":                 {},
	"internal/atomicfile":            {},
	"internal/backoff":               {},
	"internal/buildinfo":             {},
	"internal/cache":                 {},
	"internal/shell":                 {},
	"internal/ticker":                {},
	"internal/token":                 {"internal/cache"},
	"api/internal/paths":             {},
	"api/contract":                   {"api/internal/paths"}, // it serves any service
	"api/docs":                       {},                     // it serves any service
	"internal/testing/madeup":        {},
	"internal/testing/shelf":         {},
	"internal/testing/shelf/stock":   {},
	"internal/testing/plantcontract": {"api", "gen/plantapi", "gen/plantclient", "api/contracttest", "api/contracttest/scenario"},
	"internal/docs":                  {"api/docs"},
	"internal/page":                  {"internal/docs"},
	"internal/feed":                  {"internal/plant", "internal/store"},
	"internal/httpapi": {
		"api", "api/contract", "gen/plantapi", "gen/plantjson", "gen/plantserver", "internal/docs", "internal/feed", "internal/limit",
		"internal/page", "internal/plant", "internal/token",
	},
	"internal/limit":               {"internal/cache"},
	"internal/testing/logtest":     {},
	"internal/testing/metricstest": {},
	"internal/oidc":                {"internal/cache", "internal/token"},
	"internal/testing/expect":      {},
	"internal/testing/golden":      {},
	"internal/testing/toy":         {},
	"internal/testing/must":        {},
	"internal/testing/oidctest":    {},
	"internal/testing/pipes":       {},
	"internal/testing/program":     {"api/client", "internal/testing/metricstest", "internal/testing/must", "internal/testing/wait"},
	"internal/store/groupcommit":   {},
	"internal/testing/pgtest":      {"internal/testing/wait"},
	"internal/store/postgres": {
		"internal/backoff", "internal/plant", "internal/store", "internal/store/groupcommit", "internal/token",
	},
	"internal/testing/storebench": {"internal/plant"},
	"internal/store/sqlite/wal":   {},
	"internal/store/sqlite": {
		"internal/atomicfile", "internal/plant", "internal/shell", "internal/store", "internal/store/groupcommit",
		"internal/store/sqlite/wal", "internal/ticker", "internal/token",
	},
	"internal/testing/wait": {},
	"internal/testing/storetest": {
		"internal/plant", "internal/store", "internal/testing/expect", "internal/testing/metricstest", "internal/testing/must",
		"internal/testing/wait", "internal/token",
	},
	"internal/store": {"internal/plant", "internal/token"},
	"internal/store/open": {
		"internal/plant", "internal/store", "internal/store/postgres", "internal/store/sqlite",
	},
	"internal/transfer": {
		"api/client", "gen/plantapi", "gen/plantjson", "internal/plant", "internal/store", "internal/token",
	},
	"internal/server": {
		"internal/feed", "internal/httpapi", "internal/oidc", "internal/plant", "internal/shell", "internal/store",
		"internal/store/open", "internal/ticker", "internal/token",
	},
	"internal/cli": {
		"api/client", "internal/atomicfile", "internal/backoff", "internal/buildinfo", "internal/docs", "internal/httpapi", "internal/oidc", "internal/plant",
		"internal/server", "internal/shell", "internal/store", "internal/store/open", "internal/store/sqlite",
		"internal/ticker", "internal/token", "internal/transfer", "internal/webhook",
	},
	"internal/webhook": {"api/client", "gen/plantapi", "gen/plantjson", "internal/atomicfile", "internal/backoff", "internal/transfer"},
	"cmd/contracttest": {"api/contracttest", "internal/buildinfo"},
	"cmd/plantstore":   {"internal/cli"},

	// The engine, which tests any service, from the bottom up.
	"api/contracttest/internal/jsonvalue": {},
	"api/contracttest/scenario":           {"api/contracttest/internal/jsonvalue"},
	"api/contracttest/report":             {"api/contracttest/internal/jsonvalue", "api/contracttest/scenario"},
	"api/contracttest/internal/schema":    {"api/contracttest/internal/jsonvalue", "api/contracttest/scenario"},
	"api/contracttest/internal/document": {
		"api/contracttest/internal/jsonvalue", "api/contracttest/internal/schema", "api/contracttest/scenario", "api/internal/paths",
	},
	"api/contracttest/internal/schematest": {
		"api/contracttest/internal/document", "api/contracttest/internal/schema", "internal/testing/must",
	},
	"api/contracttest/internal/judge": {
		"api/contracttest/internal/document", "api/contracttest/internal/jsonvalue", "api/contracttest/internal/schema",
		"api/contracttest/scenario",
	},
	"api/contracttest/internal/values": {
		"api/contracttest/internal/document", "api/contracttest/internal/jsonvalue", "api/contracttest/internal/judge",
		"api/contracttest/internal/schema", "api/contracttest/scenario",
	},
	"api/contracttest/internal/lessons": {
		"api/contracttest/internal/document", "api/contracttest/internal/jsonvalue", "api/contracttest/internal/schema",
		"api/contracttest/internal/values", "api/contracttest/internal/world",
	},
	"api/contracttest/internal/resources": {
		"api/contracttest/internal/document", "api/contracttest/internal/jsonvalue", "api/contracttest/internal/schema",
		"api/contracttest/internal/values", "api/contracttest/scenario",
	},
	"api/contracttest/internal/world": {
		"api/contracttest/internal/document", "api/contracttest/internal/jsonvalue", "api/contracttest/internal/resources",
		"api/contracttest/scenario",
	},
	"api/contracttest/internal/draft": {
		"api/contracttest/internal/document", "api/contracttest/internal/jsonvalue", "api/contracttest/internal/judge",
		"api/contracttest/internal/lessons", "api/contracttest/internal/resources", "api/contracttest/internal/schema",
		"api/contracttest/internal/values", "api/contracttest/internal/world", "api/contracttest/scenario",
	},
	"api/contracttest/internal/plan": {
		"api/contracttest/internal/document", "api/contracttest/internal/draft", "api/contracttest/internal/jsonvalue",
		"api/contracttest/internal/judge", "api/contracttest/internal/lessons", "api/contracttest/internal/resources",
		"api/contracttest/internal/schema", "api/contracttest/internal/values", "api/contracttest/internal/world",
		"api/contracttest/report", "api/contracttest/scenario",
	},
	"api/contracttest/internal/run": {
		"api/contracttest/internal/document", "api/contracttest/internal/draft", "api/contracttest/internal/judge",
		"api/contracttest/internal/jsonvalue", "api/contracttest/internal/plan", "api/contracttest/internal/resources",
		"api/contracttest/internal/values", "api/contracttest/scenario",
	},
	"api/contracttest": {
		"api/contracttest/internal/document", "api/contracttest/internal/jsonvalue", "api/contracttest/internal/judge", "api/contracttest/internal/plan",
		"api/contracttest/internal/resources", "api/contracttest/internal/run", "api/contracttest/internal/values", "api/contracttest/report",
		"api/contracttest/scenario",
	},

	// The example that cmd/specfirst writes. Its tests import api/contracttest, too.
	"cmd/specfirst":                   {"api/contract", "cmd/specfirst/internal/codegen", "cmd/specfirst/internal/document", "internal/buildinfo"},
	"cmd/specfirst/codegen":           {"cmd/specfirst/internal/codegen", "cmd/specfirst/internal/document"},
	"cmd/specfirst/internal/codegen":  {"api/contract", "cmd/specfirst/internal/document"},
	"cmd/specfirst/internal/document": {},
	example + "api":                   {},
	example + "gen/client":            {},
	example + "gen/server":            {},
	example + "internal/store":        {},
	example + "internal/unwritten":    {},
	example + "internal/operations":   {example + "gen/server", example + "internal/store"},
	example + "internal/httpapi":      {"api/contract", "api/docs", example + "api", example + "gen/server"},
	example + "cmd/bookshelf":         {example + "internal/httpapi", example + "internal/operations"},
}

// forTests reports whether no program may contain a package.
func forTests(name string) bool {
	return name == "api/client/clienttest" || strings.HasPrefix(name, "internal/testing/")
}

func TestImports(t *testing.T) {
	packages := list(t, "./...")
	for name, imports := range packages {
		allowed, known := mayImport[name]
		if !known {
			t.Errorf("%s is new: say in mayImport what it may import", name)
		}
		for _, imported := range imports {
			imported, ours := strings.CutPrefix(imported, module)
			if ours && !slices.Contains(allowed, imported) {
				t.Errorf("%s imports %s, which is not among %q", name, imported, allowed)
			}
		}
	}
	for name := range mayImport {
		if _, ok := packages[name]; !ok {
			t.Errorf("mayImport names %s, which does not exist", name)
		}
	}
}

// No program has code that is only for tests. cmd/contracttest contains the contract engine, so the engine imports no
// package testing either, which would register flags. From Go 1.27 on, net/http/httptest imports it and registers none.
func TestProgramHasNoTestCode(t *testing.T) {
	for name, imports := range list(t, "-deps", "./cmd/...") {
		if forTests(name) {
			t.Errorf("the program contains %s", name)
		}
		if slices.Contains(imports, "testing") && name != "net/http/httptest" {
			t.Errorf("%s, which the program contains, imports testing", name)
		}
	}
}

// list returns the imports of packages by name, ours without the module's. Packages that are only tests are left out.
func list(t *testing.T, args ...string) map[string][]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	const format = `{{if .GoFiles}}{{.ImportPath}} {{join .Imports " "}}{{end}}`
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-f", format}, args...)...)
	cmd.Dir = ".."
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("go list: %s", failed.Stderr)
	}
	must.NoError(t, err)
	packages := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		packages[strings.TrimPrefix(words[0], module)] = words[1:]
	}
	return packages
}
