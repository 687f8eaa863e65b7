package postgres

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// A database that an earlier release created has no feed of changes until
// EnableChanges has run. From then on programs of that release cannot write.
func TestFeedOfAnEarlierRelease(t *testing.T) {
	dsn := pgtest.DSN(t)
	dump, err := os.ReadFile(storetest.ReleasedFile(1, ".sql"))
	must.NoError(t, err)
	restore(t, dsn, dump)
	shortened, err := OpenShortening(t.Context(), dsn, func(plant.Plant) {})
	if err == nil {
		err = shortened.Close()
	}
	must.NoError(t, err)
	s, two := open(t, dsn), open(t, dsn)
	old := pgtest.Connect(t, dsn) // the marks of a transaction of an earlier release, and of its settle
	oldWrites := func(id int64) []error {
		_, mark := old.Exec(t.Context(), `INSERT INTO marks (id, done, at) VALUES ($1, true, $2)`, id, id)
		_, settle := old.Exec(t.Context(), `
			INSERT INTO marks (id, done, at) VALUES ($1, false, $2) ON CONFLICT (id) DO UPDATE SET at = excluded.at`, id+1, id)
		return []error{mark, settle}
	}
	storetest.WantNoFeed(t, s)
	err = errors.Join(s.Create(t.Context(), plant.Plant{ID: 123_456}), s.BeginEpoch(t.Context()), errors.Join(oldWrites(1)...))
	must.NoError(t, err)
	storetest.WantNoFeed(t, s)
	// A transaction of the earlier release is in progress. It commits before the feed begins.
	writing := pgtest.Connect(t, dsn)
	_, err = writing.Exec(t.Context(), `
		BEGIN;
		INSERT INTO marks (id, done, at) VALUES (3, true, 3);
		INSERT INTO plants (id, name, version, created_at, updated_at) VALUES (123458, 'late', 0, 0, 0)`)
	must.NoError(t, err)
	enabled := make(chan error, 2)
	for range cap(enabled) {
		go func() { enabled <- EnableChanges(t.Context(), dsn) }()
	}
	wait.Until(t, "both EnableChanges wait for a lock", func() (wait bool) {
		err := old.QueryRow(t.Context(), `SELECT count(*) = 2 FROM pg_locks WHERE relation = 'marks'::REGCLASS AND NOT granted`).Scan(&wait)
		must.NoError(t, err)
		return wait
	})
	execute(t, writing, `COMMIT`)
	for range cap(enabled) {
		must.NoError(t, wait.For(t, "EnableChanges to return", enabled))
	}
	must.NoError(t, EnableChanges(t.Context(), dsn)) // there is nothing to do
	var epochs int
	must.NoError(t, old.QueryRow(t.Context(), `SELECT count(*) FROM epochs`).Scan(&epochs))
	if epochs != 1 {
		t.Errorf("EnableChanges has begun %d epochs, want 1", epochs)
	}
	f := &storetest.Follower{Store: two, Limit: 7} // two was open all the time
	f.WantFeed(t)
	stored, _ := token.New("n", []token.Scope{token.Read}, 0)
	must.NoError(t, s.CreateToken(t.Context(), stored))
	for _, err := range oldWrites(10) {
		if code(err) != "23502" {
			t.Errorf("a write of an earlier release = %v, want SQLSTATE 23502", err)
		}
	}
	if needs, err := number(t.Context(), old, oldestRow, ""); err != nil || needs < feedSchema {
		t.Errorf("a program must know schema %d, %v, want at least %d: else one of an earlier release starts", needs, err, feedSchema)
	}
}

// After the data of an older backup was restored, every follower ends up with an
// equal copy.
func TestRestoredBackup(t *testing.T) {
	dsn := pgtest.DSN(t)
	conn := pgtest.Connect(t, dsn)
	each := func(statements string) func(t *testing.T) {
		return func(t *testing.T) {
			for _, table := range []string{"plants", "changes", "feed", "epochs"} {
				execute(t, conn, strings.ReplaceAll(statements, "TABLE", table))
			}
		}
	}
	storetest.Restored(t, storetest.Restore{
		Open: func(t *testing.T) store.Store {
			s, err := Open(t.Context(), dsn)
			must.NoError(t, err)
			return s
		},
		Backup:  each(`SELECT * INTO backup_of_TABLE FROM TABLE`),
		Restore: each(`DELETE FROM TABLE; INSERT INTO TABLE SELECT * FROM backup_of_TABLE`),
	})
}

func TestForgottenEpochs(t *testing.T) {
	s := open(t, pgtest.DSN(t))
	storetest.ForgottenEpochs(t, s, func(t *testing.T) (n int) {
		must.NoError(t, s.pool.QueryRow(t.Context(), `SELECT count(*) FROM epochs`).Scan(&n))
		return n
	})
}

// The server ends the transaction of a program that is gone; see prepareSession. A copy
// may take longer than that between two reads of its snapshot.
func TestIdleTransactionEnds(t *testing.T) {
	s := open(t, pgtest.DSN(t))
	const show = `SHOW idle_in_transaction_session_timeout`
	var timeout, ofSnapshot string
	if err := s.pool.QueryRow(t.Context(), show).Scan(&timeout); err != nil || timeout != "5s" {
		t.Errorf("idle_in_transaction_session_timeout = %q, %v, want 5s", timeout, err)
	}
	err := s.Snapshot(t.Context(), func(held store.Snapshot) error {
		return held.(snapshot).conn.QueryRow(t.Context(), show).Scan(&ofSnapshot)
	})
	if err != nil || ofSnapshot != "10min" {
		t.Errorf("in a snapshot idle_in_transaction_session_timeout = %q, %v, want 10min", ofSnapshot, err)
	}
}
