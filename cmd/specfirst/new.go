package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

const plantstore = "github.com/plantstore/plantstore"

// goVersion is the line of go.mod of this module.
const goVersion = "go 1.26.0"

// service is the service that is to be written.
type service struct {
	folder, name, module string
	source               string       // folder of a clone; empty: a release has the version
	version              string       // of the release
	document             *ownDocument // nil: the books
	hasNoDocs            bool         // no page that shows the document
}

var validName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// newService checks what was asked for. It writes nothing.
func newService(folder, module, source string) (*service, error) {
	s := &service{folder: folder, name: filepath.Base(folder), source: source, version: "v0.0.0"}
	if !validName.MatchString(s.name) {
		return nil, fmt.Errorf("the name of the service must have lower-case letters, digits and hyphens, as in book-shelf, got %q", s.name)
	}
	s.module = cmp.Or(module, "example.com/"+s.name)
	files, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(files) > 0 {
		return nil, fmt.Errorf("%s exists and is not empty: give a new folder", folder)
	}
	if _, err := exec.LookPath("go"); err != nil {
		return nil, errors.New("the program go is not in PATH: install Go from https://go.dev/dl")
	}
	return s, s.findSource()
}

// findSource finds what the new module takes from this one: its release if this command is one, otherwise the
// clone that it was built in.
func (s *service) findSource() error {
	if s.source == "" && version != "" {
		s.version = version
		return nil
	}
	build, ok := debug.ReadBuildInfo()
	if s.source == "" && ok && build.Main.Sum != "" { // only what was downloaded has a checksum
		s.version = build.Main.Version
		return nil
	}
	if s.source == "" {
		_, here, _, _ := runtime.Caller(0)
		s.source = filepath.Join(filepath.Dir(here), "..", "..")
	}
	var err error
	if s.source, err = filepath.Abs(s.source); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(s.source, "go.mod"))
	if err != nil || !bytes.HasPrefix(text, []byte("module "+plantstore+"\n")) {
		return fmt.Errorf("%s is not a clone of the Plant Store: give its folder with --source", s.source)
	}
	return nil
}

// write writes the service beside its folder, and moves it there when all has worked.
func (s *service) write(ctx context.Context) (err error) {
	if err := os.MkdirAll(filepath.Dir(s.folder), 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(s.folder), "."+s.name+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if err := errors.Join(os.Chmod(temporary, 0o755), s.writeFiles(temporary)); err != nil {
		return err
	}
	if err := s.initModule(ctx, temporary); err != nil {
		return err
	}
	if s.document != nil {
		if err := s.document.generate(ctx, temporary, s.module); err != nil {
			return err
		}
	}
	if err := addModules(ctx, temporary, "./..."); err != nil {
		return err
	}
	if err := os.Remove(s.folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(temporary, s.folder)
}

// initModule writes go.mod and go.sum. The versions are those of this module, whose checksums are known.
func (s *service) initModule(ctx context.Context, folder string) error {
	if _, err := goCommand(ctx, folder, "mod", "init", s.module); err != nil {
		return err
	}
	// The version of Go is that of this module. The version of this machine would keep older ones from building the service.
	edits := []string{"mod", "edit", "-go=" + strings.TrimPrefix(goVersion, "go "), "-tool=" + generator, "-require=" + plantstore + "@" + s.version}
	if s.source != "" {
		if err := copyModule(ctx, s.source, filepath.Join(folder, copyFolder), s.copied()); err != nil {
			return err
		}
		edits = append(edits, "-replace="+plantstore+"=./"+copyFolder)
	}
	if _, err := goCommand(ctx, folder, edits...); err != nil {
		return err
	}
	source, err := s.sourceFolder(ctx, folder)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err := errors.Join(err, os.WriteFile(filepath.Join(folder, "go.sum"), sums, 0o644)); err != nil {
		return err
	}
	return addModules(ctx, folder, "tool")
}

// sourceFolder returns the folder of this module: a clone, or a release in the module cache.
func (s *service) sourceFolder(ctx context.Context, folder string) (string, error) {
	if s.source != "" {
		return s.source, nil
	}
	text, err := goCommand(ctx, folder, "mod", "download", "-json", plantstore+"@"+s.version)
	if err != nil {
		return "", err
	}
	var downloaded struct{ Dir string }
	err = json.Unmarshal(text, &downloaded)
	return downloaded.Dir, err
}

// addModules adds what packages need to go.mod. go mod tidy would do it, too, but it downloads what the tests of other
// modules need.
func addModules(ctx context.Context, folder, packages string) error {
	if _, err := goCommand(ctx, folder, "list", "-deps", "-test", packages); err != nil {
		return fmt.Errorf("the modules of the new service are not all in the module cache, and cannot be downloaded: %w", err)
	}
	return nil
}

// goCommand runs go in a folder and returns what it prints.
func goCommand(ctx context.Context, folder string, args ...string) ([]byte, error) {
	return runProgram(ctx, folder, "go", args...)
}

// runProgram runs a program in a folder and returns what it prints.
func runProgram(ctx context.Context, folder, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = folder, &stderr
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod") // go may change go.mod
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, args[0], err, firstLines(stderr.String()))
	}
	return out, nil
}

// firstLines shortens what a program says.
func firstLines(text string) string {
	const most = 8
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[:min(len(lines), most)], "\n")
}
