package contracttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// otherModule writes a module that uses this one, with the test that is the first Go of a part of README.md, and returns
// a function that runs the go command in it.
func otherModule(t *testing.T, part, handler string) func(args ...string) string {
	t.Helper()
	guide, err := os.ReadFile("README.md")
	must.NoError(t, err)
	_, text, found := strings.Cut(string(guide), part)
	test := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(text)
	if !found || test == nil {
		t.Fatalf("README.md has no test after %q", part)
	}
	root, err := filepath.Abs("../..")
	must.NoError(t, err)
	sums, err := os.ReadFile("../../go.sum") // or the checksums would be asked for elsewhere
	must.NoError(t, err)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module example.org/shop\n\ngo 1.26.0\n\nreplace github.com/plantstore/plantstore => " + root + "\n",
		"go.sum":       string(sums),
		"openapi.yaml": smallDocument,
		"shop_test.go": test[1],
		"shop.go":      handler,
	} {
		must.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		out, _ := cmd.CombinedOutput() // the test must fail
		return string(out)
	}
}

// wrongShop responds with a text as the id.
const wrongShop = `package shop

import "net/http"

func handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(` + "`{\"id\":\"text\"}`" + `))
	})
}
`

// Both first examples of README.md are tests in another module. They find a wrong handler, and the module needs no more than
// the engine: neither a database nor a test library.
func TestAnotherModule(t *testing.T) {
	t.Parallel()
	must.HaveTime(t)
	watch := otherModule(t, "## Hold the tests that you have", wrongShop)("test", "-vet=off", "-ldflags=-w", ".")
	for _, want := range []string{"--- FAIL: TestThing", `contract: getThing, 200: [9d043fe1] body /id: type: got string, want integer, got "text"`} {
		if !strings.Contains(watch, want) {
			t.Fatalf("go test says no %q:\n%s", want, watch)
		}
	}
	run := otherModule(t, "## Let the document make", wrongShop)
	out := run("test", "-vet=off", "-ldflags=-w", ".")
	for _, want := range []string{"--- FAIL: TestContract/getThing", "getThing, 200: body /id has another type", " promises are not tested; go test -v says why", "curl -i -X GET 'http://127.0.0.1:"} {
		if !strings.Contains(out, want) {
			t.Fatalf("go test says no %q:\n%s", want, out)
		}
	}
	needed := strings.Fields(run("list", "-deps", "-test", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "."))
	unique := map[string]bool{}
	for _, path := range needed {
		unique[path] = true
	}
	if len(unique) != 6 { // README.md says so: five and ours
		t.Errorf("the test needs the modules %v", unique)
	}
}
