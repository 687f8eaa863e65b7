// Package atomicfile writes files that a crash or a power cut cannot leave incomplete: the
// file is the old one, or none, until it is the whole new one.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
)

// Record is called after each step that decides what a power cut leaves: "sync" of a
// file, "rename" to a name, "link" to a name, "remove", and "sync" of a folder. Only tests
// set it, before they write files.
var Record = func(step, path, to string) {}

// File is a new file. It has a temporary name, in the same folder, until [File.Publish].
// (The package renameio does not sync the folder, so a power cut could undo its rename.)
type File struct {
	*os.File
	name string
}

// Create creates a file that is to have the given name. The caller calls Publish or Discard. The
// file is locked, so that no other process takes it for one that a killed process has left.
func Create(name string, mode fs.FileMode) (*File, error) {
	if _, isCleaned := cleaned.LoadOrStore(name, true); !isCleaned {
		removeLeft(name)
	}
	for {
		temporary := filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s.%020d", filepath.Base(name), rand.Uint64()))
		file, err := os.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return nil, explain(err, name)
		}
		// Another process may remove the file before it is locked. Where files cannot be locked, none is removed.
		if lockOpened(file) != ErrLocked {
			return &File{file, name}, nil
		}
		file.Close()
	}
}

// cleaned has the names that this process has called removeLeft for: some files are written ten times a second.
var cleaned sync.Map

// removeLeft removes what killed processes have left of files that were to have the given name: the files with a
// temporary name that no process has locked. Errors are ignored: another process tries it again.
func removeLeft(name string) {
	temporary := regexp.MustCompile(`^\.` + regexp.QuoteMeta(filepath.Base(name)) + `\.\d{20}$`)
	entries, _ := os.ReadDir(filepath.Dir(name))
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !temporary.MatchString(entry.Name()) {
			continue
		}
		file, err := os.OpenFile(filepath.Join(filepath.Dir(name), entry.Name()), os.O_RDWR, 0)
		if err == nil && lockOpened(file) == nil {
			_ = os.Remove(file.Name() + "-journal") // of SQLite, if the file is a database
			(&File{File: file}).Discard()
		}
		file.Close()
	}
}

// explain adds to an error what a user without rights in the folder can do.
func explain(err error, name string) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		failed.Path = name
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: this user may not create files in the folder %s: give it write permission there, or "+
			"name another folder", err, filepath.Dir(name))
	}
	return err
}

// ErrLocked means that another process writes the same file.
var ErrLocked = errors.New("another process writes this file")

// CreateLocked is [Create] with a temporary name that is always the same: name and suffix.
// It empties a file that a killed process has left there. While another process has the
// file, CreateLocked returns [ErrLocked].
func CreateLocked(name, suffix string, mode fs.FileMode) (*File, error) {
	file, err := os.OpenFile(name+suffix, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return nil, explain(err, name+suffix)
	}
	if err := lockOpened(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := file.Truncate(0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &File{file, name}, nil
}

// lockOpened locks a file that was opened.
func lockOpened(file *os.File) error {
	if err := lock(file); err != nil {
		return err
	}
	opened, err := file.Stat()
	if err != nil {
		return err
	}
	// The process that had the lock may have renamed or removed the file in the meantime.
	present, err := os.Lstat(file.Name())
	if err != nil || !os.SameFile(opened, present) {
		return ErrLocked
	}
	return nil
}

// Publish gives the file its name, durably. An existing file is replaced, or is
// [fs.ErrExist] if replace is not set. If Publish fails, the file is discarded.
func (f *File) Publish(replace bool) error {
	defer f.Discard()
	if err := record(f.Sync(), "sync", f.Name(), ""); err != nil {
		return err
	}
	f.closeOnWindows()
	if err := f.rename(replace); err != nil {
		return err
	}
	return SyncFolder(f.name)
}

// SyncFolder makes durable that the folder of a file has it by its present name.
func SyncFolder(name string) error {
	if runtime.GOOS == "windows" { // it cannot
		return nil
	}
	folder, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(record(folder.Sync(), "sync", folder.Name(), ""), folder.Close())
}

func (f *File) rename(replace bool) error {
	if !replace { // a rename would overwrite a file that was created in the meantime
		err := record(renameNew(f.Name(), f.name), "rename", f.Name(), f.name)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			if err = record(os.Link(f.Name(), f.name), "link", f.Name(), f.name); err == nil {
				f.Discard()
			}
		}
		if err == nil {
			return nil
		}
		// Else the file system supports no links, either.
		if _, none := os.Lstat(f.name); none == nil || errors.Is(err, fs.ErrExist) {
			return &fs.PathError{Op: "create", Path: f.name, Err: fs.ErrExist}
		}
	}
	return record(os.Rename(f.Name(), f.name), "rename", f.Name(), f.name)
}

// Discard closes and removes the file, unless it was published.
func (f *File) Discard() {
	f.closeOnWindows()
	_ = record(os.Remove(f.Name()), "remove", f.Name(), "")
	f.Close()
}

// closeOnWindows closes the file where an open one can be neither renamed nor removed. Others
// keep it open, because that keeps it locked.
func (f *File) closeOnWindows() {
	if runtime.GOOS == "windows" {
		f.Close()
	}
}

func record(err error, step, path, to string) error {
	if err == nil {
		Record(step, path, to)
	}
	return err
}

// Write writes a file, durably. It replaces an existing one.
func Write(name string, content []byte, mode fs.FileMode) error {
	f, err := Create(name, mode)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		f.Discard()
		return err
	}
	return f.Publish(true)
}
