package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// writePackages writes a package for Debian and one for Fedora.
func (r *release) writePackages(arch string, binary []byte) error {
	t := newTree(r.time)
	doc := "usr/share/doc/" + r.name + "/"
	names := map[string]string{doc + "copyright": "LICENSE"}
	for _, shell := range r.completion {
		for _, name := range completionFiles[shell] {
			names[fmt.Sprintf(name, r.name)] = "internal/cli/completion/" + shell
		}
	}
	for _, name := range r.units {
		names["usr/lib/systemd/system/"+name] = r.folder + "/" + name
	}
	for _, name := range r.docs {
		names[doc+strings.TrimPrefix(name, r.folder+"/")] = name
	}
	if err := r.copy(t, names); err != nil {
		return err
	}
	for name, file := range t.files { // a package does not install into /usr/local
		if strings.HasSuffix(name, ".service") {
			file.Data = []byte(strings.ReplaceAll(string(file.Data), "/usr/local/bin/"+r.name, "/usr/bin/"+r.name))
		}
	}
	t.add("usr/bin/"+r.name, 0o755, binary)
	t.add(doc+"LICENSES-OF-MODULES", 0o644, r.licenses)

	dir, err := os.MkdirTemp("", "plantstore-release.") // nfpm reads the files
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, t.files); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		contents, err := r.contentsOf(t, dir)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name:         r.name,
			Arch:         arch,
			Version:      r.version,
			Section:      "web",
			Priority:     "optional",
			Maintainer:   "The Plant Store authors",
			Description:  r.description,
			Homepage:     homepage,
			License:      "MIT",
			MTime:        r.time,
			Overridables: nfpm.Overridables{Contents: contents, RPM: nfpm.RPM{BuildHost: "localhost"}},
		})
		if len(r.units) > 0 {
			info.Scripts = nfpm.Scripts{PostInstall: "postinstall.sh", PreRemove: "preremove.sh"}
		}
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

// completionFiles are the names of the files with the completion of a program.
var completionFiles = map[string][]string{
	"bash": {"usr/share/bash-completion/completions/%s"},
	"fish": {"usr/share/fish/vendor_completions.d/%s.fish"},
	"zsh":  {"usr/share/zsh/vendor-completions/_%s", "usr/share/zsh/site-functions/_%s"}, // Debian, Fedora
}

// contentsOf returns the files of a package, which are in a folder. A service has a folder for its backups, too.
func (r *release) contentsOf(t tree, dir string) (files.Contents, error) {
	var contents files.Contents
	if len(r.units) > 0 {
		contents = append(contents, &files.Content{
			Destination: "/var/backups/" + r.name, Type: files.TypeDir,
			FileInfo: &files.ContentFileInfo{Mode: 0o700, MTime: r.time},
		})
	}
	err := fs.WalkDir(t.files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			contents = append(contents, &files.Content{
				Source: filepath.Join(dir, name), Destination: "/" + name,
				FileInfo: &files.ContentFileInfo{Mode: t.files[name].Mode, MTime: r.time},
			})
		}
		return err
	})
	return contents, err
}
