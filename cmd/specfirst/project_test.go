package main

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

// Bodies that cannot be checked are passed on, and the health check is where the document has nothing.
func TestAdapted(t *testing.T) {
	xml := strings.Replace(roomsDocument, "content: {application/json", "content: {application/xml", 1)
	health := strings.NewReplacer("/v1/", "", "/rooms:\n    post:", "/healthz:\n    get:").Replace(roomsDocument)
	for name, test := range map[string]struct{ document, file, want string }{
		"another media type": {xml, "internal/httpapi/httpapi.go", `var unchecked = []string{"application/xml"}`},
		"the health check":   {health, "internal/httpapi/httpapi.go", `h.router.Get("/livez", h.health)`},
		"its test":           {health, "cmd/shed/main_test.go", `"/livez"`},
		"its README":         {roomsDocument, "README.md", "$ curl -i 'http://127.0.0.1:8080/v1/bookings/1' -H 'X-Key: a-token-for-development'"},
		"its Makefile":       {roomsDocument, "Makefile", "  curl -i 'http://127.0.0.1:8080/v1/bookings/1' -H 'X-Key: $$SHED_TOKEN'"},
		"a newer version":    {strings.Replace(roomsDocument, "3.0.3", "3.1.0", 1), "api/openapi.yaml", "openapi: 3.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			read, err := readDocument(writeDocument(t, test.document), nil, false)
			must.NoError(t, err)
			folder := t.TempDir()
			s := &service{name: "shed", module: "example.org/shed", document: read}
			must.NoError(t, s.writeFiles(folder))
			text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(test.file)))
			must.NoError(t, err)
			if !strings.Contains(string(text), test.want) {
				t.Errorf("%s has no %s", test.file, test.want)
			}
		})
	}
}

// The module of a new service needs the Go that this one needs, not that of the machine it is made on.
func TestGoOfNewModule(t *testing.T) {
	source, err := filepath.Abs("../..")
	must.NoError(t, err)
	download := exec.CommandContext(t.Context(), "go", "mod", "download")
	download.Dir = source // what the new service needs is a part of what this module does
	must.NoError(t, download.Run())
	t.Setenv("GOPROXY", "off")
	folder := t.TempDir()
	s := &service{module: "example.com/shed", version: "v0.0.0", source: source}
	must.NoError(t, s.initModule(t.Context(), folder))
	for _, name := range []string{"LICENSE", "api/contract/contract.go", "api/internal/paths/paths.go", "cmd/specfirst/codegen/main.go"} {
		if _, err := os.Stat(filepath.Join(folder, copyFolder, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(folder, "go.mod")); err != nil || strings.Contains(string(text), source) {
		t.Errorf("go.mod names the clone (%v):\n%s", err, text)
	}
	goLines := func(folder string) []string {
		text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		must.NoError(t, err)
		return regexp.MustCompile(`(?m)^(go|toolchain) .*$`).FindAllString(string(text), -1)
	}
	if got, want := goLines(folder), goLines(source); !slices.Equal(got, want) {
		t.Errorf("go.mod has %q, want %q", got, want)
	}
}

// newProject runs the command in an empty folder, without a network.
func newProject(t *testing.T, name string, args ...string) string {
	t.Helper()
	if os.Getenv("PLANTSTORE_TEST_SPECFIRST") == "" {
		t.Skip("needs a minute: .ci/drill specfirst")
	}
	t.Setenv("GOPROXY", "off")
	folder := filepath.Join(t.TempDir(), name)
	source, err := filepath.Abs("../..")
	must.NoError(t, err)
	out, err := run(t, append([]string{"new", folder, "--source", source}, args...)...)
	must.NoError(t, err)
	t.Log(out)
	return folder
}

// expect runs a program in a folder, which succeeds only if nothing is wanted, and says all that is wanted.
func expect(t *testing.T, folder, line string, wanted ...string) {
	t.Helper()
	args := strings.Fields(line)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if (err == nil) != (len(wanted) == 0) {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	for _, want := range wanted {
		if !strings.Contains(string(out), want) {
			t.Fatalf("%s does not say %q:\n%s", line, want, out)
		}
	}
}

// change replaces a text in a file, once.
func change(t *testing.T, name, before, after string) {
	t.Helper()
	text, err := os.ReadFile(name)
	must.NoError(t, err)
	changed := strings.Replace(string(text), before, after, 1)
	if changed == string(text) {
		t.Fatalf("%s has no %q", name, before)
	}
	must.NoError(t, os.WriteFile(name, []byte(changed), 0o600))
}

// The loop that the README of a new service explains: an operation is added to the document, and the compiler and
// then the contract test ask for it.
func TestLoop(t *testing.T) {
	folder := newProject(t, "bookshelf", "--module", "example.com/bookshelf")
	expect(t, folder, "make test")
	change(t, filepath.Join(folder, "api", "openapi.yaml"), "paths:\n", `paths:
  /books:count:
    get:
      operationId: countBooks
      summary: How many books there are.
      responses:
        '200': {description: The number., content: {application/json: {schema: {type: integer}}}}
        '400': {$ref: '#/components/responses/Failed'}
        '401': {$ref: '#/components/responses/NoCredentials'}
`)
	expect(t, folder, "make generate")
	expect(t, folder, "make test", "missing method CountBooks")
	const method = "\nfunc (s Service) CountBooks(ctx context.Context, request server.CountBooksRequestObject) (server.CountBooksResponseObject, error) {\n\treturn %s\n}\n"
	books := filepath.Join(folder, "internal", "operations", "books.go")
	change(t, books, "\n// wireBook", strings.Replace(method, "%s", `nil, errors.New("later")`, 1)+"\n// wireBook")
	change(t, books, `"context"`, "\"context\"\n\t\"errors\"")
	expect(t, folder, "make test", "countBooks responds with 500")
	change(t, books, `nil, errors.New("later")`, "server.CountBooks200JSONResponse(1), nil")
	change(t, books, "\n\t\"errors\"", "")
	expect(t, folder, "make test")
	expect(t, folder, "make generate")
}

// make compat compares the document with that of the last tag. Here it runs oasdiff from the modules of this repository, which
// have the same version: there is no network.
func TestCompat(t *testing.T) {
	if os.Getenv("PLANTSTORE_TEST_SPECFIRST") == "" {
		t.Skip("needs a minute: .ci/drill specfirst")
	}
	modules, err := filepath.Abs("../../internal/workshop/tools/go.mod")
	must.NoError(t, err)
	text, err := os.ReadFile(modules)
	must.NoError(t, err)
	version := regexp.MustCompile(`github.com/oasdiff/oasdiff (v\S+)`).FindSubmatch(text)
	if version == nil || !strings.Contains(exampleFile("Makefile"), "oasdiff@"+string(version[1])+"\n") {
		t.Errorf("the Makefile of the example does not have the version %s of oasdiff", version)
	}
	folder := shelve(t)
	t.Setenv("OASDIFF", "go tool -modfile="+modules+" oasdiff")
	expect(t, folder, "make compat") // there is no tag yet
	expect(t, folder, "git tag v1.0.0")
	document := filepath.Join(folder, "api", "openapi.yaml")
	change(t, document, "        author: {", "        subtitle: {type: string, maxLength: 500}\n        author: {")
	commit(t, folder)
	expect(t, folder, "make compat")
	change(t, document, "required: [title]", "required: [title, author]")
	commit(t, folder)
	expect(t, folder, "make compat", "the request property `author` became required")
}

// A document of one's own compiles at once, and its contract test lists what is to be written.
func TestOwnDocument(t *testing.T) {
	folder := newProject(t, "rooms", "--document", writeDocument(t, roomsDocument))
	// It is what another machine gets: an archive, without the folder in which it was made.
	expect(t, folder, "git init --quiet")
	commit(t, folder)
	elsewhere := t.TempDir()
	expect(t, folder, "git checkout-index --all --prefix="+elsewhere+"/")
	must.NoError(t, os.RemoveAll(folder))
	folder = elsewhere
	expect(t, folder, "make test", "addRoom is not written yet: it responds with 501", "close is not written yet")
	expect(t, folder, "make generate")
	document := filepath.Join(folder, "api", "openapi.yaml")
	change(t, document, "operationId: close", "operationId: addRoom")
	expect(t, folder, "make generate", "api/openapi.yaml:17: the operationId addRoom is also that of POST /rooms in line 7: give each operation its own")
	change(t, document, "operationId: addRoom\n      parameters", "operationId: close\n      parameters")
	unwritten := filepath.Join(folder, "internal", "operations", "unwritten.go")
	const begin = "AddRoomResponseObject, error) {\n\treturn "
	change(t, unwritten, begin+"nil, httpapi.ErrNotWritten", begin+"server.AddRoom200JSONResponse(*request.Body), nil")
	expect(t, folder, "make test", "close is not written yet")
}

// Documents that oapi-codegen alone cannot serve, each written anew from a report. Their code compiles, and the contract test
// accuses the new service of nothing but operations that are not written. A case may have a test of its own.
func TestDocuments(t *testing.T) {
	folder := newProject(t, "rooms", "--document", writeDocument(t, roomsDocument))
	paths, err := filepath.Glob("testdata/*.yaml")
	must.NoError(t, err)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			read, err := readDocument(path, nil, false)
			must.NoError(t, err)
			s := &service{name: "rooms", module: "example.com/rooms", document: read}
			must.NoError(t, s.writeFiles(folder))
			must.NoError(t, read.generate(t.Context(), folder, s.module))
			own := filepath.Join(folder, "internal", "httpapi", "case_test.go")
			if text, err := os.ReadFile(strings.TrimSuffix(path, ".yaml") + "_test.go"); err == nil {
				must.NoError(t, writeFile(own, string(text)))
				defer os.Remove(own)
			}
			cmd := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", "-count=1", "-v", "./...")
			cmd.Dir = folder
			out, _ := cmd.CombinedOutput() // it fails for the operations
			said := string(out)
			failed := strings.ReplaceAll(said, "--- FAIL: TestContract", "")
			if strings.Contains(said, "broken: ") || strings.Contains(said, "build failed") || strings.Contains(failed, "--- FAIL") ||
				!strings.Contains(said, "--- PASS: TestRun") {
				t.Errorf("it says\n%s", said)
			}
			for _, operation := range read.Operations() {
				if !strings.Contains(said, operation.ID+" is not written yet: it responds with 501") {
					t.Errorf("it does not say that %s is not written:\n%s", operation.ID, said)
				}
			}
		})
	}
}
