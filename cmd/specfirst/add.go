package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/plantstore/plantstore/cmd/specfirst/internal/document"
)

// Files of a service that new has written. add changes the first two.
const (
	documentFile = "api/openapi.yaml"
	storeFile    = "internal/store/store.go"
	clientFile   = "internal/httpapi/client_test.go" // it comes with the first resource
	generateFile = "tools.go"

	unwrittenFile = "internal/unwritten/store.go" // the store of a service with a document of its own, in the example
)

// codeFiles are the files of the books, each of which another resource also has.
var codeFiles = []string{"internal/store/books.go", "internal/operations/books.go", "internal/httpapi/books_test.go"}

// add adds a resource to the service in the working folder, and returns the files that it has changed, as git status has them. If it
// fails, nothing is changed.
func (r *resource) add(ctx context.Context) (changed string, err error) {
	read, err := r.openService()
	if err != nil {
		return "", err
	}
	if err := r.checkConflicts(read); err != nil {
		return "", err
	}
	if err := r.extend(read); err != nil {
		return "", err
	}
	if err := checkClean(ctx); err != nil {
		return "", err
	}
	defer func() {
		if err != nil { // there was nothing but what is committed
			_, checkoutErr := runProgram(context.WithoutCancel(ctx), ".", "git", "checkout", "--quiet", "--", ".")
			_, cleanErr := runProgram(context.WithoutCancel(ctx), ".", "git", "clean", "--quiet", "-d", "--force", "--", ".")
			err = errors.Join(err, checkoutErr, cleanErr)
		}
	}()
	if _, err := goCommand(ctx, ".", "generate", "./..."); err != nil {
		return "", err
	}
	if err := checkClean(ctx); err != nil {
		return "", errors.New("gen/ is not what the document gives: run make generate, and commit what it changes")
	}
	if err := os.WriteFile(documentFile, read.Text, 0o644); err != nil {
		return "", err
	}
	if _, err := goCommand(ctx, ".", "generate", "./..."); err != nil {
		return "", err
	}
	for _, write := range []func() error{r.readWireNames, r.writeStore, r.writeCode} {
		if err := write(); err != nil {
			return "", err
		}
	}
	if err := addModules(ctx, ".", "./..."); err != nil {
		return "", err
	}
	if _, err := goCommand(ctx, ".", "vet", "./..."); err != nil {
		return "", fmt.Errorf("the code of %s does not fit this service, which was changed since new wrote it: %w", r.many, err)
	}
	status, err := runProgram(ctx, ".", "git", "status", "--porcelain", "--untracked-files=all", "--", ".")
	return string(status), err
}

// openService reads what is needed of the service in the working folder.
func (r *resource) openService() (*document.Document, error) {
	if _, err := os.Stat("api/openapi.json"); err == nil {
		return nil, errors.New("the document is api/openapi.json, and add writes YAML: convert it to " + documentFile + ", and name that in " + generateFile)
	}
	texts := map[string]string{}
	for _, file := range []struct{ name, has string }{
		{"go.mod", "module "}, {generateFile, "cmd/specfirst/codegen " + documentFile}, {documentFile, ""}, {storeFile, ""},
	} {
		text, err := os.ReadFile(filepath.FromSlash(file.name))
		if err != nil || !strings.Contains(string(text), file.has) {
			return nil, fmt.Errorf("this folder has no service that specfirst new has written (look at %s): run add in the folder of one", file.name)
		}
		texts[file.name] = string(text)
	}
	_, module, _ := strings.Cut(texts["go.mod"], "module ")
	r.module = strings.Fields(module)[0]
	if _, err := stepsOf(texts[storeFile]); err != nil && texts[storeFile] != exampleFile(unwrittenFile) {
		return nil, err
	}
	read, err := document.Read(documentFile)
	if err != nil {
		return nil, err
	}
	if string(read.Text) != texts[documentFile] {
		return nil, errors.New(documentFile + " refers to other files, and add writes into a document of one file: put the parts into it")
	}
	r.basePath, r.isSecured = read.BasePath(), read.IsSecured()
	return read, nil
}

// checkClean demands that all files are committed, so that what add writes can be undone.
func checkClean(ctx context.Context) error {
	status, err := runProgram(ctx, ".", "git", "status", "--porcelain", "--", ".")
	if err != nil {
		return errors.New("this folder is in no git repository: run git init, git add . and git commit first, so that add can be undone")
	}
	if len(status) > 0 {
		return fmt.Errorf("%s is not committed: commit or discard your changes first, so that add can be undone",
			strings.Fields(string(status))[1])
	}
	return nil
}

// checkConflicts finds what the service has already.
func (r *resource) checkConflicts(read *document.Document) error {
	title := upperFirst(r.one)
	for _, operation := range read.Operations() {
		if operation.Path == "/"+r.many || strings.HasPrefix(operation.Path, "/"+r.many+"/") {
			return &document.Mistake{File: documentFile, Line: operation.Line, Text: fmt.Sprintf(
				"the path %s exists already: give the resource another name, or --plural another word", operation.Path)}
		}
		for _, id := range []string{"list" + upperFirst(r.many), "create" + title, "get" + title, "replace" + title, "delete" + title} {
			if strings.EqualFold(operation.ID, id) {
				return &document.Mistake{File: documentFile, Line: operation.Line, Text: fmt.Sprintf(
					"the operation %s exists already: give the resource another name", operation.ID)}
			}
		}
	}
	for _, schema := range append(r.nameOfEnums(), title, title+"Content", title+"Page", r.nameOfKey()) {
		if err := read.Taken("components", "schemas", schema); err != nil {
			return err
		}
	}
	for _, name := range codeFiles {
		if _, err := os.Stat(r.fileName(name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s exists already: give the resource another name", r.fileName(name))
		}
	}
	return nil
}

// fileName returns where a file of the books is for this resource.
func (r *resource) fileName(name string) string {
	return filepath.FromSlash(strings.Replace(name, "/books", "/"+strings.ToLower(r.many), 1))
}

// errorLine finds the errors that an operation has.
var errorLine = regexp.MustCompile(`(?m)^ *'(4\d\d)': \{\$ref: '(.*)'\}\n`)

// extend adds the operations and schemas to the document, which is not written yet.
func (r *resource) extend(read *document.Document) error {
	_, after, _ := strings.Cut(exampleFile(documentFile), "paths:\n")
	paths, components, _ := strings.Cut(after, "components:\n")
	_, schemas, _ := strings.Cut(components, "  schemas:\n")
	schemas, _, _ = strings.Cut(schemas, "    Error:\n")
	references := map[string]string{}
	for _, parts := range errorLine.FindAllStringSubmatch(paths, -1) {
		status := parts[1]
		if references[status] != "" || status == "401" && !r.isSecured {
			continue
		}
		var err error
		if references[status], err = read.ErrorReference(status); err != nil {
			return err
		}
	}
	paths = errorLine.ReplaceAllStringFunc(paths, func(line string) string {
		parts := errorLine.FindStringSubmatch(line)
		if references[parts[1]] == "" {
			return ""
		}
		return strings.Replace(line, parts[2], references[parts[1]], 1)
	})
	if err := read.Insert(unindent(r.derive(paths), 2), "paths"); err != nil {
		return err
	}
	return read.Insert(unindent(r.derive(schemas), 4), "components", "schemas")
}

func unindent(lines string, spaces int) string {
	return strings.ReplaceAll("\n"+lines, "\n"+strings.Repeat(" ", spaces), "\n")[1:]
}

// readWireNames reads the names of the fields in generated code.
func (r *resource) readWireNames() error {
	file, err := parser.ParseFile(token.NewFileSet(), "gen/server/server.gen.go", nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	names := map[string]string{}
	if described, isStruct := typeOf(file, upperFirst(r.one)).(*ast.StructType); isStruct {
		for _, each := range described.Fields.List {
			tag := reflect.StructTag(strings.Trim(each.Tag.Value, "`")).Get("json")
			name, _, _ := strings.Cut(tag, ",")
			names[name] = each.Names[0].Name
		}
	}
	r.key.wire = names[r.key.name]
	for i, each := range r.fields {
		r.fields[i].wire = names[each.name]
	}
	if len(names) != len(r.fields)+1 {
		return fmt.Errorf("the generated code has no type %s with these fields: give the resource another name", upperFirst(r.one))
	}
	return nil
}

// writeStore adds the table to the schema of the store. A service without a store gets that of the example.
func (r *resource) writeStore() error {
	text, err := os.ReadFile(storeFile)
	if err != nil {
		return err
	}
	if string(text) == exampleFile(unwrittenFile) {
		text = []byte(strings.Replace(exampleFile(storeFile), books.step(), "", 1))
	}
	end, err := stepsOf(string(text))
	if err != nil {
		return err
	}
	return writeFile(storeFile, string(text[:end])+r.step()+string(text[end:]))
}

// stepsOf returns where the steps of the schema end in the store of a service.
func stepsOf(text string) (end int, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, storeFile, text, parser.SkipObjectResolution)
	if err != nil {
		return 0, err
	}
	ast.Inspect(file, func(node ast.Node) bool {
		member, isMember := node.(*ast.KeyValueExpr)
		if !isMember {
			return true
		}
		name, _ := member.Key.(*ast.Ident)
		steps, isList := member.Value.(*ast.CompositeLit)
		if name != nil && name.Name == "Migrations" && isList {
			end = files.Position(steps.Rbrace).Offset
		}
		return true
	})
	if end == 0 {
		return 0, errors.New(storeFile + " is a store of your own: add knows only the one that specfirst new writes, with Migrations")
	}
	return end, nil
}

// writeCode writes the files of the resource.
func (r *resource) writeCode() error {
	for _, name := range codeFiles {
		code, err := r.deriveCode(exampleFile(name))
		if err == nil {
			err = writeFile(r.fileName(name), code)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", r.fileName(name), err)
		}
	}
	if _, err := os.Stat(clientFile); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeFile(clientFile, strings.ReplaceAll(exampleFile(clientFile), exampleModule, r.module))
}

// exampleFile returns the text of a file of the example.
func exampleFile(name string) string {
	text, err := example.ReadFile(exampleName + "/" + name)
	if err != nil {
		panic(err) // the command contains it
	}
	return string(text)
}
