package main

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
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
