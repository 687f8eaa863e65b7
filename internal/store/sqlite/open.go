package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/store/groupcommit"
)

// readers is how many reads run at once; the next one waits. Reads are short
// and run on the processor, so more connections than this buy only memory.
const readers = 4

// busyTimeout is how long a connection waits for another program that holds
// the file, `plantstore token` for one.
const busyTimeout = 5 * time.Second

// Open opens the store in the file at path, creating the file and bringing its
// schema up to date where needed. The path [Memory] opens a store of its own
// that has no file.
func Open(ctx context.Context, path string) (*Store, error) {
	s, err := open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, advise(err))
	}
	return s, nil
}

func open(ctx context.Context, path string) (*Store, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	conn, err := openWriter(ctx, path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, writer: make(chan *sqlite.Conn, 1), closed: make(chan struct{})}
	s.writes = groupcommit.New(maxGroup, s.commit)
	s.writer <- conn
	if path == Memory {
		s.readers = s.writer // what is in memory belongs to its one connection
		return s, nil
	}
	s.log.due = checkpointPages
	var conns []*sqlite.Conn
	for range readers {
		conn, err := openReader(path)
		if err != nil {
			for _, conn := range conns {
				err = errors.Join(err, conn.Close())
			}
			return nil, errors.Join(err, s.Close())
		}
		conns = append(conns, conn)
	}
	s.readers = make(chan *sqlite.Conn, readers)
	for _, conn := range conns {
		s.readers <- conn
	}
	if err := s.files.open(path); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// checkPath finds the mistakes for which SQLite has but one message, "unable to
// open database file".
func checkPath(path string) error {
	if path == Memory {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return errors.New("this is a folder: name a file")
	}
	folder := filepath.Dir(path)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s does not exist: create it first", folder)
	}
	return nil
}

// adviceDamaged is what to do about a damaged file.
const adviceDamaged = "the file is damaged: stop the service, move the file away together with its -wal and -shm files, " +
	"and restore a backup (plantstore restore)"

// advise puts what to do about it before an error of SQLite.
func advise(err error) error {
	var advice string
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultProtocol:
		advice = "another program holds the file: end it, then start again"
	case sqlite.ResultFull:
		advice = "the disk is full: make room, then start again"
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultPerm:
		advice = "cannot write here: let this user write to the file and to its folder"
	case sqlite.ResultNotADB:
		advice = "this is some other kind of file: name another one"
	case sqlite.ResultCorrupt:
		advice = adviceDamaged
	case sqlite.ResultIOErr:
		advice = "the disk cannot be read or written: look into the log of the system"
	default:
		return err
	}
	return fmt.Errorf("%s (%w)", advice, err)
}

// forAll are the pragmas of every connection.
const forAll = `
	-- Without it each read copies its pages into memory of its own, and a cache
	-- large enough for many plants exists once per connection. The mapped file
	-- is the cache of the system, shared and given back when memory is short.
	-- SQLite cuts the number down to what it can map, 2 GiB.
	PRAGMA mmap_size = 1099511627776;

	-- Without it a large write keeps its savepoints in files in a temporary
	-- folder, which a container may not have.
	PRAGMA temp_store = MEMORY;
`

// forReaders are the pragmas of the connections that read.
const forReaders = `
	-- Without it a statement that writes by mistake would pass the one writer by.
	PRAGMA query_only = ON;

	-- What is not in the log is mapped; this is for pages of the log. In KiB.
	PRAGMA cache_size = -1024;
`

// forWriter are the pragmas of the connection that writes.
const forWriter = `
	-- With NORMAL a commit does not wait for the disk: a power cut would take
	-- back plants that have been acknowledged.
	PRAGMA synchronous = FULL;

	-- The pages that a group changes have to fit. Those that do not would be
	-- written twice. In KiB.
	PRAGMA cache_size = -16384;

	-- SQLite would make checkpoints inside COMMIT, with no regard for readers;
	-- see walLog.
	PRAGMA wal_autocheckpoint = 0;

	-- Without it the log would stay as long as it has ever been, after a backup
	-- or a very large write. The room is kept up to here, in bytes, because
	-- overwriting is faster than growing.
	PRAGMA journal_size_limit = 67108864;
`

// openConn opens one connection. The path is a path, never a URI: a file name
// may hold a question mark.
func openConn(path string, pragmas string, flags ...sqlite.OpenFlags) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(path, append(flags, sqlite.OpenReadWrite)...)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(busyTimeout)
	if err := setPragmas(conn, forAll+pragmas); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func openReader(path string) (*sqlite.Conn, error) {
	return openConn(path, forReaders)
}

// openWriter opens the connection that writes, creates the file if there is
// none, and brings the schema up to date.
func openWriter(ctx context.Context, path string) (*sqlite.Conn, error) {
	if path != Memory {
		createFile(path)
	}
	// Without WAL readers and the writer would wait for each other. It is set
	// first: what is set before it is not always kept.
	conn, err := openConn(path, "PRAGMA journal_mode = WAL;"+forWriter)
	if err != nil {
		return nil, err
	}
	if path != Memory {
		err = checkDurable(conn)
	}
	if err == nil {
		// Fails for a file that may not be written, too: SQLite has opened it
		// for reading, without a word.
		err = migrate(ctx, conn)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// setPragmas runs pragmas one by one: in a transaction, as a script is run, some
// of them would be ignored.
func setPragmas(conn *sqlite.Conn, pragmas string) error {
	for rest := strings.TrimSpace(pragmas); rest != ""; {
		stmt, trailing, err := conn.PrepareTransient(rest)
		if err != nil {
			return err
		}
		_, err = stmt.Step()
		if err := errors.Join(err, stmt.Finalize()); err != nil {
			return err
		}
		rest = strings.TrimSpace(rest[len(rest)-trailing:])
	}
	return nil
}

// checkDurable asks SQLite whether it took the settings that durability rests
// on; it ignores a pragma that it cannot honour without a word.
func checkDurable(conn *sqlite.Conn) error {
	const full = 2
	synchronous, err := pragma(conn, "synchronous")
	if err != nil {
		return err
	}
	if synchronous != full {
		return fmt.Errorf("synchronous is %d, need %d (FULL)", synchronous, full)
	}
	var mode string
	err = sqlitex.ExecuteTransient(conn, "PRAGMA journal_mode", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			mode = stmt.ColumnText(0)
			return nil
		},
	})
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("journal_mode is %q, need wal: is the file on a network file system?", mode)
	}
	return nil
}
