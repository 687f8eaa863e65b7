// Release packs the programs that make build has written, for people who install them:
// archives, packages for Debian and Fedora, container images, a list of the modules,
// release notes and checksums. make release runs it.
//
//	SOURCE_DATE_EPOCH=1764547200 go run . v1.0.0 linux/amd64 windows/amd64
//
// A second run gives the same bytes, on any machine: each file has the time
// SOURCE_DATE_EPOCH, and nothing comes from the machine but Go and the modules.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing/fstest"
	"time"
)

const (
	top = "../../.." // of the repository
	out = top + "/.build/release"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run writes the release of a version for some platforms, such as linux/amd64.
func run(version string, platforms []string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	at := time.Unix(seconds, 0).UTC()
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	programs := map[string][]byte{}
	for _, platform := range platforms {
		name := top + "/.build/plantstore-" + strings.ReplaceAll(platform, "/", "-")
		if strings.HasPrefix(platform, "windows/") {
			name += ".exe"
		}
		if programs[platform], err = os.ReadFile(name); err != nil {
			return err
		}
	}
	modules, err := modulesOf(programs)
	if err != nil {
		return err
	}
	licenses, err := licensesOf(modules)
	if err != nil {
		return err
	}
	for platform, program := range programs {
		goos, arch, _ := strings.Cut(platform, "/")
		if err := writeArchive(version, goos, arch, at, program, licenses); err != nil {
			return err
		}
		if goos != "linux" {
			continue
		}
		if err := writePackages(version, arch, at, program, licenses); err != nil {
			return err
		}
		if err := writeImage(version, arch, at, program, licenses); err != nil {
			return err
		}
	}
	if err := writeModules(version, at, modules); err != nil {
		return err
	}
	if err := writeNotes(version); err != nil {
		return err
	}
	return writeChecksums()
}

// tree holds the files of an archive, with one time.
type tree struct {
	files fstest.MapFS
	time  time.Time
}

func newTree(at time.Time) tree { return tree{fstest.MapFS{}, at} }

// add adds a file, or a directory, and the directories above it.
func (t tree) add(name string, mode fs.FileMode, data []byte) {
	t.files[name] = &fstest.MapFile{Data: data, Mode: mode, ModTime: t.time}
	if dir := path.Dir(name); t.files[dir] == nil && dir != "." {
		t.add(dir, fs.ModeDir|0o755, nil)
	}
}

// copy adds files of the repository; names maps the name in the tree to that of the file.
func (t tree) copy(names map[string]string) error {
	for name, from := range names {
		data, err := os.ReadFile(filepath.Join(top, from))
		if err != nil {
			return err
		}
		t.add(name, 0o644, data)
	}
	return nil
}

// tar returns the tree as a tar file.
func (t tree) tar() ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(t.files); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

func compressed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// writeArchive writes the program and what belongs to it: a zip file for Windows, and a
// tar.gz file for the others.
func writeArchive(version, goos, arch string, at time.Time, program, licenses []byte) error {
	folder := "plantstore-" + version + "-" + goos + "-" + arch
	t := newTree(at)
	names := map[string]string{"LICENSE": "LICENSE"}
	for _, shell := range []string{"bash", "fish", "zsh"} {
		names["completion/"+shell] = "internal/cli/completion/" + shell
	}
	name := "plantstore"
	switch goos {
	case "windows":
		name += ".exe"
	case "linux":
		for _, unit := range units {
			names[unit] = "cmd/plantstore/" + unit
		}
	}
	for _, name := range append(manual(), examples...) {
		names[name] = "cmd/plantstore/" + name
	}
	inFolder := map[string]string{}
	for name, from := range names {
		inFolder[folder+"/"+name] = from
	}
	if err := t.copy(inFolder); err != nil {
		return err
	}
	t.add(folder+"/"+name, 0o755, program)
	t.add(folder+"/LICENSES-OF-MODULES", 0o644, licenses)
	if goos == "windows" {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		if err := w.AddFS(t.files); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		return write(folder+".zip", b.Bytes())
	}
	data, err := t.tar()
	if err != nil {
		return err
	}
	if data, err = compressed(data); err != nil {
		return err
	}
	return write(folder+".tar.gz", data)
}

// writeChecksums writes a file for sha256sum -c.
func writeChecksums() error {
	entries, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(out, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), entry.Name())
	}
	return write("SHA256SUMS", []byte(b.String()))
}

func write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(out, name), data, 0o644)
}
