package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
)

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

// The content goes back while servers run: all rows are stored again, which is what pg_restore
// does, too.
func TestRestoredWhileRunning(t *testing.T) {
	var conn *pgx.Conn
	each := func(t *testing.T, statement string, number int) {
		tx, err := conn.Begin(t.Context())
		must.NoError(t, err)
		all := strings.Join(tables, ", ")
		execute(t, tx, `LOCK TABLE `+all+` IN ACCESS EXCLUSIVE MODE`)
		for _, table := range tables {
			of := fmt.Sprintf("backup_%d_of_%s", number, table)
			execute(t, tx, strings.NewReplacer("TABLE", table, "BACKUP", of).Replace(statement))
		}
		must.NoError(t, tx.Commit(t.Context()))
	}
	storetest.RestoredRunning(t, storetest.RestoreRunning{
		Open: func(t *testing.T) []store.Store {
			dsn := pgtest.DSN(t)
			conn = pgtest.Connect(t, dsn)
			return []store.Store{open(t, dsn), open(t, dsn)}
		},
		Backup: func(t *testing.T, number int) { each(t, `SELECT * INTO BACKUP FROM TABLE`, number) },
		Restore: func(t *testing.T, number int) {
			each(t, `DELETE FROM TABLE; INSERT INTO TABLE SELECT * FROM BACKUP`, number)
		},
	})
}

// Neither load nor maintenance looks like a restore.
func TestNoEpochUnderLoad(t *testing.T) {
	dsn := pgtest.DSN(t)
	one, two := open(t, dsn), open(t, dsn)
	storetest.NoEpochUnderLoad(t, one, two)
	before := *one.content.Load()
	for _, statement := range []string{`VACUUM (FREEZE) epochs`, `VACUUM (FULL) epochs`, `ANALYZE epochs`, `REINDEX TABLE epochs`, `VACUUM (FULL, FREEZE) changes`} {
		execute(t, pgtest.Connect(t, dsn), statement)
		_, _, err := one.Put(t.Context(), plant.Plant{ID: 1, Name: statement}, plant.Precondition{})
		must.NoError(t, err)
		if after := *one.content.Load(); after != before {
			t.Errorf("%s: the content was %v, and is %v", statement, before, after)
		}
	}
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
