package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// pinned are packages whose modules the new service has in the versions of this module: those of the example, and the generator.
var pinned = []string{"./cmd/specfirst/bookshelf/...", generator}

// goPackage is what go list says of a package.
type goPackage struct {
	Dir, ImportPath     string
	GoFiles, EmbedFiles []string
	IgnoredGoFiles      []string // of other systems
	Module              *struct {
		Path, Version string
		Main          bool
	}
}

// copyModule copies the packages to a folder, with go.mod and the licence. Their tests stay behind.
func copyModule(ctx context.Context, source, folder string, packages []string) error {
	needed, err := listPackages(ctx, source, packages)
	if err != nil {
		return err
	}
	for _, each := range needed {
		if each.Module != nil && each.Module.Main {
			if err := each.copyTo(source, folder); err != nil {
				return err
			}
		}
	}
	others, err := listPackages(ctx, source, pinned)
	if err != nil {
		return err
	}
	requires := map[string]string{}
	for _, each := range append(needed, others...) {
		if each.Module != nil && !each.Module.Main {
			requires[each.Module.Path] = each.Module.Version
		}
	}
	licence, err := os.ReadFile(filepath.Join(source, "LICENSE"))
	if err != nil {
		return err
	}
	const note = "These are packages of the Plant Store, github.com/plantstore/plantstore. Do not change them: once a version is tagged,\n" +
		"take the folder and the replace in go.mod out, and run go get github.com/plantstore/plantstore@latest.\n"
	return errors.Join(
		writeFile(filepath.Join(folder, "LICENSE"), string(licence)),
		writeFile(filepath.Join(folder, "README"), note),
		writeFile(filepath.Join(folder, "go.mod"), moduleFile(requires)),
	)
}

// listPackages returns packages with all that they import.
func listPackages(ctx context.Context, source string, names []string) (found []goPackage, err error) {
	args := append([]string{"list", "-deps", "-json=Dir,ImportPath,GoFiles,EmbedFiles,IgnoredGoFiles,Module"}, names...)
	out, err := goCommand(ctx, source, args...)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var each goPackage
		if err := decoder.Decode(&each); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		found = append(found, each)
	}
}

func moduleFile(requires map[string]string) string {
	var lines []string
	for path, version := range requires {
		lines = append(lines, fmt.Sprintf("\t%s %s\n", path, version))
	}
	slices.Sort(lines)
	return "module " + plantstore + "\n\n" + goVersion + "\n\nrequire (\n" + strings.Join(lines, "") + ")\n"
}

// copyTo copies the files of a package.
func (p *goPackage) copyTo(source, folder string) error {
	relative, err := filepath.Rel(source, p.Dir)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(p.GoFiles, p.EmbedFiles, p.IgnoredGoFiles) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err == nil {
			err = writeFile(filepath.Join(folder, relative, name), string(text))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
