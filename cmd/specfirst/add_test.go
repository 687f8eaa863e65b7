package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// What the command line cannot mean is said before the service is looked at.
func TestResourceMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no noun":                {[]string{"--key", "id:integer"}, "give the noun of the new resource"},
		"no key":                 {[]string{"book", "--field", "title:string"}, `Required flag "key" not set`},
		"an upper-case noun":     {[]string{"Book", "--key", "id:integer"}, `lower-case letter first, as in book or orderLine, got "Book"`},
		"a word of Go":           {[]string{"type", "--key", "id:integer"}, "type is a word of Go"},
		"a name of the code":     {[]string{"page", "--key", "id:integer"}, "page is a word of Go, or a name that the code has already"},
		"a plural of SQL":        {[]string{"value", "--key", "id:integer"}, "values is a word of SQL: give another one with --plural"},
		"a plural like one":      {[]string{"sheep", "--plural", "sheep", "--key", "id:integer"}, "the plural of sheep is the same word"},
		"a key without a type":   {[]string{"book", "--key", "isbn"}, `--key: isbn has the type "", want string, integer`},
		"a date as key":          {[]string{"book", "--key", "day:date", "--field", "a:string"}, "--key: a key is a string or an integer, got day:date"},
		"a key of Go":            {[]string{"book", "--key", "type:string"}, "--key: type is a word of Go"},
		"nothing beside the key": {[]string{"book", "--key", "isbn:string"}, "book has nothing beside its key: add --field title:string"},
		"an unknown type":        {[]string{"book", "--key", "isbn:string", "--field", "pages:int"}, `pages has the type "int", want string, integer, number, boolean, date`},
		"a wrong value":          {[]string{"book", "--key", "isbn:string", "--field", "state:lent/"}, `state has the type "lent/"`},
		"a wrong name":           {[]string{"book", "--key", "isbn:string", "--field", "Title:string"}, `as in title:string, with a lower-case letter first, got "Title:string"`},
		"a word of SQL":          {[]string{"book", "--key", "isbn:string", "--optional", "order:integer"}, "order is a word of SQL"},
		"a name twice":           {[]string{"book", "--key", "isbn:string", "--field", "dueOn:date", "--field", "due_on:date"}, "the names dueOn and due_on are the same in Go"},
		"an unknown flag":        {[]string{"book", "--feld", "title:string"}, "did you mean --field? (specfirst add --help lists the flags)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if _, err := run(t, append([]string{"add"}, test.args...)...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

// shelve returns the folder of a service without its module, with all files committed.
func shelve(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	must.NoError(t, (&service{name: "shelf", module: "example.com/shelf"}).writeFiles(folder))
	must.NoError(t, writeFile(filepath.Join(folder, "go.mod"), "module example.com/shelf\n"))
	expect(t, folder, "git init --quiet")
	commit(t, folder)
	return folder
}

// A service that add does not understand is left as it is, and the message says why.
func TestServiceMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, folder string)
		noun   string
		want   string
	}{
		"no service": {func(t *testing.T, folder string) {
			must.NoError(t, os.Remove(filepath.Join(folder, "tools.go")))
		}, "loan", "this folder has no service that specfirst new has written (look at tools.go)"},
		"a document of JSON": {func(t *testing.T, folder string) {
			must.NoError(t, writeFile(filepath.Join(folder, "api", "openapi.json"), "{}"))
		}, "loan", "the document is api/openapi.json, and add writes YAML"},
		"a store of one's own": {func(t *testing.T, folder string) {
			must.NoError(t, writeFile(filepath.Join(folder, "internal", "store", "store.go"), "package store\n"))
		}, "loan", "internal/store/store.go is a store of your own"},
		"a mistake in the document": {func(t *testing.T, folder string) {
			change(t, filepath.Join(folder, "api", "openapi.yaml"), "type: integer", "type: intger")
		}, "loan", "api/openapi.yaml:18: there is no type intger: did you mean integer?"},
		"a document of two files": {func(t *testing.T, folder string) {
			must.NoError(t, writeFile(filepath.Join(folder, "api", "isbn.yaml"), "type: string"))
			change(t, filepath.Join(folder, "api", "openapi.yaml"), "{type: string, minLength: 10", "{$ref: isbn.yaml} # {type: string, minLength: 10")
		}, "loan", "api/openapi.yaml refers to other files, and add writes into a document of one file"},
		"paths in braces": {func(t *testing.T, folder string) {
			must.NoError(t, writeFile(filepath.Join(folder, "api", "openapi.yaml"), "openapi: 3.0.3\ninfo: {title: a, version: '1'}\n"+
				"paths: {/rooms: {get: {responses: {'200': {description: All.}}}}}\n"))
		}, "loan", "api/openapi.yaml:3: paths is written in braces: write a line for each of its members"},
		"a path that exists": {func(*testing.T, string) {}, "book", "api/openapi.yaml:11: the path /books exists already"},
		"an operation that exists": {func(t *testing.T, folder string) {
			change(t, filepath.Join(folder, "api", "openapi.yaml"), "getBook", "getLoan")
		}, "loan", "api/openapi.yaml:47: the operation getLoan exists already"},
		"a schema that exists": {func(t *testing.T, folder string) {
			change(t, filepath.Join(folder, "api", "openapi.yaml"), "    ISBN:", "    LoanPage: {type: string}\n    ISBN:")
		}, "loan", "LoanPage exists already: give the resource another name"},
		"a file that exists": {func(t *testing.T, folder string) {
			must.NoError(t, writeFile(filepath.Join(folder, "internal", "store", "loans.go"), "package store\n"))
		}, "loan", "internal/store/loans.go exists already"},
		"no repository": {func(t *testing.T, folder string) {
			must.NoError(t, os.RemoveAll(filepath.Join(folder, ".git")))
		}, "loan", "this folder is in no git repository: run git init, git add . and git commit first"},
		"a change": {func(t *testing.T, folder string) {
			must.NoError(t, writeFile(filepath.Join(folder, "notes.txt"), "mine"))
		}, "loan", "notes.txt is not committed: commit or discard your changes first"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := shelve(t)
			test.change(t, folder)
			before := statusOf(t, folder)
			t.Chdir(folder)
			_, err := run(t, "add", test.noun, "--key", "id:integer", "--field", "due:date")
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
			if after := statusOf(t, folder); after != before {
				t.Errorf("it has changed\n%s", after)
			}
		})
	}
}

// statusOf returns what git says of a folder, or nothing without a repository.
func statusOf(t *testing.T, folder string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "status", "--porcelain")
	cmd.Dir = folder
	out, _ := cmd.Output()
	return string(out)
}

// Each fragment of the books is in a file of the example: what is not would be missing in the files of other resources.
func TestFragments(t *testing.T) {
	texts := exampleFile(documentFile)
	for _, name := range codeFiles {
		texts += exampleFile(name)
	}
	for _, fragment := range books.fragments() {
		if !strings.Contains(texts, fragment) {
			t.Errorf("no file of the example has\n%s", fragment)
		}
	}
	if !strings.Contains(exampleFile(storeFile), books.step()) {
		t.Errorf("the store has no\n%s", books.step())
	}
}

// Resources of all types are added to a new service, whose tests are green at once. What add does not understand is undone.
func TestAdd(t *testing.T) {
	folder := newProject(t, "shelf", "--module", "example.com/shelf")
	expect(t, folder, "git init --quiet")
	commit(t, folder)
	t.Chdir(folder)
	add := func(args ...string) error {
		out, err := run(t, append([]string{"add"}, args...)...)
		t.Log(out)
		return err
	}
	must.NoError(t, add("loan", "--key", "id:integer", "--field", "due:date", "--field", "state:lent/returned", "--field", "fine:number",
		"--optional", "returned_on:date", "--optional", "mood:good/bad", "--optional", "is_long:boolean", "--optional", "count:integer"))
	expect(t, folder, "make test")
	commit(t, folder)
	must.NoError(t, add("person", "--plural", "people", "--key", "email_hash:string", "--optional", "nick:string"))
	expect(t, folder, "make test")
	expect(t, folder, "go vet -tags generate ./...")

	// As README.md says, git undoes it.
	expect(t, folder, "git checkout --quiet .")
	expect(t, folder, "git clean --quiet -d --force")
	if status := statusOf(t, folder); status != "" {
		t.Errorf("after git checkout there is\n%s", status)
	}

	change(t, filepath.Join(folder, "api", "openapi.yaml"), "maximum: 9999", "maximum: 9998")
	change(t, filepath.Join(folder, "api", "openapi.yaml"), "author: {type: string", "writer: {type: string")
	commit(t, folder)
	err := add("person", "--key", "id:integer", "--field", "nick:string")
	if err == nil || !strings.HasPrefix(err.Error(), "gen/ is not what the document gives: run make generate") {
		t.Errorf("of old generated code it says %v", err)
	}
	change(t, filepath.Join(folder, "api", "openapi.yaml"), "writer: {type: string", "author: {type: string")
	change(t, filepath.Join(folder, "internal", "operations", "operations.go"), "store *store.Store }", "keeper *store.Store }")
	commit(t, folder)
	err = add("person", "--key", "id:integer", "--field", "nick:string")
	if err == nil || !strings.HasPrefix(err.Error(), "the code of persons does not fit this service, which was changed since new wrote it") {
		t.Errorf("of another service it says %v", err)
	}
	if status := statusOf(t, folder); status != "" {
		t.Errorf("after a failure there is\n%s", status)
	}
}

// A resource is added to a service with a document of its own, in the form of that.
func TestAddToOwnDocument(t *testing.T) {
	document := strings.NewReplacer(
		"'400': {description: It is wrong.}", "'400': {$ref: '#/components/responses/Wrong'}",
		"  schemas: {Room: {", "  # What can go wrong.\n  responses:\n    Wrong: {description: It is wrong., content: {application/problem+json: "+
			"{schema: {type: object, required: [title], properties: {title: {type: string}}}}}}\n  schemas:\n    Room: {",
		"maxLength: 20}}}}\n", "maxLength: 20}}}\n",
	).Replace(roomsDocument)
	folder := newProject(t, "rooms", "--document", writeDocument(t, document))
	expect(t, folder, "git init --quiet")
	commit(t, folder)
	t.Chdir(folder)
	_, err := run(t, "add", "guest", "--key", "code:string", "--field", "seats:integer")
	must.NoError(t, err)
	expect(t, folder, "git diff --exit-code --quiet HEAD -- internal/operations/operations.go")
	text, err := os.ReadFile(filepath.Join(folder, "api", "openapi.yaml"))
	must.NoError(t, err)
	for _, want := range []string{"  # What can go wrong.", "'409': {$ref: '#/components/responses/Conflict'}", "'415': {$ref: '#/components/responses/Unsupported"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-v", "-count=1", "./...")
	out, _ := cmd.CombinedOutput() // it fails for the operations of the document
	for _, want := range []string{"--- PASS: TestGuests", "addRoom is not written yet", "close is not written yet"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the tests do not say %q:\n%s", want, out)
		}
	}
	if !regexp.MustCompile(`replaceGuest +\d+ kept, +0 broken`).Match(out) {
		t.Errorf("the contract test says of guests\n%s", out)
	}
}
