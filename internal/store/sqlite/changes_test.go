package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/token"
)

// If a file is replaced by an older copy of itself, every follower ends up with an
// equal copy.
func TestFileCopiedBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		back  func(t *testing.T, backup, path string)
		begin bool // else the new file has a new epoch already
	}{
		"by hand": {func(t *testing.T, backup, path string) {
			must.NoError(t, os.Rename(backup, path))
		}, true},
		"by restore": {func(t *testing.T, backup, path string) {
			must.NoError(t, Copy(t.Context(), backup, path, ignore))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, backup := filepath.Join(t.TempDir(), "plants.db"), filepath.Join(t.TempDir(), "backup.db")
			storetest.Restored(t, storetest.Restore{
				Open: func(t *testing.T) store.Store {
					s, err := Open(t.Context(), path)
					must.NoError(t, err)
					return s
				},
				Backup: func(t *testing.T) {
					must.NoError(t, Backup(t.Context(), path, backup, false, ignore))
				},
				Restore: func(t *testing.T) {
					must.NoError(t, os.Remove(path))
					c.back(t, backup, path)
				},
				Begins: !c.begin,
			})
		})
	}
}

// The content goes back while servers run. A restore by statements is noticed by the server
// that has seen the transactions that are gone; see content.
func TestRestoredWhileRunning(t *testing.T) {
	t.Parallel()
	must.HaveTime(t)
	for name, c := range map[string]struct {
		servers         int
		backup, restore func(t *testing.T, path, backup string)
	}{
		"by .restore": {
			servers: 2,
			backup:  func(t *testing.T, path, backup string) { dotBackup(t, path, backup) },
			restore: func(t *testing.T, path, backup string) { dotBackup(t, backup, path) },
		},
		"by statements": {
			servers: 1,
			backup:  func(t *testing.T, path, backup string) { dotBackup(t, path, backup) },
			restore: func(t *testing.T, path, backup string) {
				other := connect(t, path)
				defer other.Close()
				must.NoError(t, execute(other, "ATTACH ? AS backup", backup))
				must.NoError(t, sqlitex.ExecuteScript(other, `
					DELETE FROM plants; INSERT INTO plants SELECT * FROM backup.plants;
					DELETE FROM changes; INSERT INTO changes SELECT * FROM backup.changes;
					DELETE FROM epochs; INSERT INTO epochs SELECT * FROM backup.epochs`, nil))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var path string
			backup := func(number int) string { return fmt.Sprint(path, number, ".db") }
			storetest.RestoredRunning(t, storetest.RestoreRunning{
				Open: func(t *testing.T) (servers []store.Store) {
					path = filepath.Join(t.TempDir(), "plants.db")
					for range c.servers {
						servers = append(servers, openStore(t, path))
					}
					return servers
				},
				Backup:  func(t *testing.T, number int) { c.backup(t, path, backup(number)) },
				Restore: func(t *testing.T, number int) { c.restore(t, path, backup(number)) },
			})
		})
	}
}

// After a restore under a running server the tokens are those of the backup, within a second.
func TestRestoredTokens(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	kept, keptText := token.New("in the backup", nil, time.Hour)
	lost, lostText := token.New("not in the backup", nil, time.Hour)
	must.NoError(t, s.CreateToken(t.Context(), kept))
	dotBackup(t, path, path+".backup")
	must.NoError(t, s.CreateToken(t.Context(), lost))
	must.NoError(t, s.UpdateToken(t.Context(), kept.ID, func(t *token.Token) error { t.RevokedAt = time.Now(); return nil }))
	verifier := token.NewVerifier(s, "")
	t.Cleanup(func() { verifier.Close() })
	verify := func(text string) error {
		_, err := verifier.Verify(t.Context(), text)
		return err
	}
	expect.Error(t, "before the restore, the token of the backup", verify(keptText), token.ErrInvalid)
	expect.Error(t, "before the restore, the other token", verify(lostText), nil)
	dotBackup(t, path+".backup", path)
	time.Sleep(token.CacheTTL)
	expect.Error(t, "after the restore, the token of the backup", verify(keptText), nil)
	expect.Error(t, "after the restore, the other token", verify(lostText), token.ErrInvalid)
}

// dotBackup does what .backup and .restore of sqlite3 do.
func dotBackup(t *testing.T, from, to string) {
	t.Helper()
	source, target := connect(t, from), connect(t, to)
	pages, err := sqlite.NewBackup(target, "main", source, "main")
	must.NoError(t, err)
	_, err = pages.Step(-1)
	must.NoError(t, errors.Join(err, pages.Close(), source.Close(), target.Close()))
}

// connect opens a connection, which the test closes.
func connect(t *testing.T, path string) *sqlite.Conn {
	t.Helper()
	conn, err := sqlite.OpenConn(path)
	must.NoError(t, err)
	conn.SetBusyTimeout(busyTimeout)
	return conn
}

func TestNoEpochUnderLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	storetest.NoEpochUnderLoad(t, openStore(t, path), openStore(t, path))
}

func TestForgottenEpochs(t *testing.T) {
	t.Parallel()
	s := openStore(t, filepath.Join(t.TempDir(), "plants.db"))
	storetest.ForgottenEpochs(t, s, func(t *testing.T) (n int) {
		err := s.read(t.Context(), func(conn *sqlite.Conn) error {
			return sqlitex.Execute(conn, `SELECT count(*) FROM epochs`, &sqlitex.ExecOptions{
				ResultFunc: func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt(0); return nil },
			})
		})
		must.NoError(t, err)
		return n
	})
}

// A new store has the feed of changes, also if several processes open it at once.
func TestNewStoreHasFeed(t *testing.T) {
	t.Parallel()
	for range 10 {
		path := filepath.Join(t.TempDir(), "plants.db")
		storetest.MigrateAtOnce(t, 4, len(schema), func() (store.Store, error) {
			s, err := Open(t.Context(), path)
			if err == nil {
				_, _, err = s.Changes(t.Context(), nil, 1)
			}
			return s, err
		})
	}
}
