package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/cmd/specfirst/internal/codegen"
	"github.com/plantstore/plantstore/cmd/specfirst/internal/document"
)

const generator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen"

// ownDocument is a document of one's own, and what its service needs to know of it.
type ownDocument struct {
	*document.Document

	basePath  string            // of its first server, if that is fixed
	schemes   []contract.Scheme // of all operations
	formats   []string          // of texts, that package contract does not know
	unchecked []string          // media types that it passes on as they are
	health    string            // path of the health check, which the document does not have

	operations []*contract.Operation
}

// readDocument reads a document, leaves operations out, and adds errors. Its error is one sentence for what is wrong.
func readDocument(path string, excluded []string, addsErrors bool) (*ownDocument, error) {
	read, err := document.Read(path)
	if err != nil {
		return nil, err
	}
	for _, name := range excluded {
		if err := read.Exclude(name); err != nil {
			return nil, err
		}
	}
	if addsErrors {
		if err := read.AddErrors(); err != nil {
			return nil, err
		}
	}
	checker, unchecked, err := codegen.NewChecker(read)
	if err != nil {
		return nil, err
	}
	d := &ownDocument{
		Document: read, basePath: read.BasePath(), unchecked: unchecked,
		formats:    checker.UnknownFormats(), // the new service can check them
		operations: checker.Operations(),
	}
	for _, operation := range d.operations {
		d.schemes = append(d.schemes, slices.Concat(operation.Security...)...)
	}
	d.health = d.freeHealthCheck()
	return d, nil
}

// healthChecks are the paths that the health check of a new service may have.
var healthChecks = []string{"/healthz", "/livez", "/-/health"}

// freeHealthCheck returns the first path for a health check that the document does not have.
func (d *ownDocument) freeHealthCheck() string {
	isFree := func(path string) bool {
		return !slices.ContainsFunc(d.operations, func(operation *contract.Operation) bool { return d.basePath+operation.Path == path })
	}
	return healthChecks[max(slices.IndexFunc(healthChecks, isFree), 0)]
}

// fileName is the name of the document in the folder api.
func (d *ownDocument) fileName() string {
	if d.IsJSON() {
		return "openapi.json"
	}
	return "openapi.yaml"
}

// adapt changes a file of the example that depends on the document.
func (d *ownDocument) adapt(name, text string) string {
	switch name {
	case "api/openapi.yaml":
		return string(d.Text)
	case "internal/httpapi/httpapi.go":
		text = strings.Replace(text, `const BasePath = ""`, "const BasePath = "+strconv.Quote(d.basePath), 1)
		checks := ""
		for _, format := range d.formats {
			checks += "\n\t" + strconv.Quote(format) + ": func(string) error { return nil }, // every text is accepted: write a check"
		}
		text = strings.Replace(text, "func(text string) error{}", "func(text string) error{"+checks+"\n}", 1)
		if len(d.unchecked) > 0 {
			text = strings.Replace(text, "var unchecked []string", "var unchecked = "+fmt.Sprintf("%#v", d.unchecked), 1)
		}
	case "internal/httpapi/httpapi_test.go":
		text = strings.Replace(text, `http.Header{"Authorization": {"Bearer " + secret}}`, d.credentials(), 1)
	}
	if name == "README.md" {
		text = strings.Replace(text, curlInReadme, d.curl(d.operations, "a-token-for-development"), 1)
	}
	text = strings.ReplaceAll(text, healthChecks[0], d.health)
	text = strings.ReplaceAll(text, "openapi.yaml", d.fileName())
	return strings.NewReplacer(`"/openapi.json"`, `"/openapi.yaml"`, "`/openapi.json`", "`/openapi.yaml`").Replace(text) // the path of package docs
}

// credentials returns the headers, as Go code, with which the contract test has each credential of the document.
// It has none in a query.
func (d *ownDocument) credentials() string {
	headers := map[string]string{}
	for _, scheme := range d.schemes {
		switch {
		case scheme.In == "header":
			headers[http.CanonicalHeaderKey(scheme.Key)] = "secret"
		case scheme.In == "cookie":
			headers["Cookie"] = strconv.Quote(scheme.Key+"=") + " + secret"
		case strings.EqualFold(scheme.Scheme, "basic"):
			user := base64.StdEncoding.EncodeToString([]byte("user:a-secret-of-tests"))
			headers["Authorization"] = strconv.Quote("Basic " + user)
		case scheme.In == "":
			headers["Authorization"] = `"Bearer " + secret`
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		parts = append(parts, strconv.Quote(name)+": {"+headers[name]+"}")
	}
	return "http.Header{" + strings.Join(parts, ", ") + "}"
}

// generate generates gen/, and writes an operation that is not written yet for each method of the server.
func (d *ownDocument) generate(ctx context.Context, folder, module string) error {
	if err := codegen.Generate(ctx, folder, d.Document); err != nil {
		return err
	}
	generated, err := os.ReadFile(filepath.Join(folder, "gen", "server", "server.gen.go"))
	if err != nil {
		return err
	}
	code, err := unwritten(string(generated), module)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(folder, "internal", "operations", "unwritten.go"), code)
}

// unwritten returns a file with the methods of the generated interface.
func unwritten(generated, module string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "server.gen.go", generated, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	methods := typeOf(file, "StrictServerInterface").(*ast.InterfaceType).Methods.List
	imports := fmt.Sprintf("\t\"context\"\n\n\t%q\n\t%q\n", module+"/gen/server", module+"/internal/httpapi")
	var out strings.Builder
	fmt.Fprintf(&out, "package operations\n\nimport (\n%s)\n\n", imports)
	fmt.Fprint(&out, "// The operations that are not written yet.\n")
	for _, method := range methods {
		name := method.Names[0].Name
		fmt.Fprintf(&out, "\n// %s implements %s.\n", name, requestLine(method))
		fmt.Fprintf(&out, "func (s Service) %[1]s(ctx context.Context, request server.%[2]s) (server.%[3]s, error) {\n\treturn nil, httpapi.ErrNotWritten\n}\n",
			name, typeName(method.Type.(*ast.FuncType).Params, 1), typeName(method.Type.(*ast.FuncType).Results, 0))
	}
	return out.String(), nil
}

// typeOf returns what a type is declared as in a file, or nil.
func typeOf(file *ast.File, name string) ast.Expr {
	for _, declared := range file.Decls {
		group, _ := declared.(*ast.GenDecl)
		if group == nil || group.Tok != token.TYPE {
			continue
		}
		for _, spec := range group.Specs {
			if each := spec.(*ast.TypeSpec); each.Name.Name == name {
				return each.Type
			}
		}
	}
	return nil
}

// requestLine returns the method and path of an operation, which oapi-codegen has in parentheses in the comment.
func requestLine(method *ast.Field) string {
	for line := range strings.Lines(method.Doc.Text()) {
		line = strings.TrimSpace(line)
		if verb, path, isFound := strings.Cut(strings.Trim(line, "()"), " "); isFound && strings.HasPrefix(line, "("+verb+" /") {
			return verb + " " + path
		}
	}
	return "an operation of the document"
}

func typeName(fields *ast.FieldList, index int) string {
	name, _ := fields.List[index].Type.(*ast.Ident)
	return name.Name
}
