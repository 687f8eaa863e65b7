package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
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
	formats  []string          // of texts, that package contract does not know
}

var unknownFormat = regexp.MustCompile(`the format "([^"]*)" is not checked`)

// readDocument returns an error for what the new service could not serve.
func readDocument(path string) (*document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	options := contract.Options{Formats: map[string]func(string) error{}, Authorize: acceptAll}
	checker, err := contract.New(text, options)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be served: %s", path, firstLines(err.Error()))
	}
	for _, unknown := range unknownFormat.FindAllStringSubmatch(strings.Join(checker.Notes(), "\n"), -1) { // the new service can check them
		options.Formats[unknown[1]] = nil
	}
	if len(checker.Operations()) == 0 {
		return nil, fmt.Errorf("%s cannot be served: it has no operation", path)
	}
	d := &document{path: path, text: text, formats: slices.Sorted(maps.Keys(options.Formats))}
	for _, operation := range checker.Operations() {
		d.schemes = append(d.schemes, slices.Concat(operation.Security...)...)
	}
	loaded, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	if loaded.IsOpenAPI31OrLater() { // oapi-codegen does not know all of it
		return nil, fmt.Errorf("%s cannot be served: the document has OpenAPI %s, need 3.0", path, loaded.OpenAPI)
	}
	if len(loaded.Servers) > 0 && len(loaded.Servers[0].Variables) == 0 { // with variables no path is fixed
		server, err := url.Parse(loaded.Servers[0].URL)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be served: its first server: %w", path, err)
		}
		d.basePath = strings.TrimSuffix(server.EscapedPath(), "/")
	}
	if slices.ContainsFunc(checker.Operations(), d.isHealthCheck) {
		return nil, fmt.Errorf("%s cannot be served: GET %s is the health check of the new service: take it out of the document", path, healthCheck)
	}
	return d, nil
}

// healthCheck is the path of the health check of a new service, which no document has.
const healthCheck = "/healthz"

func (d *document) isHealthCheck(operation *contract.Operation) bool {
	return operation.Method == http.MethodGet && d.basePath+operation.Path == healthCheck
}

func acceptAll(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
	return nil, nil
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
		checks := ""
		for _, format := range d.formats {
			checks += "\n\t" + strconv.Quote(format) + ": func(string) error { return nil }, // every text is accepted: write a check"
		}
		text = strings.Replace(text, "func(text string) error{}", "func(text string) error{"+checks+"\n}", 1)
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
	generated, err := os.ReadFile(filepath.Join(folder, "gen", "server", "server.gen.go"))
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(folder, "internal", "operations", "unwritten.go"), unwritten(string(generated), module))
}

// strictMethod is a method of the generated interface that the operations implement.
var strictMethod = regexp.MustCompile(`(?m)^\t// \((.*)\)\n\t(\w+)\(ctx context\.Context, request \w+RequestObject\)`)

// unwritten returns a file with the methods of a generated interface.
func unwritten(generated, module string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "package operations\n\nimport (\n\t\"context\"\n\n\t%q\n\t%q\n)\n\n", module+"/gen/server", module+"/internal/httpapi")
	fmt.Fprint(&out, "// The operations that are not written yet.\n\nvar _ server.StrictServerInterface = Service{}\n")
	for _, method := range strictMethod.FindAllStringSubmatch(generated, -1) {
		fmt.Fprintf(&out, "\n// %[2]s implements %[1]s.\n"+
			"func (s Service) %[2]s(ctx context.Context, request server.%[2]sRequestObject) (server.%[2]sResponseObject, error) {\n"+
			"\treturn nil, httpapi.ErrNotWritten\n}\n", method[1], method[2])
	}
	return out.String()
}
