package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
	"github.com/plantstore/plantstore/internal/store/sqlite/wal"
)

// readers is the number of reads that run at the same time; others wait. Reads
// are short and use the processor, so more connections would use more memory
// and not be faster.
const readers = 4

// busyTimeout is how long a connection waits while another program, such as
// `plantstore token`, has locked the file.
const busyTimeout = 5 * time.Second

// Open opens the store in the file at path. It creates the file and updates its
// schema if necessary. The path [Memory] opens a new store in memory.
func Open(ctx context.Context, path string) (s *Store, err error) {
	defer describeOpen(path, &err)
	files, err := checkFiles(path)
	if err != nil {
		return nil, err
	}
	unused := unused(path)
	conn, err := openWriter(path)
	if err != nil {
		return nil, err
	}
	found, err := prepare(ctx, conn, path, unused)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	s = newStore(path, conn, found, files.log.Incomplete())
	if path == Memory {
		s.readers = s.writer // a database in memory has only one connection
		return s, nil
	}
	s.checkpointAt = checkpointPages
	if err := s.openReaders(sqlite.OpenReadWrite); err != nil {
		return nil, err
	}
	s.markNewLog(conn)
	return s, nil
}

// prepare updates the schema, unless nothing has checked the content of an unused file. It returns
// the number of migrations before.
func prepare(ctx context.Context, conn *sqlite.Conn, path string, unused bool) (found int, err error) {
	if unused {
		if err := checkRestored(conn, path); err != nil {
			return 0, err
		}
	}
	return migrate(ctx, conn)
}

// OpenReadOnly opens the store in the file at path, which must exist, and changes
// neither the file nor its write-ahead log. Every write fails.
func OpenReadOnly(path string) (*Store, error) {
	// SQLite has a parameter immutable=1 for this. It ignores the log.
	s, err := openExisting(path, sqlite.OpenReadOnly)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, adviseReadOnly(err))
	}
	return s, nil
}

// OpenSource opens the store in the file at path as the source of a copy. Every write
// fails. Unlike OpenReadOnly, it leaves no log beside a store that no program uses.
func OpenSource(path string) (*Store, error) {
	s, err := openExisting(path, sqlite.OpenReadWrite)
	describeOpen(path, &err)
	return s, err
}

// describeOpen adds to an error of opening a store its path and what to do about it.
func describeOpen(path string, err *error) {
	if *err != nil {
		*err = fmt.Errorf("open %s: %w", path, advise(*err))
	}
}

func openExisting(path string, mode sqlite.OpenFlags) (*Store, error) {
	if err := cmp.Or(checkPath(path), checkOneName(path)); err != nil {
		return nil, err
	}
	files, err := checkStored(path)
	if err != nil {
		return nil, err
	}
	conn, err := openConn(path, forReaders, mode)
	if err != nil {
		return nil, err
	}
	if err := checkCurrent(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	s := newStore(path, conn, len(schema), files.log.Incomplete())
	return s, s.openReaders(mode)
}

func newStore(path string, conn *sqlite.Conn, found int, incomplete int64) *Store {
	s := &Store{
		path: path, found: found, incomplete: incomplete, durations: store.NewDurations(),
		files:  openFiles{log: slog.New(slog.DiscardHandler), logged: &wal.Content{}, earlier: map[wal.Mark]bool{}},
		writer: make(chan *sqlite.Conn, 1), stopWatch: func() {},
	}
	s.writes, s.Writer = groupcommit.New(maxGroup, s.commit), store.Writer{Apply: s.apply}
	s.Searcher = store.Searcher{InSnapshot: s.inSnapshot, Durations: s.durations}
	s.writer <- conn
	return s
}

// openReaders opens the connections that read, and closes the store if it fails.
func (s *Store) openReaders(mode sqlite.OpenFlags) error {
	opened, err := openPool(s.path, mode)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	s.readers = opened
	open := func(conn *sqlite.Conn) error { return s.files.open(s.path, conn) }
	err = withConnection(context.Background(), opened, open)
	if err == nil {
		err = withConnection(context.Background(), opened, s.checkNames)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// openPool opens the connections that read. If it fails, it closes those that it has opened.
func openPool(path string, mode sqlite.OpenFlags) (chan *sqlite.Conn, error) {
	opened := make(chan *sqlite.Conn, readers)
	for range readers {
		conn, err := openConn(path, forReaders, mode)
		if err != nil {
			close(opened)
			for conn := range opened {
				err = errors.Join(err, conn.Close())
			}
			return nil, err
		}
		opened <- conn
	}
	return opened, nil
}

// adviceDamaged says what to do about a store that may be damaged.
const adviceDamaged = "the disk cannot be read, or the file is damaged; if the log of the operating system has no error " +
	"of the disk, stop the service, move the file and its -wal, -shm and -journal files to another directory, " +
	"and restore a backup (plantstore restore)"

const (
	adviceLocked     = "another program has locked the file; stop it, then try again"
	adviceUnwritable = "cannot write to the file, its -wal or its -shm; run this as the user that the store belongs to: " +
		"it needs write permission for these and the directory"
)

// advices says what to do about the errors of SQLite.
var advices = map[sqlite.ResultCode]string{
	sqlite.ResultBusy:     adviceLocked,
	sqlite.ResultLocked:   adviceLocked,
	sqlite.ResultProtocol: adviceLocked,
	sqlite.ResultReadOnly: adviceUnwritable,
	sqlite.ResultCantOpen: adviceUnwritable,
	sqlite.ResultPerm:     adviceUnwritable,
	sqlite.ResultNotADB:   errNoDatabase.Error(),
	sqlite.ResultCorrupt:  adviceDamaged,
	sqlite.ResultIOErr:    "the disk cannot be read or written; see the log of the operating system",
}

// advise adds to an error of SQLite what to do about it.
func advise(err error) error {
	code := sqlite.ErrCode(err).ToPrimary()
	if code == sqlite.ResultFull {
		return fmt.Errorf("%w (%w)", plant.ErrDiskFull, err)
	}
	advice, isKnown := advices[code]
	if !isKnown {
		return err
	}
	return fmt.Errorf("%s (%w)", advice, err)
}

// adviseReadOnly is advise for a store that is only read.
func adviseReadOnly(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultCantOpen, sqlite.ResultReadOnly, sqlite.ResultPerm:
		return fmt.Errorf("cannot read the file and its -wal, or create the -shm that SQLite needs to read them; "+
			"give this user read permission for the files and write permission for the directory (%w)", err)
	}
	return advise(err)
}

// forAll are the pragmas of every connection.
var forAll = []string{
	// A process that reads a mapped page of a file that another program has
	// truncated is killed (SIGBUS). It is also the default.
	"PRAGMA mmap_size = 0",

	// Without it a large write keeps what undoes it in temporary files, and a
	// container may have no directory for them.
	"PRAGMA temp_store = MEMORY",

	// Without it a file that an attacker has prepared could call any function of SQLite from
	// its schema, for example from a trigger or an index.
	"PRAGMA trusted_schema = OFF",
}

// forReaders are the additional pragmas of the connections that read.
var forReaders = []string{
	// Without it a statement could write by mistake, without the queue.
	"PRAGMA query_only = ON",

	// Each connection copies the pages that it reads into a cache of its own, and
	// the store has five connections. The operating system has the others. In KiB.
	"PRAGMA cache_size = -4096",
}

// forWriter are the additional pragmas of the connection that writes.
var forWriter = []string{
	// Without WAL readers and the writer would wait for each other. It must be first:
	// it may reset others.
	"PRAGMA journal_mode = WAL",

	// With NORMAL a commit does not wait for the disk, and a power failure would
	// lose acknowledged plants.
	"PRAGMA synchronous = FULL",

	// Large enough for the pages that a group changes. Pages that do not fit
	// would be written twice. In KiB.
	"PRAGMA cache_size = -16384",

	// Otherwise SQLite makes checkpoints during COMMIT, and constant reads keep
	// it from resetting the log; see checkpointIfDue.
	"PRAGMA wal_autocheckpoint = 0",

	// Without it the log file never shrinks after a backup or a very large
	// write. It is not 0, because overwriting a file is faster than extending
	// it. In bytes.
	"PRAGMA journal_size_limit = 67108864",
}

// openConn opens a connection. It does not take URIs, because the name of a file
// may contain a question mark.
func openConn(path string, pragmas []string, mode sqlite.OpenFlags) (*sqlite.Conn, error) {
	if err := beDefensive(); err != nil {
		return nil, err
	}
	conn, err := sqlite.OpenConn(path, mode)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(busyTimeout)
	return closeOnError(conn, executeAll(conn, slices.Concat(pragmas, forAll)...))
}

// closeOnError returns the connection, or closes it and returns the error.
func closeOnError(conn *sqlite.Conn, err error) (*sqlite.Conn, error) {
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// openWriter opens the connection that writes. It creates the file if it does not exist.
func openWriter(path string) (*sqlite.Conn, error) {
	if path == Memory {
		return openConn(path, forWriter, sqlite.OpenReadWrite)
	}
	createFile(path)
	conn, err := openInTurn(path)
	if err != nil {
		return nil, err
	}
	return closeOnError(conn, checkDurable(conn))
}

// openInTurn opens the connection that writes to a file. If another program also changes the
// file to WAL, SQLite does not wait for it.
func openInTurn(path string) (*sqlite.Conn, error) {
	end := time.Now().Add(busyTimeout)
	for {
		conn, err := openConn(path, forWriter, sqlite.OpenReadWrite)
		isBusy := sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy
		if !isBusy || time.Now().After(end) {
			return conn, err
		}
		time.Sleep(time.Millisecond)
	}
}

// checkDurable returns an error unless SQLite has applied the settings that make
// writes durable. SQLite reports no error for a pragma that it cannot apply.
func checkDurable(conn *sqlite.Conn) error {
	const want = "wal, 2" // 2 is FULL
	have, err := text(conn, "SELECT journal_mode || ', ' || synchronous FROM pragma_journal_mode, pragma_synchronous")
	if err != nil {
		return err
	}
	if have != want {
		return fmt.Errorf("journal_mode and synchronous are %s, want %s; "+
			"use a local file system, not a network file system", have, want)
	}
	return nil
}
