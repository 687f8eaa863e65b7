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
	"regexp"
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
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, p := range programs {
		r := release{program: p, version: version, time: time.Unix(seconds, 0).UTC()}
		if err := r.write(platforms); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if err := writeNotes(version); err != nil {
		return err
	}
	return writeChecksums()
}

// release is the release of one program.
type release struct {
	program
	version  string
	time     time.Time
	licenses []byte // of the modules in the program
}

// write writes the files of the program for some platforms.
func (r *release) write(platforms []string) error {
	binaries := map[string][]byte{}
	for _, platform := range platforms {
		goos, arch, _ := strings.Cut(platform, "/")
		var err error
		if binaries[platform], err = os.ReadFile(top + "/.build/" + goos + "-" + arch + "/" + r.fileName(goos)); err != nil {
			return err
		}
	}
	modules, err := r.modulesOf(binaries)
	if err != nil {
		return err
	}
	if r.licenses, err = licensesOf(modules); err != nil {
		return err
	}
	for platform, binary := range binaries {
		goos, arch, _ := strings.Cut(platform, "/")
		if err := r.writeArchive(goos, arch, binary); err != nil {
			return err
		}
		if goos != "linux" {
			continue
		}
		if err := r.writePackages(arch, binary); err != nil {
			return err
		}
		if r.dockerfile == "" {
			continue
		}
		if err := r.writeImage(arch, binary); err != nil {
			return err
		}
	}
	if err := r.writeFormula(platforms); err != nil {
		return err
	}
	return r.writeModules(modules)
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
func (r *release) copy(t tree, names map[string]string) error {
	for name, from := range names {
		data, err := os.ReadFile(filepath.Join(top, from))
		if err != nil {
			return err
		}
		if path.Ext(from) == ".md" {
			data = r.withLinks(data, name, names)
		}
		t.add(name, 0o644, data)
	}
	return nil
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// withLinks returns a page of the manual with links that work where the program is installed. Those that lead to the
// same file there stay, as to a unit in the archive for Linux; the others lead to the repository.
func (r *release) withLinks(page []byte, name string, names map[string]string) []byte {
	return link.ReplaceAllFunc(page, func(text []byte) []byte {
		found := link.FindSubmatch(text)
		to := path.Join(path.Dir(names[name]), string(found[1]))
		if names[path.Join(path.Dir(name), string(found[1]))] == to {
			return text
		}
		return fmt.Appendf(nil, "](%s/blob/%s/%s%s)", homepage, r.version, to, found[2])
	})
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
func (r *release) writeArchive(goos, arch string, binary []byte) error {
	folder := r.name + "-" + r.version + "-" + goos + "-" + arch
	t := newTree(r.time)
	names := map[string]string{folder + "/LICENSE": "LICENSE"}
	for _, shell := range r.completion {
		names[folder+"/completion/"+shell] = "internal/cli/completion/" + shell
	}
	if goos == "linux" {
		for _, unit := range r.units {
			names[folder+"/"+unit] = r.folder + "/" + unit
		}
	}
	for _, doc := range r.docs {
		names[folder+"/"+strings.TrimPrefix(doc, r.folder+"/")] = doc
	}
	if err := r.copy(t, names); err != nil {
		return err
	}
	t.add(folder+"/"+r.fileName(goos), 0o755, binary)
	t.add(folder+"/LICENSES-OF-MODULES", 0o644, r.licenses)
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
