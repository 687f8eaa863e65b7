// Package codegen generates the code of a service from its document, with oapi-codegen and the settings in api/*.cfg.yaml.
//
// It says first what is wrong with the document, in one sentence with its line. oapi-codegen gets the document without what says
// nothing about types, as OpenAPI 3.0. If that is still too much for it, the message names the operation.
package codegen

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/cmd/specfirst/internal/document"
)

// generator generates the code of the service in a folder.
type generator struct {
	folder string
	read   *document.Document
}

// Generate writes gen/ in the folder of the service of a document. If it fails, gen/ is as it was.
func Generate(ctx context.Context, folder string, read *document.Document) error {
	if _, _, err := NewChecker(read); err != nil {
		return err
	}
	g := &generator{folder, read}
	generated := filepath.Join(folder, "gen")
	before, err := os.MkdirTemp("", "codegen-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(before)
	if err := os.CopyFS(before, os.DirFS(generated)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	operations := read.Operations()
	err = g.try(ctx, len(operations))
	if err != nil && ctx.Err() == nil {
		err = g.cause(ctx, operations, err)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(generated), os.CopyFS(generated, os.DirFS(before)))
	}
	return nil
}

// cause returns the error of the operation that is the cause of one: with it and those before it, code cannot be made, and
// with those before it alone, it can.
func (g *generator) cause(ctx context.Context, operations []document.Operation, err error) error {
	if g.try(ctx, 0) != nil {
		return &document.Mistake{File: g.read.Path, Text: "oapi-codegen cannot make code of the components: " + firstLine(err)}
	}
	first := sort.Search(len(operations)-1, func(i int) bool { return g.try(ctx, i+1) != nil })
	operation := operations[first]
	name := cmp.Or(operation.ID, operation.Method+" "+operation.Path)
	return &document.Mistake{
		File: g.read.Path, Line: operation.Line,
		Text: fmt.Sprintf("oapi-codegen cannot make code of %s %s: change it, or leave it out with --exclude %q: %s",
			operation.Method, operation.Path, name, firstLine(err)),
	}
}

// NewChecker returns the checker of a document, and the media types that it passes on as they are. Its error has the line of
// what package contract does not understand.
func NewChecker(read *document.Document) (checker *contract.Checker, unchecked []string, err error) {
	accept := func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
		return nil, nil
	}
	for {
		checker, err = contract.New(read.Text, contract.Options{Authorize: accept, Unchecked: unchecked})
		var more *contract.UncheckedError
		if !errors.As(err, &more) {
			return checker, unchecked, read.Explain(err)
		}
		unchecked = append(unchecked, more.MediaTypes...)
	}
}

// try generates and compiles the code of the first operations.
func (g *generator) try(ctx context.Context, operations int) error {
	prepared, err := g.read.Prepared(operations)
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "codegen-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	name := filepath.Join(temporary, "openapi.yaml")
	if err := os.WriteFile(name, prepared, 0o600); err != nil {
		return err
	}
	for _, part := range []string{"server", "client"} {
		if err := os.MkdirAll(filepath.Join(g.folder, "gen", part), 0o755); err != nil {
			return err
		}
		if err := g.run(ctx, "tool", "oapi-codegen", "-config", "api/"+part+".cfg.yaml", name); err != nil {
			return err
		}
	}
	return g.run(ctx, "build", "-mod=mod", "./gen/...") // what the code imports is added to go.mod
}

func (g *generator) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = g.folder
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return errors.New(cmp.Or(strings.TrimSpace(output.String()), err.Error()))
	}
	return nil
}

// firstLine returns the first line of an error that says something.
func firstLine(err error) string {
	for line := range strings.Lines(err.Error()) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "WARNING") && strings.TrimSpace(line) != "" {
			return strings.TrimSpace(line)
		}
	}
	return err.Error()
}
