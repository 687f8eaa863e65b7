package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

var (
	units = []string{
		"plantstore.service", "plantstore-backup.service", "plantstore-backup.timer", "plantstore-litestream.service",
		"plantstore-webhook.service",
	}
	examples = []string{"alerts.yaml", "dashboard.json", "litestream.yml"}
)

// manual returns the pages of the operator's manual.
func manual() []string {
	names, _ := fs.Glob(os.DirFS(top), "cmd/plantstore/manual/*.md") // the pattern is well-formed
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, "cmd/plantstore/")
	}
	return append(names, "README.md")
}

// writePackages writes a package for Debian and one for Fedora.
func writePackages(version, arch string, at time.Time, program, licenses []byte) error {
	t := newTree(at)
	names := map[string]string{
		"usr/share/bash-completion/completions/plantstore":    "internal/cli/completion/bash",
		"usr/share/fish/vendor_completions.d/plantstore.fish": "internal/cli/completion/fish",
		"usr/share/zsh/vendor-completions/_plantstore":        "internal/cli/completion/zsh", // Debian
		"usr/share/zsh/site-functions/_plantstore":            "internal/cli/completion/zsh", // Fedora
		"usr/share/doc/plantstore/copyright":                  "LICENSE",
	}
	for _, name := range units {
		names["usr/lib/systemd/system/"+name] = "cmd/plantstore/" + name
	}
	for _, name := range append(manual(), examples...) {
		names["usr/share/doc/plantstore/"+name] = "cmd/plantstore/" + name
	}
	if err := t.copy(names); err != nil {
		return err
	}
	for name, file := range t.files { // a package does not install into /usr/local
		if strings.HasSuffix(name, ".service") {
			file.Data = []byte(strings.ReplaceAll(string(file.Data), "/usr/local/bin/plantstore", "/usr/bin/plantstore"))
		}
	}
	t.add("usr/bin/plantstore", 0o755, program)
	t.add("usr/share/doc/plantstore/LICENSES-OF-MODULES", 0o644, licenses)

	dir, err := os.MkdirTemp("", "plantstore-release.") // nfpm reads the files
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, t.files); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		contents := files.Contents{{
			Destination: "/var/backups/plantstore", Type: files.TypeDir,
			FileInfo: &files.ContentFileInfo{Mode: 0o700, MTime: at},
		}}
		err := fs.WalkDir(t.files, ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				contents = append(contents, &files.Content{
					Source: filepath.Join(dir, name), Destination: "/" + name,
					FileInfo: &files.ContentFileInfo{Mode: t.files[name].Mode, MTime: at},
				})
			}
			return err
		})
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name:        "plantstore",
			Arch:        arch,
			Version:     version,
			Section:     "web",
			Priority:    "optional",
			Maintainer:  "The Plant Store authors",
			Description: "HTTP service that stores plants in a SQLite file or in PostgreSQL",
			Homepage:    "https://github.com/plantstore/plantstore",
			License:     "MIT",
			MTime:       at,
			Overridables: nfpm.Overridables{
				Contents: contents,
				Scripts:  nfpm.Scripts{PostInstall: "postinstall.sh", PreRemove: "preremove.sh"},
				RPM:      nfpm.RPM{BuildHost: "localhost"},
			},
		})
		if err := nfpm.PrepareForPackager(info, kind); err != nil {
			return err
		}
		packager, err := nfpm.Get(kind)
		if err != nil {
			return err
		}
		file, err := os.Create(filepath.Join(out, packager.ConventionalFileName(info)))
		if err != nil {
			return err
		}
		defer file.Close()
		if err := packager.Package(info, file); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}
