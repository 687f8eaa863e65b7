package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// copyFolder is the folder of a new service that has the packages of this module which it needs, as a module. Without a release
// there is no other way to have them on every machine.
const copyFolder = "plantstore"

// copied returns the packages that come along, with those that they import.
func (s *service) copied() []string {
	packages := []string{"./api/contract", "./api/contracttest", "./cmd/specfirst/codegen"}
	if !s.hasNoDocs {
		packages = append(packages, "./api/docs")
	}
	return packages
}

// goPackage is what go list says of a package.
type goPackage struct {
	Dir                 string
	GoFiles, EmbedFiles []string
	IgnoredGoFiles      []string // of other systems, and tests with build tags
	Module              struct{ Main bool }
}

// copyModule copies packages to a folder, with go.mod and the licence of their module. Their tests stay behind.
func copyModule(ctx context.Context, source, folder string, packages []string) error {
	args := append([]string{"list", "-deps", "-json=Dir,GoFiles,EmbedFiles,IgnoredGoFiles,Module"}, packages...)
	out, err := goCommand(ctx, source, args...)
	if err != nil {
		return err
	}
	files := []string{filepath.Join(source, "go.mod"), filepath.Join(source, "LICENSE")}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var each goPackage
		if err := decoder.Decode(&each); err != nil {
			return err
		}
		if each.Module.Main {
			files = append(files, each.files()...)
		}
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err == nil {
			err = writeFile(filepath.Join(folder, strings.TrimPrefix(name, source)), string(text))
		}
		if err != nil {
			return err
		}
	}
	const note = "These are packages of the Plant Store, github.com/plantstore/plantstore. Do not change them: once a version is tagged,\n" +
		"take the folder and the replace in go.mod out, and run go get github.com/plantstore/plantstore@latest.\n"
	return writeFile(filepath.Join(folder, "README"), note)
}

// files returns the files of a package without tests.
func (p *goPackage) files() (names []string) {
	for _, name := range slices.Concat(p.GoFiles, p.EmbedFiles, p.IgnoredGoFiles) {
		if !strings.HasSuffix(name, "_test.go") {
			names = append(names, filepath.Join(p.Dir, name))
		}
	}
	return names
}
