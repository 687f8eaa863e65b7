package system_test

import (
	"errors"
	"fmt"
	"go/format"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// Programs of another team, in a module of their own, compile with the clients and
// their few modules, and do what they say. The linker works longest, so one build makes
// all of them.
func TestClientsInAnotherModule(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	code := goCode(t, "api/README.md", 2)
	dir := buildConsumers(t, code[0], map[string]string{
		"generated/main.go":   readme(t, "internal/system/testdata/consumer/main.go"),
		"client/main.go":      code[0],
		"client/main_test.go": code[1],
	})
	t.Run("generated client", func(t *testing.T) { t.Parallel(); testGeneratedClient(t, filepath.Join(dir, "bin", "generated")) })
	t.Run("program of api/README.md", func(t *testing.T) { t.Parallel(); testClientProgram(t, dir, code) })
}

// The generated client handles every response of the service.
func testGeneratedClient(t *testing.T, path string) {
	store := filepath.Join(t.TempDir(), "plants.db")
	r := program.Serve(t, store)
	got := runConsumer(t, path,
		"SERVER="+r.URL,
		"WRITER="+program.Output(t, "token", "create", "--name", "writer", "--scope", "write", "--store", store),
		"READER="+program.Output(t, "token", "create", "--name", "reader", "--scope", "read", "--store", store))
	const says = `create: done
create: done
create: taken, /id
create many: done
create many: taken, /plants/17/id
create: not allowed without write
create: unknown token
list: mistaken, /limit
get: no such plant
list: 1001 plants, and 3 times more followed
update: done
update: somebody else was first
get: 200 Ficus lyrata true
delete: 204
`
	if got != says {
		t.Errorf("the consumer says\n%s\nwant\n%s", got, says)
	}
}

// The program in api/README.md and its test are short, and the test passes.
func testClientProgram(t *testing.T, dir string, code []string) {
	lines := 0
	for _, source := range code {
		lines += len(slices.DeleteFunc(strings.Split(source, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" }))
		if formatted, err := format.Source([]byte(source)); err != nil || string(formatted) != source {
			t.Errorf("the Go code in api/README.md is not as gofmt writes it (%v):\n%s", err, source)
		}
	}
	const most = 60
	if t.Logf("figures: a program with the client and its test have %d lines", lines); lines > most {
		t.Errorf("the program and its test have %d lines, want at most %d", lines, most)
	}
	goCommand(t, dir, "test", "-vet=off", "-ldflags=-w", "-mod=mod", "./client") // clienttest needs more modules

	r := program.Serve(t, "sqlite::memory:")
	for id := range 3 {
		r.Want(t, http.StatusCreated, http.MethodPut, fmt.Sprint("/plants/", 10+id),
			`{"name":"Ficus elastica","tag":"Moraceae"}`)
	}
	run := func(token, want string) {
		t.Helper()
		cmd := program.Command(t, filepath.Join(dir, "bin", "client"))
		cmd.Env = append(os.Environ(), "SERVER="+r.URL, "TOKEN="+token)
		out, _ := cmd.CombinedOutput()
		got := regexp.MustCompile(`(?m)^\S+ \S+ `).ReplaceAllString(string(out), "") // the times of package log
		if got != want {
			t.Errorf("the program in api/README.md says\n%s\nwant\n%s", got, want)
		}
	}
	run(r.Token, `1 is a Ficus lyrata with the tag Ficus
10 is a Ficus elastica with the tag Ficus
11 is a Ficus elastica with the tag Ficus
12 is a Ficus elastica with the tag Ficus
`)
	run(r.Token, "another plant has the id 1\n")
	run("unknown", "plantstore: create plant 1: credentials not valid (401 Unauthorized, error 40101)\n")
}

// goCode returns the Go code of a page, which has n blocks of it.
func goCode(t *testing.T, name string, n int) (blocks []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(readme(t, name), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != n {
		t.Fatalf("%s has %d blocks of Go, want %d", name, len(blocks), n)
	}
	return blocks
}

// buildConsumers makes a module as another team has it, with a program. The commands in
// README.md add the client, from this clone, and compile the program. Then it compiles
// the programs in the folders of the module into its folder bin. It fails if they need
// other modules than those of the client.
func buildConsumers(t *testing.T, source string, files map[string]string) (dir string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	must.NoError(t, err)
	dir = t.TempDir()
	writeFiles(t, dir, map[string]string{
		"go.mod":  "module example.org/consumer\n\ngo 1.26.0\n",
		"go.sum":  readme(t, "go.sum"), // or the checksums would be asked for elsewhere
		"main.go": source,
	})
	typed := 0
	for _, c := range commands(readme(t, "api/README.md")) {
		// In a link to the clone every package would be compiled again.
		args := strings.Fields(strings.Replace(c.line, "../plantstore", root, 1))
		if args[0] == "go" && args[1] != "install" { // make test-install installs the program
			goCommand(t, dir, args[1:]...)
			typed++
		}
	}
	if typed != 2 {
		t.Errorf("api/README.md has %d go commands, want 2", typed)
	}
	writeFiles(t, dir, files)
	goCommand(t, dir, "build", "-ldflags=-w", "-o", "bin"+string(filepath.Separator), "./generated", "./client")
	modules := strings.Fields(goCommand(t, dir, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./..."))
	slices.Sort(modules)
	if got := slices.Compact(modules); !slices.Equal(got, consumerModules) {
		t.Errorf("the programs need the modules %q, want %q", got, consumerModules)
	}
	return dir
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
	}
}

// consumerModules are the modules in a program with the client: no router, no
// validator, no database.
var consumerModules = []string{
	"example.org/consumer",
	"github.com/apapsch/go-jsonmerge/v2",
	"github.com/google/uuid",
	"github.com/oapi-codegen/nullable",
	"github.com/oapi-codegen/runtime",
	"github.com/plantstore/plantstore",
}

// goCommand runs go in the module of a consumer and returns what it prints.
func goCommand(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := program.Command(t, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	return program.Finish(t, cmd)
}

func runConsumer(t *testing.T, path string, env ...string) string {
	t.Helper()
	cmd := program.Command(t, path) // paging may go in circles
	cmd.Env = append(os.Environ(), env...)
	return program.Finish(t, cmd)
}
