package contract_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// The program at the top of README.md works in another module, which then needs neither a router, nor a database,
// nor Prometheus.
func TestAnotherModule(t *testing.T) {
	t.Parallel()
	must.HaveTime(t)
	guide, err := os.ReadFile("README.md")
	must.NoError(t, err)
	program := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(string(guide))[1]
	program = strings.Replace(program, `http.ListenAndServe("127.0.0.1:8080", mux)`, "serve(mux)", 1)
	root, err := filepath.Abs("../..")
	must.NoError(t, err)
	sums, err := os.ReadFile("../../go.sum") // or the checksums would be asked for elsewhere
	must.NoError(t, err)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.org/things\n\ngo 1.26.0\n\nreplace github.com/plantstore/plantstore => " + root + "\n",
		"go.sum":  string(sums),
		"main.go": program,
		"openapi.yaml": `
openapi: 3.0.3
info: {title: Things, version: 1.0.0}
security: [{key: []}]
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}
paths:
  /things/{id}:
    get:
      operationId: getThing
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {'200': {description: OK}}
`,
		"serve.go": `package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
)

func serve(handler http.Handler) error {
	for _, path := range []string{"/things/7", "/things/x"} {
		for _, key := range []string{"", "secret"} {
			r := httptest.NewRequest("GET", path, nil)
			r.Header.Set("X-Key", key)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			fmt.Print(w.Code, " ", w.Body)
		}
	}
	return http.ErrServerClosed
}
`,
	} {
		must.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		out, _ := cmd.CombinedOutput() // the program ends with log.Fatal
		return string(out)
	}
	const want = "401 no key, or not a valid one\n200 thing 7\n401 no key, or not a valid one\n" +
		"400 a parameter is not valid: path /id must be an integer\n"
	if out := run("run", "."); !strings.Contains(out, want) {
		t.Errorf("the program of the README prints\n%s\nwant\n%s", out, want)
	}
	needed := strings.Fields(run("list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "."))
	slices.Sort(needed)
	needed = slices.Compact(needed)
	t.Logf("figures: the program needs the modules %s", needed)
	if len(needed) != 9 { // README.md says so: eight and ours
		t.Errorf("the program needs %d modules", len(needed))
	}
	for _, module := range needed {
		if regexp.MustCompile("chi|mux|sqlite|pgx|prometheus|oapi-codegen").MatchString(module) {
			t.Errorf("the program needs the module %s", module)
		}
	}
}
