// Package exported lists what other modules can use of the Go packages in api, a line each, in api/exported.txt. A change of it
// shows in the difference of a commit, and make compat compares it with the last release. After a change:
//
//	go test ./internal/exported -update
package exported

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/golden"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// packages are those that v1 promises to keep. What is in gen follows the document, which make compat compares.
var packages = []string{
	"api/client", "api/client/clienttest", "api/contract", "api/contracttest", "api/contracttest/report",
	"api/contracttest/scenario", "api/docs",
}

func TestExported(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, name := range packages {
		for _, line := range exported(t, name) {
			fmt.Fprintf(&text, "%s: %s\n", name, line)
		}
	}
	golden.Compare(t, "../../api/exported.txt", text.String())
}

// exported returns the exported names of a package with their types, in order.
func exported(t *testing.T, name string) (lines []string) {
	t.Helper()
	files, err := filepath.Glob("../../" + name + "/*.go")
	must.NoError(t, err)
	set := token.NewFileSet()
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		must.NoError(t, err)
		file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		must.NoError(t, err)
		if !ast.FileExports(file) {
			continue
		}
		for _, declaration := range file.Decls {
			lines = append(lines, linesOf(declaration)...)
		}
	}
	if len(lines) == 0 {
		t.Fatalf("%s exports nothing", name)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// linesOf returns a line for each name that a declaration exports.
func linesOf(declaration ast.Decl) (lines []string) {
	if function, ok := declaration.(*ast.FuncDecl); ok {
		function.Body, function.Doc = nil, nil
		return []string{inOneLine(function)}
	}
	general := declaration.(*ast.GenDecl)
	for _, spec := range general.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			lines = append(lines, linesOfType(spec)...)
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if name.IsExported() {
					lines = append(lines, general.Tok.String()+" "+name.Name)
				}
			}
		}
	}
	return lines
}

// linesOfType returns a line for a type, and for each of its fields and methods.
func linesOfType(spec *ast.TypeSpec) (lines []string) {
	fields, kind := (*ast.FieldList)(nil), ""
	switch of := spec.Type.(type) {
	case *ast.StructType:
		fields, kind = of.Fields, "struct"
	case *ast.InterfaceType:
		fields, kind = of.Methods, "interface"
	default:
		spec.Doc, spec.Comment = nil, nil
		return []string{"type " + inOneLine(spec)}
	}
	lines = []string{"type " + spec.Name.Name + " " + kind}
	for _, field := range fields.List {
		of := lines[0] + ", "
		if len(field.Names) == 0 {
			lines = append(lines, of+inOneLine(field.Type))
		}
		for _, name := range field.Names {
			lines = append(lines, of+name.Name+" "+inOneLine(field.Type))
		}
	}
	return lines
}

// inOneLine is the text of a node.
func inOneLine(node any) string {
	var b bytes.Buffer
	_ = printer.Fprint(&b, token.NewFileSet(), node) // a buffer takes all
	return strings.Join(strings.Fields(b.String()), " ")
}
