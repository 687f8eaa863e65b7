package main

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// roomsDocument has two resources, an API key and a path before its own. An operation has the name of a method of io.Closer.
const roomsDocument = `openapi: 3.0.3
info: {title: Rooms, version: 1.0.0}
servers: [{url: https://rooms.example.com/v1/}]
security: [{key: []}]
paths:
  /rooms:
    post:
      operationId: addRoom
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Room'}}}}
      responses: &responses
        '200': {description: The room., content: {application/json: {schema: {$ref: '#/components/schemas/Room'}}}}
        '400': {description: It is wrong.}
        '401': {description: There is no key.}
        '415': {description: It is not JSON.}
  /bookings/{id}:
    get:
      operationId: close
      parameters: [{name: id, in: path, required: true, schema: {type: string, maxLength: 20, format: slug}}]
      responses: *responses
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
  schemas: {Room: {type: object, required: [name], properties: {name: {type: string, maxLength: 20}}}}
`

func writeDocument(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rooms.yaml")
	must.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// run runs the command and returns what it says, and its error.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := command()
	cmd.Writer, cmd.ErrWriter = &out, &out
	err := cmd.Run(t.Context(), append([]string{"specfirst"}, args...))
	return out.String(), err
}

// What is wrong is said before anything is written.
func TestMistakes(t *testing.T) {
	full := filepath.Join(t.TempDir(), "full")
	must.NoError(t, writeFile(filepath.Join(full, "file"), ""))
	other := t.TempDir()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no folder":             {nil, "give the folder of the new service"},
		"a name for no package": {[]string{"Book Shelf"}, `lower-case letters, digits and hyphens, as in book-shelf, got "Book Shelf"`},
		"a full folder":         {[]string{full}, "exists and is not empty"},
		"no clone":              {[]string{"shop", "--source", other}, "is not a clone of the Plant Store"},
		"no document":           {[]string{"shop", "--document", "nowhere.yaml"}, "read the document: open nowhere.yaml"},
		"no OpenAPI":            {[]string{"shop", "--document", writeDocument(t, "plants")}, "rooms.yaml:1: this is not an OpenAPI document"},
		"no operation":          {[]string{"shop", "--document", writeDocument(t, "openapi: 3.0.3\ninfo: {title: a, version: '1'}\npaths: {}")}, "rooms.yaml:3: the document has no operation"},
		"what is not checked":   {[]string{"shop", "--document", writeDocument(t, strings.Replace(roomsDocument, "maxLength: 20, format", "pattern: '(', format", 1))}, "rooms.yaml:16: GET /bookings/{id}: the pattern \"(\""},
		"nothing to leave out":  {[]string{"shop", "--document", writeDocument(t, roomsDocument), "--exclude", "GET /rooms"}, `has no operation "GET /rooms" to leave out`},
		"another module path":   {[]string{"shop", "--module", "a b"}, "malformed module path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if _, err := run(t, append([]string{"new"}, test.args...)...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
			left, err := os.ReadDir(".")
			must.NoError(t, err)
			if len(left) > 0 {
				t.Errorf("it has written %v", left)
			}
		})
	}
	t.Run("no go", func(t *testing.T) {
		t.Setenv("PATH", other)
		if _, err := run(t, "new", "shop"); err == nil || !strings.Contains(err.Error(), "install Go") {
			t.Errorf("the error is %v", err)
		}
	})
}

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

// With --no-docs nothing is left of the page.
func TestNoDocs(t *testing.T) {
	read, err := readDocument(writeDocument(t, roomsDocument), nil, false)
	must.NoError(t, err)
	for _, s := range []*service{{name: "shed", module: "example.org/shed"}, {name: "shed", module: "example.org/shed", document: read}} {
		folder := t.TempDir()
		s.hasNoDocs = true
		must.NoError(t, s.writeFiles(folder))
		for _, name := range []string{"README.md", "Makefile", "internal/httpapi/httpapi.go"} {
			text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
			must.NoError(t, err)
			if regexp.MustCompile(`/docs\b|docs\.`).Match(text) {
				t.Errorf("%s has something of the page", name)
			}
		}
		if _, err := os.Stat(filepath.Join(folder, "internal", "httpapi", "docs_test.go")); err == nil {
			t.Error("the test of the page is left")
		}
		if slices.Contains(s.copied(), "./api/docs") {
			t.Error("the package of the page comes along")
		}
	}
}

// Each method of the generated interface gets an operation, whatever its comment is.
func TestUnwritten(t *testing.T) {
	const generated = "package server\n\ntype StrictServerInterface interface {\n" +
		"\t// Old: it (all) goes.\n\t// (GET /old/{id})\n\t//\n\t// Deprecated: soon\n" +
		"\tGetOld(ctx context.Context, request GetOldRequestObject) (GetOldResponseObject, error)\n}\n"
	code, err := unwritten(generated, "example.com/a")
	must.NoError(t, err)
	for _, want := range []string{
		"// GetOld implements GET /old/{id}.\n",
		"GetOld(ctx context.Context, request server.GetOldRequestObject) (server.GetOldResponseObject, error)",
	} {
		if !strings.Contains(code, want) {
			t.Errorf("there is no %q in\n%s", want, code)
		}
	}
}

// A command that does not exist is answered with the one that does, in one line.
func TestUnknownCommand(t *testing.T) {
	for _, args := range [][]string{{"neu"}, {"neu", "bookshelf"}, {"bookshelf", "--module", "example.com/bookshelf"}, {"help"}} {
		said, err := run(t, args...)
		if err == nil || said != "" {
			t.Errorf("specfirst %q: it says %q, and the error is %v", args, said, err)
			continue
		}
		isFlag := strings.Contains(err.Error(), "unknown flag") || strings.Contains(err.Error(), "not defined")
		isCommand := strings.Contains(err.Error(), `unknown command "`+args[0]+`": write specfirst new and the folder of the new service`)
		if !isCommand && !isFlag {
			t.Errorf("specfirst %q: %v", args, err)
		}
	}
	if said, err := run(t); err != nil || !strings.Contains(said, "write a service to a new folder") {
		t.Errorf("specfirst says %q, %v, want the help", said, err)
	}
}

// A flag that does not exist is answered with one that does, once.
func TestSuggestion(t *testing.T) {
	said, err := run(t, "new", "shop", "--docment", "rooms.yaml")
	if err == nil {
		t.Fatal("--docment is accepted")
	}
	said += err.Error()
	if strings.Count(said, "docment") != 1 || !strings.Contains(said, "did you mean --document?") {
		t.Errorf("it says %q", said)
	}
	if _, err := run(t, "new", "shop", "--zzzz"); err == nil || !strings.HasPrefix(err.Error(), "unknown flag --zzzz (") {
		t.Errorf("of a flag that is like no other it says %v", err)
	}
}

// A new service has its own names everywhere, and of this module only what is public.
func TestNames(t *testing.T) {
	rooms, err := readDocument(writeDocument(t, roomsDocument), nil, false)
	must.NoError(t, err)
	if rooms.basePath != "/v1" || len(rooms.formats) != 1 || rooms.formats[0] != "slug" {
		t.Errorf("the base path is %q, and the unknown formats are %q", rooms.basePath, rooms.formats)
	}
	plain, err := readDocument(writeDocument(t, strings.Replace(roomsDocument, ", format: slug", "", 1)), nil, false)
	must.NoError(t, err)
	for name, document := range map[string]*ownDocument{"the example": nil, "a document": rooms, "without formats": plain} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			s := &service{name: "tool-shed", module: "example.org/shed", document: document}
			must.NoError(t, s.writeFiles(folder))
			files := 0
			must.NoError(t, fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				files++
				text, err := os.ReadFile(filepath.Join(folder, name))
				must.NoError(t, err)
				if found := regexp.MustCompile(`(?i)bookshelf|specfirst`).FindString(strings.ReplaceAll(name+string(text), plantstore+"/cmd/specfirst/codegen", "")); found != "" {
					t.Errorf("%s has %q", name, found)
				}
				if document != nil && regexp.MustCompile(`(?i)\b(isbn|books?)\b`).Match(text) && !strings.HasSuffix(name, "auth_test.go") {
					t.Errorf("%s has something of books", name)
				}
				if formatted, err := format.Source(text); strings.HasSuffix(name, ".go") && (err != nil || !bytes.Equal(formatted, text)) {
					t.Errorf("gofmt would change %s (%v)", name, err)
				}
				for _, imported := range regexp.MustCompile(`"github\.com/plantstore/plantstore/([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
					if !slices.Contains([]string{"api/contract", "api/contracttest", "api/docs"}, imported[1]) {
						t.Errorf("%s imports %s", name, imported[1])
					}
				}
				return nil
			}))
			for _, name := range []string{".github/workflows/check.yml", ".gitignore", "cmd/tool-shed/main.go", "README.md", "internal/operations/operations.go"} {
				if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
					t.Error(err)
				}
			}
			if files > 26 {
				t.Errorf("there are %d files", files)
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
