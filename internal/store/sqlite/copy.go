package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// copyStep is how many pages are copied between two calls of progress.
const copyStep = 256

// Copy copies the store in the file from, which may be in use, to the file to,
// which must not exist. What it has copied is the state at one moment. The file
// to is whole, checked and durable, or absent. Progress is told in bytes, from
// time to time.
func Copy(ctx context.Context, from, to string, progress func(done, total int64)) error {
	return copyTo(ctx, from, to, false, progress)
}

// Backup is [Copy], and leaves the time of the backup for the metrics of a
// service that has the store open. If replace is set, it replaces the file to,
// which stays as it was if Backup fails.
func Backup(ctx context.Context, from, to string, replace bool, progress func(done, total int64)) error {
	began := time.Now()
	if err := copyTo(ctx, from, to, replace, progress); err != nil {
		return err
	}
	if err := markBackup(from, began); err != nil {
		return fmt.Errorf("%s is whole, but the time of the backup could not be stored: %w", to, err)
	}
	return nil
}

func copyTo(ctx context.Context, from, to string, replace bool, progress func(done, total int64)) error {
	if err := checkTarget(from, to, replace); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	temporary, err := copyAside(ctx, from, to, progress)
	if err != nil {
		return err
	}
	defer os.Remove(temporary)
	if err := publish(temporary, to, replace); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	return nil
}

// checkTarget returns an error if a copy of the file from may not be written to
// path.
func checkTarget(from, path string, replace bool) error {
	if !replace {
		return checkAbsent(path)
	}
	if err := checkPath(path); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return checkAlone(path)
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("this is not a regular file: name another one")
	}
	if store, err := os.Stat(from); err == nil && os.SameFile(store, info) {
		return errors.New("this is the store itself: name another file")
	}
	return checkAlone(path)
}

// checkAbsent returns an error if there is a file at path that a new one would
// overwrite, or be mixed with.
func checkAbsent(path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return errors.New("this file exists: name another one, or move it away")
	}
	return checkAlone(path)
}

// checkAlone returns an error if there is a log of the file at path: SQLite would
// take it for one of the new file.
func checkAlone(path string) error {
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if _, err := os.Lstat(path + suffix); err == nil {
			return fmt.Errorf("%s is left of an old store: move it away", path+suffix)
		}
	}
	return nil
}

// copyAside copies to a temporary file beside to and returns its name. It leaves
// nothing behind if it fails.
func copyAside(ctx context.Context, from, to string, progress func(done, total int64)) (_ string, err error) {
	source, err := openCopied(from)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", from, advise(err))
	}
	defer source.Close()

	file, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*")
	if err != nil {
		return "", err
	}
	name := file.Name()
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil {
			os.Remove(name)
			os.Remove(name + "-journal")
		}
	}()
	if err := copyPages(ctx, source, name, progress); err != nil {
		return "", fmt.Errorf("copy %s to %s: %w", from, to, advise(err))
	}
	if err := verify(ctx, name); err != nil {
		return "", fmt.Errorf("check the copy of %s: %w", from, advise(err))
	}
	return name, file.Sync()
}

// openCopied opens a store of ours to copy it, and begins to read.
func openCopied(path string) (*sqlite.Conn, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no such file")
	}
	conn, err := openReader(path)
	if err != nil {
		return nil, err
	}
	// The online backup starts again whenever somebody writes between two of its
	// steps, and would never end while a server is busy. It does not inside a
	// transaction of its own: this one keeps the state of this moment, and in
	// WAL mode nobody waits for it. VACUUM INTO would do so too, but cannot tell
	// how far it is, and takes twice the time.
	if err = execute(conn, "BEGIN"); err == nil {
		err = checkOurs(conn)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func copyPages(ctx context.Context, source *sqlite.Conn, name string, progress func(done, total int64)) (err error) {
	conn, err := openCopy(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	pageSize, err := pragma(source, "page_size")
	if err != nil {
		return err
	}
	backup, err := sqlite.NewBackup(conn, "main", source, "main")
	if err != nil {
		return err
	}
	defer backup.Close()
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err = backup.Step(copyStep); err != nil {
			return err
		}
		total := int64(backup.PageCount())
		progress((total-int64(backup.Remaining()))*pageSize, total*pageSize)
	}
	return nil
}

// verify reads the whole of a copy, from the file and not from the memory of the
// connection that has written it. It also makes it a file that stands alone: in
// WAL mode, which it has from its source, a second one would appear beside it
// whenever somebody looks.
func verify(ctx context.Context, name string) (err error) {
	conn, err := openCopy(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.SetInterrupt(ctx.Done())
	if err := setPragmas(conn, "PRAGMA journal_mode = DELETE"); err != nil {
		return err
	}
	if err := checkOurs(conn); err != nil {
		return err
	}
	return checkIntegrity(conn)
}

// openCopy opens a copy that nobody else knows of, and that is synced when it
// is whole.
func openCopy(name string) (*sqlite.Conn, error) {
	return openConn(name, "PRAGMA synchronous = OFF")
}

// checkIntegrity returns an error if the file is damaged.
func checkIntegrity(conn *sqlite.Conn) error {
	return sqlitex.ExecuteTransient(conn, "PRAGMA integrity_check(1)", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			if text := stmt.ColumnText(0); text != "ok" {
				return fmt.Errorf("it is damaged: %s", text)
			}
			return nil
		},
	})
}

// publish gives a file that is whole its name, durably, and that of another file
// only if replace is set.
func publish(temporary, name string, replace bool) error {
	var err error
	if replace {
		err = os.Rename(temporary, name)
	} else {
		err = linkOrRename(temporary, name)
	}
	if err != nil || runtime.GOOS == "windows" { // where folders cannot be synced
		return err
	}
	folder, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// linkOrRename gives a file a name that no other file has.
func linkOrRename(temporary, name string) error {
	// A rename would overwrite what has come there meanwhile; a link does not.
	// Some file systems have none.
	err := os.Link(temporary, name)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		if err := checkAbsent(name); err != nil {
			return err
		}
		err = os.Rename(temporary, name)
	}
	return err
}

// markSuffix makes the name of the mark of a store: an empty file beside it
// whose time is that of the last backup. A row in the store would make each
// backup a write, and have it wait for the one writer.
const markSuffix = "-last-backup"

// markBackup leaves the time of a backup of the store at path.
func markBackup(path string, at time.Time) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(target+markSuffix, nil, 0o600); err != nil {
		return err
	}
	return os.Chtimes(target+markSuffix, at, at)
}
