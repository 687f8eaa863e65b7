package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"text/template"
)

// formula is what Homebrew installs a program with: brew install ./contracttest.rb, or from a tap that has the file.
//
// https://docs.brew.sh/Formula-Cookbook
var formula = template.Must(template.New("").Parse(`class {{.Class}} < Formula
  desc "{{.Description}}"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "MIT"
{{range .Systems}}
  on_{{.Name}} do
{{- range .Archives}}
    on_{{.Machine}} do
      url "{{.URL}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "{{.Name}}"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/{{.Name}} {{.ShowVersion}}")
  end
end
`))

// system is a part of a formula: the archives for macos or linux.
type system struct {
	Name     string
	Archives []struct{ Machine, URL, Sum string }
}

// writeFormula writes the formula of the program, for the platforms that have an archive.
func (r *release) writeFormula(platforms []string) error {
	systems := []system{{Name: "macos"}, {Name: "linux"}}
	for _, platform := range platforms {
		goos, arch, _ := strings.Cut(platform, "/")
		at := map[string]int{"darwin": 0, "linux": 1}
		i, isOf := at[goos]
		if !isOf {
			continue
		}
		name := r.name + "-" + r.version + "-" + goos + "-" + arch + ".tar.gz"
		data, err := os.ReadFile(out + "/" + name)
		if err != nil {
			return err
		}
		systems[i].Archives = append(systems[i].Archives, struct{ Machine, URL, Sum string }{
			map[string]string{"amd64": "intel", "arm64": "arm"}[arch],
			homepage + "/releases/download/" + r.version + "/" + name,
			fmt.Sprintf("%x", sha256.Sum256(data)),
		})
	}
	showVersion := "--version"
	if r.name == "plantstore" {
		showVersion = "version"
	}
	var text bytes.Buffer
	err := formula.Execute(&text, map[string]any{
		"Class": strings.ToUpper(r.name[:1]) + r.name[1:], "Description": strings.ToUpper(r.description[:1]) + r.description[1:],
		"Homepage": homepage, "Version": strings.TrimPrefix(r.version, "v"), "Name": r.name, "ShowVersion": showVersion,
		"Systems": systems,
	})
	if err != nil {
		return err
	}
	return write(r.name+".rb", text.Bytes())
}
