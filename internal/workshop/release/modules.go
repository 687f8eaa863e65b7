package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// module is a part of the program.
type module struct{ purl, name, version, dir string } // dir has its licences

// modulesOf returns the modules in the program for all platforms, the standard library of
// Go, and Swagger UI if the program has it.
func (r *release) modulesOf(binaries map[string][]byte) ([]module, error) {
	found := map[string]module{}
	for platform, binary := range binaries {
		info, err := buildinfo.Read(bytes.NewReader(binary))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", platform, err)
		}
		for _, m := range info.Deps {
			found[m.Path] = module{name: m.Path, version: m.Version}
		}
		found["std"] = module{name: "std", version: strings.TrimPrefix(info.GoVersion, "go")}
	}
	list := exec.Command("go", append([]string{"list", "-m", "-f", "{{.Path}} {{.Dir}}"},
		slices.Sorted(maps.Keys(found))...)...)
	list.Args = slices.DeleteFunc(list.Args, func(arg string) bool { return arg == "std" })
	list.Dir, list.Stderr = top, os.Stderr
	text, err := list.Output()
	if err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text) + "std " + string(root)) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		m := found[name]
		m.dir, m.purl = dir, "pkg:golang/"+name+"@"+m.version
		found[name] = m
	}
	if r.hasUI {
		ui, err := swaggerUI()
		if err != nil {
			return nil, err
		}
		found[ui.name] = ui
	}
	return slices.SortedFunc(maps.Values(found), func(a, b module) int { return cmp.Compare(a.purl, b.purl) }), nil
}

// swaggerUI returns Swagger UI as a module.
func swaggerUI() (module, error) {
	recipe, err := os.ReadFile("../tools/swagger-ui")
	if err != nil {
		return module{}, err
	}
	version := regexp.MustCompile(`(?m)^version=(.*)$`).FindSubmatch(recipe)
	if version == nil {
		return module{}, errors.New("internal/workshop/tools/swagger-ui has no version")
	}
	ui := module{name: "swagger-ui-dist", version: string(version[1]), dir: top + "/api/docs/swagger-ui"}
	ui.purl = "pkg:npm/swagger-ui-dist@" + ui.version
	return ui, nil
}

var license = regexp.MustCompile(`(?i)^((licen[cs]e|copying|notice|copyright)(\W.*)?|.*\.license\.txt)$`)

// licensesOf returns the licences of all modules. They demand to be distributed with a
// program that contains the modules.
func licensesOf(modules []module) ([]byte, error) {
	var b bytes.Buffer
	for _, m := range modules {
		entries, err := os.ReadDir(m.dir)
		if err != nil {
			return nil, err
		}
		before := b.Len()
		for _, entry := range entries {
			if entry.IsDir() || !license.MatchString(entry.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(m.dir, entry.Name()))
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "== %s %s: %s ==\n\n%s\n\n", m.name, m.version, entry.Name(), bytes.TrimSpace(text))
		}
		if b.Len() == before {
			return nil, fmt.Errorf("%s has no licence in %s", m.name, m.dir)
		}
	}
	return b.Bytes(), nil
}

// writeModules writes the list of the modules, a software bill of materials (SBOM).
func (r *release) writeModules(modules []module) error {
	const name = "github.com/plantstore/plantstore"
	components := make([]cyclonedx.Component, 0, len(modules))
	for _, m := range modules {
		components = append(components, cyclonedx.Component{
			BOMRef: m.purl, Type: cyclonedx.ComponentTypeLibrary, Name: m.name, Version: m.version, PackageURL: m.purl,
		})
	}
	list := cyclonedx.NewBOM()
	list.Components = &components
	list.Metadata = &cyclonedx.Metadata{
		Timestamp: r.time.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: r.name, Type: cyclonedx.ComponentTypeApplication, Name: r.name, Version: r.version,
			PackageURL: "pkg:golang/" + name + "@" + r.version,
			Licenses:   &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "MIT"}}},
		},
	}
	var b bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&b, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(list); err != nil {
		return err
	}
	return write(r.name+"-"+r.version+".cdx.json", b.Bytes())
}
