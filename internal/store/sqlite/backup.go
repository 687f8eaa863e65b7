package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/atomicfile"
)

// copyStep is the number of pages that are copied between two calls of progress.
const copyStep = 256

// Copy copies the store in the file from to the file to, which must not exist.
// The store may be in use: the copy is a consistent snapshot. The new file is
// complete, checked and durable; if Copy fails it does not exist. Copy calls
// progress from time to time, with sizes in bytes. A new epoch begins in the new
// file; see [plant.Position].
func Copy(ctx context.Context, from, to string, progress func(done, total int64)) error {
	change := func(conn *sqlite.Conn) error { return errors.Join(beginEpoch(conn), dropLitestream(conn)) }
	return copyTo(ctx, from, to, false, change, progress)
}

// ErrMayBeMixed means that a store is copied, but was found to be damaged before: the copy
// is a valid file, and may have old plants beside new ones.
var ErrMayBeMixed = errors.New("the store was found to be damaged: " +
	"the copy may have old plants beside new ones; compare before you use it")

// Backup is [Copy], and also stores the time of the backup, which a service shows
// in its metrics. If replace is set, it replaces the file to; if it fails, that
// file is unchanged. A damaged store replaces no backup; see [ErrMayBeMixed].
func Backup(ctx context.Context, from, to string, replace bool, progress func(done, total int64)) error {
	began := time.Now()
	damaged := checkDamage(from)
	if damaged != nil && replace {
		return fmt.Errorf("read %s: %w", from, damaged)
	}
	if err := checkOneName(from); err != nil {
		return fmt.Errorf("read %s: %w", from, err)
	}
	changeNothing := func(*sqlite.Conn) error { return nil }
	err := copyTo(ctx, from, to, replace, changeNothing, progress)
	if errors.Is(err, errExists) {
		return fmt.Errorf("%w; --replace replaces it", err)
	}
	if err != nil {
		return err
	}
	if damaged != nil {
		return ErrMayBeMixed
	}
	if err := markBackup(from, began); err != nil {
		return fmt.Errorf("%s is complete, but the time of the backup could not be stored: %w", to, err)
	}
	return nil
}

// copyTo copies to a temporary file in the directory of to, which becomes the file to once
// it is complete.
func copyTo(
	ctx context.Context, from, to string, replace bool,
	change func(*sqlite.Conn) error, progress func(done, total int64),
) error {
	if err := checkTarget(from, to, replace); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	source, err := openCopied(from)
	if err != nil {
		return fmt.Errorf("read %s: %w", from, advise(err))
	}
	defer source.Close()

	file, err := atomicfile.Create(to, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		file.Discard()
		os.Remove(file.Name() + "-journal")
	}()
	if err := copyPages(ctx, source, file.Name(), progress); err != nil {
		return fmt.Errorf("copy %s to %s: %w", from, to, advise(err))
	}
	if err := verify(ctx, file.Name(), change); err != nil {
		return fmt.Errorf("check the copy of %s: %w", from, advise(err))
	}
	if err := file.Publish(replace); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	return nil
}

var errExists = errors.New("this file exists; give another path, " +
	"or move the file with its -wal and -shm files to another directory")

// checkTarget returns an error if a copy of the file from must not be written to
// path.
func checkTarget(from, path string, replace bool) error {
	if err := checkPath(path); err != nil {
		return err
	}
	source, _ := os.Stat(from)
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !replace:
		return errExists
	case !info.Mode().IsRegular():
		return errors.New("this is not a regular file; give another path")
	case os.SameFile(source, info):
		return errors.New("this is the store itself; give another path")
	}
	return checkAlone(path)
}

// logSuffixes are the suffixes of the files that SQLite has beside a database while it
// is open, and keeps after a crash, and of recordDamage.
var logSuffixes = [...]string{"-wal", "-shm", "-journal", damagedSuffix}

// checkAlone returns an error if there is a log beside path. SQLite would apply it to
// the new file, or delete it with the writes that only the log has.
func checkAlone(path string) error {
	for _, suffix := range logSuffixes {
		if _, err := os.Lstat(path + suffix); err == nil {
			return errOldStore(path + suffix)
		}
	}
	return nil
}

// openCopied opens the store that is copied, and begins a read transaction.
func openCopied(path string) (*sqlite.Conn, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the file does not exist")
	}
	if err := cmp.Or(checkRegular(path), checkNew(path)); err != nil {
		return nil, err
	}
	if _, err := checkStored(path); err != nil {
		return nil, err
	}
	conn, err := openConn(path, forReaders, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	// The online backup of SQLite restarts after each write of another
	// connection, so with a busy server it would never finish. It does not
	// restart within a read transaction, which keeps a snapshot and blocks no
	// writer in WAL mode. VACUUM INTO keeps a snapshot as well, but reports no
	// progress and takes twice as long.
	return closeOnError(conn, beginOurs(conn))
}

// beginOurs begins a transaction, and returns an error unless the file is a store.
func beginOurs(conn *sqlite.Conn) error {
	if err := execute(conn, "BEGIN"); err != nil {
		return err
	}
	_, err := checkOurs(conn)
	return err
}

func copyPages(ctx context.Context, source *sqlite.Conn, name string, progress func(done, total int64)) (err error) {
	conn, err := openCopy(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	pageSize, err := number(source, "PRAGMA page_size")
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

// verify checks a copy, after it has called change. It opens the file again, so that it does not
// read from the cache of the connection that wrote it. It also switches the copy from WAL mode to
// DELETE, so that a program that opens the copy creates no -wal file beside it.
func verify(ctx context.Context, name string, change func(*sqlite.Conn) error) (err error) {
	conn, err := openCopy(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.SetInterrupt(ctx.Done())
	if err := execute(conn, "PRAGMA journal_mode = DELETE"); err != nil {
		return err
	}
	if _, err := checkOurs(conn); err != nil {
		return err
	}
	if err := change(conn); err != nil {
		return err
	}
	return checkIntegrity(conn)
}

// openCopy opens the temporary file. It is synced once, when it is complete.
func openCopy(name string) (*sqlite.Conn, error) {
	return openConn(name, []string{"PRAGMA synchronous = OFF"}, sqlite.OpenReadWrite)
}

var errDamaged = errors.New("the file is damaged")

// checkIntegrity returns errDamaged if the file is damaged.
func checkIntegrity(conn *sqlite.Conn) error {
	result, err := text(conn, "PRAGMA integrity_check(1)")
	if err != nil {
		return err
	}
	if result != "ok" {
		return fmt.Errorf("%w: %s", errDamaged, result)
	}
	return nil
}

// markSuffix is the suffix of an empty file beside the store whose modification
// time is the time of the last backup. If the time were stored in a row, a backup
// would have to wait for the write lock.
const markSuffix = "-last-backup"

// markBackup stores the time of a backup of the store at path.
func markBackup(path string, at time.Time) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	file, err := atomicfile.Create(target+markSuffix, 0o600)
	if err != nil {
		return err
	}
	if err := os.Chtimes(file.Name(), at, at); err != nil {
		file.Discard()
		return err
	}
	return file.Publish(true)
}
