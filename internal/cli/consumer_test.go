package cli

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Another team's service, in a module of its own, compiles with the generated
// client and its few modules, and handles everything that the program answers.
func TestClientInAnotherModule(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("testdata/consumer/main.go")
	if err != nil {
		t.Fatal(err)
	}
	program, needs := buildConsumer(t, string(source))
	want := []string{
		"github.com/apapsch/go-jsonmerge/v2", "github.com/google/uuid", "github.com/oapi-codegen/nullable",
		"github.com/oapi-codegen/runtime", "github.com/plantstore/plantstore",
	}
	if got := strings.Join(needs, " "); got != strings.Join(want, " ") {
		t.Errorf("a consumer needs the modules %s, want %s", got, strings.Join(want, " "))
	}

	store := filepath.Join(t.TempDir(), "plants.db")
	r, err := launch(t.TempDir(), os.Environ(), "--addr", "127.0.0.1:0", "--store", store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.kill)
	got := runConsumer(t, program,
		"SERVER="+r.url,
		"WRITER="+output(t, "token", "create", "--name", "writer", "--scope", "write", "--store", store),
		"READER="+output(t, "token", "create", "--name", "reader", "--scope", "read", "--store", store))
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

// The program in api/README.md compiles in a module that has nothing but the
// client, and does what it says, against a service that keeps nothing.
func TestReadmeProgram(t *testing.T) {
	t.Parallel()
	program, _ := buildConsumer(t, goCode(t, "api/README.md"))

	r, err := launch(t.TempDir(), os.Environ(), "--addr", "127.0.0.1:0", "--store", "sqlite::memory:", "--print-token")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.kill)
	for range 2 { // a repeated create is safe
		if got, want := runConsumer(t, program, "SERVER="+r.url, "TOKEN="+r.token), "stored Ficus lyrata\n1 Ficus lyrata\n"; got != want {
			t.Errorf("the program in api/README.md says %q, want %q", got, want)
		}
	}
	service := &remoteServer{r.url, r.token}
	service.send(t, http.MethodPut, "/plants/1", []byte(`{"name":"Ficus elastica"}`))
	if got, want := runConsumer(t, program, "SERVER="+r.url, "TOKEN="+r.token), "another plant has this id\n1 Ficus elastica\n"; got != want {
		t.Errorf("the program in api/README.md says %q, want %q", got, want)
	}
	service.send(t, http.MethodDelete, "/plants/1", nil)
	file := filepath.Join(t.TempDir(), "plants.csv")
	writePlants(t, file, 2500)
	service.command(t, "import", file)
	if got := runConsumer(t, program, "SERVER="+r.url, "TOKEN="+r.token); strings.Count(got, "\n") != 1+2500 {
		t.Errorf("the program in api/README.md lists %d of 2500 plants", strings.Count(got, "\n")-1)
	}
	cmd := newCommand(t, program)
	cmd.Env = append(os.Environ(), "SERVER="+r.url, "TOKEN=nobody")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "401 Unauthorized") {
		t.Errorf("without a token the program in api/README.md says %q, %v", out, err)
	}
}

// The lines in README.md compile, too, and create a plant.
func TestReadmeLines(t *testing.T) {
	t.Parallel()
	r, err := launch(t.TempDir(), os.Environ(), "--addr", "127.0.0.1:0", "--store", "sqlite::memory:", "--print-token")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.kill)
	lines := strings.Replace(goCode(t, "README.md"), "http://127.0.0.1:8080", r.url, 1)
	program, _ := buildConsumer(t, `package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantclient"
)

func main() {
`+lines+"}\n")
	if got, want := runConsumer(t, program, "TOKEN="+r.token), "200 OK {\"name\":\"Ficus lyrata\"}\n\n"; got != want {
		t.Errorf("the lines in README.md print %q, want %q", got, want)
	}
}

// goCode returns the Go code of a page, which has one block of it.
func goCode(t *testing.T, name string) string {
	t.Helper()
	m := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(readme(t, name), -1)
	if len(m) != 1 {
		t.Fatalf("%s has %d blocks of Go, want one", name, len(m))
	}
	return m[0][1]
}

// buildConsumer compiles a program in a module of its own, as another team
// would have it, and returns it and the modules that it came to need.
func buildConsumer(t *testing.T, source string) (program string, modules []string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go": source,
		"go.sum":  string(sums), // or the checksums would be asked for elsewhere
		"go.mod": "module example.org/consumer\n\ngo 1.26.0\n\n" +
			"require github.com/plantstore/plantstore v0.0.0\n\nreplace github.com/plantstore/plantstore => " + root + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program = filepath.Join(dir, "consumer")
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd = exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{"example.org/consumer": true}
	for name := range strings.FieldsSeq(string(out)) {
		if !seen[name] {
			modules = append(modules, name)
		}
		seen[name] = true
	}
	slices.Sort(modules)
	return program, modules
}

func runConsumer(t *testing.T, program string, env ...string) string {
	t.Helper()
	cmd := newCommand(t, program) // paging may go in circles
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, &stderr)
	}
	return string(out)
}
