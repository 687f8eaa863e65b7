package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/plantstore/plantstore/internal/shell"
	"github.com/plantstore/plantstore/internal/store/sqlite/wal"
)

// Check returns an error if there cannot be a store at path: it is not a regular file, or in
// no directory that exists.
func Check(path string) error {
	err := checkPath(path)
	describeOpen(path, &err)
	return err
}

// checkFiles returns an error if the files of a store at path are not to be used, and what they have.
func checkFiles(path string) (found contents, err error) {
	if path == Memory {
		return contents{log: &wal.Content{}}, nil
	}
	if err := cmp.Or(checkPath(path), checkOneName(path)); err != nil {
		return found, err
	}
	return checkContents(path)
}

// checkPath returns an error that explains a wrong path. SQLite only reports
// "unable to open database file", and takes the files of another store for its own.
func checkPath(path string) error {
	if path == Memory {
		return nil
	}
	return cmp.Or(checkRegular(path), checkSuffix(path), checkFolder(filepath.Dir(path)), checkDamage(path), checkNew(path))
}

func checkFolder(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the directory %s does not exist; create it first", path)
	}
	return nil
}

// checkSuffix returns an error if a file with this name would be one that another store has beside it.
func checkSuffix(path string) error {
	for _, suffix := range append(logSuffixes[:], markSuffix, copySuffix) {
		other, hasSuffix := strings.CutSuffix(path, suffix)
		if hasSuffix {
			return fmt.Errorf("a file with this name belongs to the store %s; give another path", other)
		}
	}
	return nil
}

// checkRegular returns an error if there is something at path that is not a regular file.
func checkRegular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // there is nothing, or SQLite explains the error
	}
	if info.IsDir() {
		return errors.New("this is a directory; give the path of a file")
	}
	if !info.Mode().IsRegular() {
		return errors.New("this is a pipe, a socket or a device; give the path of a file")
	}
	return nil
}

// checkOneName returns an error if the file has several names, which are hard links or bind
// mounts. SQLite has a log for each, so what is written by one name would be missing or lost by
// another.
func checkOneName(path string) error {
	if isMounted(path) {
		return errors.New("the file is a mount point (docker run -v FILE:FILE, mount --bind), so it has another name, " +
			"and each can have a log of its own; mount the directory of the file instead")
	}
	info, err := os.Stat(path)
	if err != nil || links(info) < 2 {
		return nil // SQLite explains an error
	}
	return fmt.Errorf("the file has %d names (hard links), and each can have a log of its own; stop every program "+
		"that uses it, keep the name that has a -wal file beside it, or this one if none has, and remove the others "+
		"(find / -samefile %s lists them)", links(info), shell.Quote(resolve(path)))
}
