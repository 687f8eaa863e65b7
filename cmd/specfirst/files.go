package main

import (
	"embed"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// example is the service that is written, packages of this module. unwritten and README.own.md take the place of
// what is about books.
//
//go:embed bookshelf/.github bookshelf/.gitignore bookshelf/Makefile bookshelf/*.md bookshelf/tools.go
//go:embed bookshelf/api bookshelf/cmd bookshelf/gen bookshelf/internal
var example embed.FS

const (
	exampleName   = "bookshelf"
	exampleModule = plantstore + "/cmd/specfirst/" + exampleName
)

// ofBooks are the files that a document of one's own replaces.
var ofBooks = []string{
	"README.md", "gen", "internal/operations/books.go", "internal/store",
	"internal/httpapi/books_test.go", "internal/httpapi/client_test.go", "internal/httpapi/tokens_test.go",
}

// moves has where the files are put that only a document of one's own needs.
var moves = map[string]string{"README.own.md": "README.md", "internal/unwritten": "internal/store"}

// linesOfDocs show the document in a browser. --no-docs takes them out.
var linesOfDocs = []string{
	"	for _, path := range []string{\"/openapi.yaml\", \"/docs\", \"/docs/*\"} {\n		h.router.Get(path, docs.Handler(api.Document).ServeHTTP)\n	}\n",
	"	\"" + plantstore + "/api/docs\"\n",
	"	@echo \"and read about the API: http://127.0.0.1:8080/docs\"\n",
	"\n`/docs` shows the document in a browser and sends requests, and `/openapi.yaml` is the document. Both need no token.\n",
}

// writeFiles writes the files of the example with other names.
func (s *service) writeFiles(folder string) error {
	names := strings.NewReplacer(
		exampleModule, s.module,
		exampleName, s.name,
		"BOOKSHELF", strings.ToUpper(strings.ReplaceAll(s.name, "-", "_")),
		"Bookshelf", strings.ToUpper(s.name[:1])+s.name[1:],
	)
	return fs.WalkDir(example, exampleName, func(name string, entry fs.DirEntry, err error) error {
		target := s.target(strings.TrimPrefix(name, exampleName+"/"))
		if err != nil || entry.IsDir() || target == "" {
			return err
		}
		text, err := example.ReadFile(name)
		if err != nil {
			return err
		}
		before := string(text)
		if s.document != nil {
			before = strings.Replace(before, curlInRun, s.document.curl(s.document.operations, "$$BOOKSHELF_TOKEN"), 1)
		}
		if s.hasNoDocs {
			for _, lines := range linesOfDocs {
				before = strings.Replace(before, lines, "", 1)
			}
		}
		replaced := names.Replace(before)
		if s.document != nil {
			replaced = s.document.adapt(target, replaced)
		}
		if path.Ext(target) == ".go" {
			formatted, err := format.Source([]byte(replaced))
			if err != nil {
				return fmt.Errorf("format %s: %w", target, err)
			}
			replaced = string(formatted)
		}
		return writeFile(filepath.Join(folder, filepath.FromSlash(s.rename(target))), replaced)
	})
}

// target returns where a file of the example is written, or nothing.
func (s *service) target(name string) string {
	for from, to := range moves {
		if isBelow(name, from) {
			if s.document == nil {
				return ""
			}
			return to + strings.TrimPrefix(name, from)
		}
	}
	if s.hasNoDocs && name == "internal/httpapi/docs_test.go" {
		return ""
	}
	for _, replaced := range ofBooks {
		if s.document != nil && isBelow(name, replaced) {
			return ""
		}
	}
	return name
}

// rename gives a file the name of the service and of its document.
func (s *service) rename(name string) string {
	if name == "api/openapi.yaml" && s.document != nil {
		return "api/" + s.document.fileName()
	}
	return strings.ReplaceAll(name, exampleName, s.name)
}

func isBelow(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}
