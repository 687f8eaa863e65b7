package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/plantstore/plantstore/internal/atomicfile"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A power cut keeps what was synced, in any order, so the order of the steps decides what
// it leaves.
func TestSteps(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "file")
	var steps []string
	atomicfile.Record = func(step, path, to string) {
		switch path {
		case folder:
			path = "folder"
		case name:
			path = "file"
		default:
			path = "temporary"
		}
		steps = append(steps, step+" "+path)
	}
	t.Cleanup(func() { atomicfile.Record = func(step, path, to string) {} })
	want := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(steps, want) {
			t.Errorf("%s: steps %q, want %q", what, steps, want)
		}
		steps = nil
	}
	create := func() *atomicfile.File {
		t.Helper()
		f, err := atomicfile.Create(name, 0o600)
		must.NoError(t, err)
		_, err = f.WriteString("new")
		must.NoError(t, err)
		return f
	}

	must.NoError(t, atomicfile.Write(name, []byte("old"), 0o600))
	want("Write", "sync temporary", "rename temporary", "sync folder")

	create().Discard()
	want("Discard", "remove temporary")
	expect.Error(t, "Publish(false) of an existing name", create().Publish(false), fs.ErrExist)
	want("an existing name", "sync temporary", "remove temporary")
	if text, err := os.ReadFile(name); err != nil || string(text) != "old" {
		t.Errorf("the file has %q, %v, want what it had", text, err)
	}

	must.NoError(t, os.Remove(name))
	must.NoError(t, create().Publish(false))
	if runtime.GOOS == "linux" {
		want("a new name", "sync temporary", "rename temporary", "sync folder")
	} else {
		want("a new name", "sync temporary", "link temporary", "remove temporary", "sync folder")
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "new" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v, want one file", entries, err)
	}

	_, err := atomicfile.Create(filepath.Join(folder, "none", "file"), 0o600)
	if failed, ok := errors.AsType[*fs.PathError](err); !ok || failed.Path != filepath.Join(folder, "none", "file") {
		t.Errorf("Create in a folder that does not exist: %v, want an error with the name", err)
	}
}

// The holder of a locked file has it until the file has its name, or is removed.
func TestCreateLocked(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("on Windows the lock ends before the file gets its name")
	}
	name := filepath.Join(t.TempDir(), "file")
	create := func() (*atomicfile.File, error) { return atomicfile.CreateLocked(name, "-new", 0o600) }
	must.NoError(t, os.WriteFile(name+"-new", []byte("what a killed process has left"), 0o600))
	first, err := create()
	must.NoError(t, err)
	_, err = first.WriteString("new")
	must.NoError(t, err)
	var steps []string
	atomicfile.Record = func(step, _, to string) {
		path := name + "-new"
		if to != "" {
			path = to // which is locked, too, or another process could empty the file
		}
		if steps = append(steps, step); len(steps) <= 2 { // then the first name is free
			_, err := atomicfile.CreateLocked(path, "", 0o600)
			expect.Error(t, "CreateLocked after the "+step, err, atomicfile.ErrLocked)
		}
	}
	t.Cleanup(func() { atomicfile.Record = func(step, path, to string) {} })
	must.NoError(t, first.Publish(false))
	if text, err := os.ReadFile(name); err != nil || string(text) != "new" || len(steps) < 2 {
		t.Errorf("after %q the file has %q, %v", steps, text, err)
	}
	again, err := create()
	must.NoError(t, err)
	expect.Error(t, "Publish of an existing name", again.Publish(false), fs.ErrExist)
	if text, err := os.ReadFile(name); err != nil || string(text) != "new" {
		t.Errorf("the file has %q, %v, want what it had", text, err)
	}
}
