package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contract"
)

const generator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen"

// document is a document of one's own.
type document struct {
	path     string
	text     []byte
	basePath string            // of its first server, if that is fixed
	schemes  []contract.Scheme // of all operations
}

// readDocument returns an error for what the new service could not serve.
func readDocument(path string) (*document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	accept := func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
		return nil, nil
	}
	checker, err := contract.New(text, contract.Options{Authorize: accept})
	if err != nil {
		return nil, fmt.Errorf("%s cannot be served: %s", path, firstLines(err.Error()))
	}
	if len(checker.Operations()) == 0 {
		return nil, fmt.Errorf("%s cannot be served: it has no operation", path)
	}
	d := &document{path: path, text: text}
	for _, operation := range checker.Operations() {
		d.schemes = append(d.schemes, slices.Concat(operation.Security...)...)
	}
	loaded, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	if len(loaded.Servers) > 0 && len(loaded.Servers[0].Variables) == 0 { // with variables no path is fixed
		server, err := url.Parse(loaded.Servers[0].URL)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be served: its first server: %w", path, err)
		}
		d.basePath = strings.TrimSuffix(server.EscapedPath(), "/")
	}
	return d, nil
}

// fileName is the name of the document in the folder api.
func (d *document) fileName() string {
	if strings.EqualFold(filepath.Ext(d.path), ".json") {
		return "openapi.json"
	}
	return "openapi.yaml"
}

// adapt changes a file of the example that depends on the document.
func (d *document) adapt(name, text string) string {
	switch name {
	case "api/openapi.yaml":
		return string(d.text)
	case "internal/httpapi/httpapi.go":
		text = strings.Replace(text, `const basePath = ""`, "const basePath = "+strconv.Quote(d.basePath), 1)
	case "internal/httpapi/httpapi_test.go":
		text = strings.Replace(text, `http.Header{"Authorization": {"Bearer " + secret}}`, d.credentials(), 1)
	}
	return strings.ReplaceAll(text, "openapi.yaml", d.fileName())
}

// credentials returns the headers, as Go code, with which the contract test has each credential of the document.
// It has none in a query.
func (d *document) credentials() string {
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
func (d *document) generate(ctx context.Context, folder, module string) error {
	for _, generated := range []string{"gen/server", "gen/client"} {
		if err := os.MkdirAll(filepath.Join(folder, generated), 0o755); err != nil {
			return err
		}
	}
	if _, err := goCommand(ctx, folder, "generate", "./..."); err != nil {
		return fmt.Errorf("oapi-codegen cannot generate code of %s: %w", d.path, err)
	}
	operations, err := unwritten(filepath.Join(folder, "gen", "server", "server.gen.go"), module)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(folder, "internal", "operations", "unwritten.go"), operations)
}

// unwritten returns a file with a method for each one of the generated interface.
func unwritten(generated, module string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), generated, nil, parser.ParseComments)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "package operations\n\nimport (\n\t\"context\"\n\n\t%q\n\t%q\n)\n\n", module+"/gen/server", module+"/internal/httpapi")
	fmt.Fprint(&out, "// The operations that are not written yet.\n\nvar _ server.StrictServerInterface = Service{}\n")
	for _, method := range methodsOf(file, "StrictServerInterface") {
		name := method.Names[0].Name
		comment := strings.Split(strings.TrimSpace(method.Doc.Text()), "\n")
		route := strings.Trim(comment[len(comment)-1], "()")
		fmt.Fprintf(&out, "\n// %s implements %s.\nfunc (s Service) %[1]s(ctx context.Context, request server.%[1]sRequestObject) (server.%[1]sResponseObject, error) {\n"+
			"\treturn nil, httpapi.ErrNotWritten\n}\n", name, route)
	}
	return out.String(), nil
}

// methodsOf returns the methods of an interface.
func methodsOf(file *ast.File, name string) (methods []*ast.Field) {
	ast.Inspect(file, func(node ast.Node) bool {
		if declared, ok := node.(*ast.TypeSpec); ok && declared.Name.Name == name {
			if contents, ok := declared.Type.(*ast.InterfaceType); ok {
				methods = contents.Methods.List
			}
		}
		return true
	})
	return methods
}
