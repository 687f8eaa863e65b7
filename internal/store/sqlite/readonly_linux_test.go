package sqlite

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// Every write to a store that is open for reading fails, and reads work.
func TestOpenReadOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path) // stays open, so that the log has the plant
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1}))
	r, err := OpenReadOnly(path)
	must.NoError(t, err)
	defer func() { expect.NoError(t, r.Close()) }()
	_, err = r.Get(t.Context(), 1)
	expect.Error(t, "Get", err, nil)
	expect.Error(t, "Ready", r.Ready(t.Context()), nil)
	for name, write := range map[string]func() error{
		"Create":        func() error { return r.Create(t.Context(), plant.Plant{ID: 2}) },
		"Delete":        func() error { return r.Delete(t.Context(), 1, "", plant.Precondition{}) },
		"CreateToken":   func() error { return r.CreateToken(t.Context(), token.Token{ID: "a"}) },
		"BeginEpoch":    func() error { return r.BeginEpoch(t.Context()) },
		"ForgetChanges": func() error { return r.ForgetChanges(t.Context(), time.Now().Add(time.Hour)) },
	} {
		expect.Error(t, name, write(), plant.ErrUnavailable)
	}
}

// A store that is a moment old has its first page in the log alone. A checkpoint that empties the log while the files are looked at
// makes no other file of it.
func TestOpenDuringFirstCheckpoint(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	for range rounds {
		path := filepath.Join(t.TempDir(), "plants.db")
		s := openStore(t, path)
		isCopied := make(chan error, 1)
		go func() { isCopied <- withConnection(t.Context(), s.writer, emptyLog) }()
		for copied := false; !copied; {
			select {
			case err := <-isCopied:
				must.NoError(t, err)
				copied = true
			default:
			}
			if _, err := checkStored(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func emptyLog(conn *sqlite.Conn) error {
	_, _, _, err := checkpoint(conn, "TRUNCATE")
	return err
}

// A service of a user that cannot write the files cannot ask SQLite about the log, which the
// service that writes begins anew.
func TestReadOnlyBesideCheckpoints(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can play a user that does not own the files")
	}
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	fill(t, s, 0, 50<<10)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		must.NoError(t, os.Chmod(path+suffix, 0o644))
	}
	asAnotherUser(t, path)
	r, err := OpenReadOnly(path)
	must.NoError(t, err)
	var log bytes.Buffer
	r.files.log = slog.New(slog.NewTextHandler(&log, nil))
	conn := wait.For(t, "the writer", s.writer)
	_, _, _, err = checkpoint(conn, "TRUNCATE")
	s.writer <- conn
	must.NoError(t, err)
	expect.Error(t, "Ready beside an empty log", r.Ready(t.Context()), nil)
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1 << 20}))
	expect.Error(t, "Ready beside a new log", r.Ready(t.Context()), nil)
	expect.NoError(t, r.Close())
	if log.Len() > 0 {
		t.Errorf("the log of the service that reads is %s, want nothing", &log)
	}
}

// After a power cut the index on the disk may be older than the log: nothing syncs it. SQLite builds another one in
// memory for a user that cannot write it, and reads everything.
func TestReadOnlyAfterPowerCut(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can play a user that does not own the files")
	}
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	fill(t, s, 0, 20<<10)
	older := read(t, path+"-shm")
	must.NoError(t, copyTheLog(t, s))
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1 << 30}))
	torn := append(read(t, path+"-shm")[:48:48], older[48:]...)
	database, log := read(t, path), read(t, path+"-wal")
	for name, index := range map[string][]byte{"of an earlier log": older, "torn": torn, "zeros": make([]byte, len(older))} {
		t.Run(name, func(t *testing.T) {
			after := place(t, database, log, index)
			for _, suffix := range []string{"", "-wal", "-shm"} {
				must.NoError(t, os.Chmod(after+suffix, 0o644))
			}
			asAnotherUser(t, after)
			r, err := OpenReadOnly(after)
			must.NoError(t, err)
			defer func() { expect.NoError(t, r.Close()) }()
			expect.Error(t, "Ready", r.Ready(t.Context()), nil)
			_, err = r.Get(t.Context(), 1<<30)
			expect.Error(t, "Get", err, nil)
		})
	}
}

// SQLite cannot read a store without a log if it cannot create one, and the error says so.
func TestOpenReadOnlyInReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "plants.db")
	s, err := Open(t.Context(), path)
	must.NoError(t, err)
	must.NoError(t, s.Close())
	must.NoError(t, os.Chmod(folder, 0o555))
	t.Cleanup(func() { _ = os.Chmod(folder, 0o755) })
	readOnly(t, path)
	s, err = OpenReadOnly(path)
	if err == nil {
		s.Close()
	}
	expect.Message(t, "OpenReadOnly", err, "write permission for the directory")
}
