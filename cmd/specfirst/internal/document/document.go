// Package document reads the OpenAPI document of a service with the lines of its file, for messages that name them, and
// prepares it for oapi-codegen.
//
// [Read] reads a file, joins the files beside it that it refers to (join.go), and looks for the mistakes of beginners
// (check.go). [Document.Exclude] leaves operations out (edit.go), [Document.AddErrors]
// adds the responses that every service has (errors.go). [Document.Prepared] is what
// oapi-codegen reads (prepare.go): package contract checks all the rest.
package document

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Document is an OpenAPI document.
type Document struct {
	Path string
	Text []byte // as in the file, unless it was joined or edited

	// Warnings say what means nothing, although it can be served.
	Warnings []error

	root   *yaml.Node
	origin map[*yaml.Node]string // the file of what was joined
}

// Operation is an operation of the document.
type Operation struct {
	Method, Path, ID string
	Line             int

	node, item *yaml.Node
}

// Mistake is what is wrong with a document, in one sentence with the next step.
type Mistake struct {
	File string
	Line int
	Text string
}

func (m *Mistake) Error() string {
	if m.Line == 0 {
		return m.File + ": " + m.Text
	}
	return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Text)
}

// methods are those that a path can have.
var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// Read reads a document, and returns the first mistake that is found in it.
func Read(path string) (*Document, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	root, err := parse(path, content)
	if err != nil {
		return nil, err
	}
	d := &Document{Path: path, Text: content, root: root, origin: map[*yaml.Node]string{}}
	if err := d.checkVersion(); err != nil {
		return nil, err
	}
	if err := d.join(); err != nil {
		return nil, err
	}
	return d, d.check()
}

// parse reads YAML or JSON.
func parse(path string, content []byte) (*yaml.Node, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(bytes.TrimPrefix(content, []byte("\ufeff")), &file); err != nil {
		return nil, syntaxMistake(path, content, err)
	}
	if file.Kind != yaml.DocumentNode || target(file.Content[0]).Kind != yaml.MappingNode {
		return nil, &Mistake{path, 1, "this is not an OpenAPI document: it begins with openapi: 3.0.3 or openapi: 3.1.0"}
	}
	return file.Content[0], nil
}

// Operations returns the operations in the order of the document.
func (d *Document) Operations() (found []Operation) {
	for path, item := range members(find(d.root, "paths")) {
		for key, node := range members(d.followed(item)) {
			if slices.Contains(methods, key.Value) && node.Kind == yaml.MappingNode {
				found = append(found, Operation{strings.ToUpper(key.Value), path.Value, text(node, "operationId"), key.Line, node, d.followed(item)})
			}
		}
	}
	return found
}

// parametersOf returns the parameters of an operation, after those of its path.
func (d *Document) parametersOf(operation Operation) (found []*yaml.Node) {
	for _, each := range slices.Concat(items(find(operation.item, "parameters")), items(find(operation.node, "parameters"))) {
		found = append(found, d.followed(each))
	}
	return found
}

// followed returns what a reference leads to, or the node itself.
func (d *Document) followed(node *yaml.Node) *yaml.Node {
	for range 32 { // a reference to itself would have no end
		reference := text(node, "$ref")
		pointer, isInside := strings.CutPrefix(reference, "#")
		if !isInside {
			return node
		}
		node = resolve(d.root, pointer)
	}
	return node
}

// mistake returns what is wrong at a node.
func (d *Document) mistake(node *yaml.Node, format string, args ...any) error {
	line := 0
	if node != nil {
		line = node.Line
	}
	return &Mistake{d.fileOf(node), line, fmt.Sprintf(format, args...)}
}

// fileOf returns the file of a node.
func (d *Document) fileOf(node *yaml.Node) string { return cmp.Or(d.origin[node], d.Path) }

// Explain returns an error of others with the line of the operation that it begins with.
func (d *Document) Explain(err error) error {
	if err == nil {
		return nil
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	for _, operation := range d.Operations() {
		if strings.Contains(first, operation.Method+" "+operation.Path+":") {
			return &Mistake{d.Path, operation.Line, first}
		}
	}
	return &Mistake{d.Path, 0, first}
}

// BasePath returns the path of the first server. With variables no path is fixed.
func (d *Document) BasePath() string {
	servers := append(items(find(d.root, "servers")), mapping())
	address, err := url.Parse(text(servers[0], "url"))
	if err != nil || find(servers[0], "variables") != nil {
		return ""
	}
	return strings.TrimSuffix(address.EscapedPath(), "/")
}

// IsJSON reports whether the document is JSON.
func (d *Document) IsJSON() bool { return strings.EqualFold(filepath.Ext(d.Path), ".json") }
