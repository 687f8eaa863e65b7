// Command codegen generates the code of a service from its document, with oapi-codegen and the settings in api/*.cfg.yaml.
//
// It says first what is wrong with the document, in one sentence with its line. oapi-codegen gets the document without what says
// nothing about types, as OpenAPI 3.0. If that is still too much for it, the message names the operation.
package main

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
	"os/signal"
	"path/filepath"
	"sort"
	"strings"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/cmd/specfirst/internal/document"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: codegen DOCUMENT, in the folder of the service")
		os.Exit(2)
	}
	if err := generate(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(ctx context.Context, path string) error {
	read, err := document.Read(path)
	if err != nil {
		return err
	}
	if err := contractError(read); err != nil {
		return err
	}
	before := generated{}
	if err := before.read(); err != nil {
		return err
	}
	operations := read.Operations()
	err = try(ctx, read, len(operations))
	if err == nil || ctx.Err() != nil {
		return err
	}
	defer before.restore()
	return cause(ctx, read, operations, err)
}

// cause returns the error of the operation that is the cause of one: with it and those before it, code cannot be made, and
// with those before it alone, it can.
func cause(ctx context.Context, read *document.Document, operations []document.Operation, err error) error {
	if try(ctx, read, 0) != nil {
		return fmt.Errorf("%s: oapi-codegen cannot make code of the components: %s", read.Path, firstLine(err))
	}
	first := sort.Search(len(operations)-1, func(i int) bool { return try(ctx, read, i+1) != nil })
	operation := operations[first]
	name := cmp.Or(operation.ID, operation.Method+" "+operation.Path)
	return &document.Mistake{
		File: read.Path, Line: operation.Line,
		Text: fmt.Sprintf("oapi-codegen cannot make code of %s %s: change it, or leave it out with --exclude %q: %s",
			operation.Method, operation.Path, name, firstLine(err)),
	}
}

// contractError returns what package contract cannot check, but for media types, which the service names.
func contractError(read *document.Document) error {
	accept := func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
		return nil, nil
	}
	_, err := contract.New(read.Text, contract.Options{Authorize: accept})
	if unchecked := new(contract.UncheckedError); err == nil || errors.As(err, &unchecked) {
		return nil
	}
	return read.Explain(err)
}

// generated is the text of the generated files before, by name.
type generated map[string][]byte

func (g generated) read() error {
	for _, part := range []string{"server", "client"} {
		name := filepath.Join("gen", part, part+".gen.go")
		text, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		g[name] = text
	}
	return nil
}

func (g generated) restore() {
	for name, text := range g {
		if text == nil {
			_ = os.Remove(name)
			continue
		}
		_ = os.WriteFile(name, text, 0o644)
	}
}

// try generates and compiles the code of the first operations.
func try(ctx context.Context, read *document.Document, operations int) error {
	prepared, err := read.Prepared(operations)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "codegen-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	name := filepath.Join(folder, "openapi.yaml")
	if err := os.WriteFile(name, prepared, 0o600); err != nil {
		return err
	}
	for _, part := range []string{"server", "client"} {
		if err := os.MkdirAll(filepath.Join("gen", part), 0o755); err != nil {
			return err
		}
		if err := goCommand(ctx, "tool", "oapi-codegen", "-config", "api/"+part+".cfg.yaml", name); err != nil {
			return err
		}
	}
	return goCommand(ctx, "build", "-mod=mod", "./gen/...") // what the code imports is added to go.mod
}

func goCommand(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
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
