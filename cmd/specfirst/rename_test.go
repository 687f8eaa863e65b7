package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// smallProject has what .ci/rename looks for. .ci/rename does not change this file.
var smallProject = map[string]string{
	"go.mod":                  "module github.com/plantstore/plantstore\n\ngo 1.26\n",
	"README.md":               "Plants in a plantstore: [guide](https://github.com/plantstore/plantstore/tree/main/api/README.md)\n",
	"internal/plant/plant.go": "package plant\n\n// Plants are many.\ntype Plants []Plant\n\ntype Plant struct{}\n",
	"internal/token/token.go": "package token\n\nimport \"github.com/plantstore/plantstore/internal/plant\"\n\nvar _ plant.Plant\n",
}

// newSmallProject writes the project to a new folder, with .ci/rename, and commits it.
func newSmallProject(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"git", "bash", "xargs"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("needs %s", name)
		}
	}
	script, err := os.ReadFile("../../.ci/rename")
	must.NoError(t, err)
	folder := t.TempDir()
	must.NoError(t, writeFile(filepath.Join(folder, ".ci", "rename"), string(script)))
	for name, text := range smallProject {
		must.NoError(t, writeFile(filepath.Join(folder, name), text))
	}
	expect(t, folder, "git init --quiet")
	commit(t, folder)
	return folder
}

func commit(t *testing.T, folder string) {
	t.Helper()
	expect(t, folder, "git add -A")
	expect(t, folder, "git -c user.name=test -c user.email=test@example.com -c commit.gpgsign=false commit --quiet -m test")
}

// wantFiles fails unless the project has files with these texts.
func wantFiles(t *testing.T, folder string, texts map[string]string) {
	t.Helper()
	for name, want := range texts {
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v, want %q", name, got, err, want)
		}
	}
}

// What cannot become another noun is refused before anything is changed.
func TestRenameRefuses(t *testing.T) {
	folder := newSmallProject(t)
	for args, want := range map[string]string{
		"":                                "MODULE must be the path of a Go module",
		"example.com/library":             "RESOURCE must be a noun in lower-case letters",
		"example.com/library Book":        "RESOURCE must be a noun in lower-case letters",
		"example.com/library type":        "'type' is a word of Go",
		"example.com/library string":      "'string' is a word of Go",
		"example.com/library token":       "'token' is a word of Go, or a name that the program has already",
		"example.com/library plant":       "'plant' is a word of Go, or a name that the program has already",
		"example.com/library leaf token":  "'token' is a word of Go, or a name that the program has already",
		"example.com/library sheep sheep": "PLURAL must differ from RESOURCE",
	} {
		expect(t, folder, "bash .ci/rename "+args, want)
		if out, err := exec.CommandContext(t.Context(), "git", "-C", folder, "status", "--porcelain").Output(); err != nil || len(out) > 0 {
			t.Errorf("rename %s has changed %s (%v)", args, out, err)
		}
	}
}

// The nouns and the module path are replaced, but not in links to the documentation of this project.
func TestRename(t *testing.T) {
	folder := newSmallProject(t)
	expect(t, folder, "bash .ci/rename example.com/library book")
	wantFiles(t, folder, map[string]string{
		"README.md":               "Books in a bookstore: [guide](https://github.com/plantstore/plantstore/tree/main/api/README.md)\n",
		"internal/book/book.go":   "package book\n\n// Books are many.\ntype Books []Book\n\ntype Book struct{}\n",
		"internal/token/token.go": "package token\n\nimport \"example.com/library/internal/book\"\n\nvar _ book.Book\n",
	})
	commit(t, folder)
	expect(t, folder, "bash .ci/rename example.com/other animal", "this repository was renamed already: module example.com/library")
}

// A renaming that fails says how it is undone, which leaves nothing behind.
func TestRenameFails(t *testing.T) {
	folder := newSmallProject(t)
	must.NoError(t, writeFile(filepath.Join(folder, "generate.go"), "package root\n\n//go:generate false\n"))
	commit(t, folder)
	const undo = "git checkout . && git clean -fd"
	expect(t, folder, "bash .ci/rename example.com/library book", "the renaming failed: "+undo+" undoes it")
	for _, line := range strings.Split(undo, " && ") {
		expect(t, folder, line)
	}
	wantFiles(t, folder, smallProject)
	if _, err := os.Stat(filepath.Join(folder, "internal", "book")); err == nil {
		t.Error("internal/book is left")
	}
}
