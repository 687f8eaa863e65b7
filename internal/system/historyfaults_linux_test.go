package system_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// query runs a statement on a server, and returns the text of its only column.
func (h *histories) query(server *pgtest.Server, statement string, args ...any) (text string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), wait.Limit)
	defer cancel()
	conn, err := pgx.Connect(ctx, strings.Replace(pgtest.URL(server), "read-write", "any", 1))
	must.NoError(h.t, err)
	defer conn.Close(ctx)
	must.NoError(h.t, conn.QueryRow(ctx, statement, args...).Scan(&text))
	return text
}

// sessions selects the sessions of the servers.
const sessions = ` FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`

// onSessions calls a function of PostgreSQL three times with each session of the servers.
func (h *histories) onSessions(function string) {
	for range 3 {
		h.query(h.primary, `SELECT count(`+function+`(pid))::TEXT`+sessions)
		time.Sleep(50 * time.Millisecond)
	}
}

// lockPlants locks the table of plants for a moment.
func (h *histories) lockPlants() {
	conn := pgtest.Connect(h.t, pgtest.URL(h.primary))
	ctx, cancel := context.WithTimeout(h.t.Context(), wait.Limit)
	defer cancel()
	for _, statement := range []string{`BEGIN`, `LOCK TABLE plants`, `SELECT pg_sleep(0.2)`, `ROLLBACK`} {
		_, err := conn.Exec(ctx, statement)
		must.NoError(h.t, err)
	}
}

// killBackend kills a process of PostgreSQL, which then ends all others and starts again.
func (h *histories) killBackend() {
	var pid int
	wait.Until(h.t, "a server has a session", func() bool {
		text := h.query(h.primary, `SELECT coalesce(min(pid), 0)::TEXT`+sessions)
		_, err := fmt.Sscan(text, &pid)
		must.NoError(h.t, err)
		return pid != 0
	})
	must.NoError(h.t, syscall.Kill(pid, syscall.SIGKILL))
}

// crash stops PostgreSQL as a power cut does, and starts it again.
func (h *histories) crash() {
	h.primary.StopImmediately()
	h.primary.Start()
	h.waitForStandby()
}

// crashWithoutSync lets PostgreSQL crash after an administrator has said that commits need not wait
// for the disk. Those of the servers do.
func (h *histories) crashWithoutSync() {
	conn := pgtest.Connect(h.t, pgtest.URL(h.primary))
	for _, statement := range []string{
		`ALTER SYSTEM SET synchronous_commit = off`,
		`ALTER DATABASE postgres SET synchronous_commit = off`,
		`ALTER ROLE plantstore SET synchronous_commit = off`,
		`SELECT pg_reload_conf()`,
	} {
		_, err := conn.Exec(h.t.Context(), statement)
		must.NoError(h.t, err)
	}
	h.waitForMore(10 * historyClients)
	h.crash()
}

// failover kills the primary, promotes the standby, and makes a new standby of the old primary.
func (h *histories) failover() {
	// A commit whose wait for the standby was cancelled is visible, and may not be on the standby.
	// PostgreSQL documents that, so the primary is not killed in that moment.
	end := h.query(h.primary, `SELECT pg_current_wal_lsn()::TEXT`)
	wait.Until(h.t, "the standby has all commits", func() bool {
		return h.query(h.primary, `SELECT (coalesce(max(flush_lsn), '0/0') >= $1::TEXT::PG_LSN)::TEXT FROM pg_stat_replication`, end) == "true"
	})
	h.primary.Kill()
	killed := time.Now()
	h.standby.Promote()
	h.primary, h.standby = h.standby, h.primary
	h.synchronous("")
	h.waitForMore(1)
	h.outages = append(h.outages, time.Since(killed).Round(time.Millisecond))
	h.standby.Follow(h.primary)
	h.synchronous("*")
	h.waitForStandby()
}

// synchronous says which standby a commit waits for.
func (h *histories) synchronous(names string) {
	conn := pgtest.Connect(h.t, pgtest.URL(h.primary))
	ctx, cancel := context.WithTimeout(h.t.Context(), wait.Limit)
	defer cancel()
	_, err := conn.Exec(ctx, `ALTER SYSTEM SET synchronous_standby_names = '`+names+`'`)
	must.NoError(h.t, err)
	h.query(h.primary, `SELECT pg_reload_conf()::TEXT`)
}

func (h *histories) waitForStandby() {
	h.t.Helper()
	wait.Until(h.t, "the standby is synchronous", func() bool {
		return h.query(h.primary, `SELECT count(*)::TEXT FROM pg_stat_replication WHERE sync_state = 'sync'`) == "1"
	})
}
