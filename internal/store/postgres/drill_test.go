//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// A backup is restored while two servers write and clients follow, and again with the servers
// stopped. Every follower ends up with an equal copy, and tokens are those of the backup.
func TestDrillRestore(t *testing.T) {
	server := pgtest.NewServer(t)
	backup := filepath.Join(pgtest.Folder(t), "backup")
	openTwo := func() (servers []*Store) {
		for range 2 {
			s, err := Open(t.Context(), pgtest.URL(server))
			must.NoError(t, err)
			must.NoError(t, s.BeginEpoch(t.Context()))
			servers = append(servers, s)
		}
		return servers
	}
	servers := openTwo()
	var followers []*storetest.Follower
	for i := range 4 {
		followers = append(followers, &storetest.Follower{Store: servers[i%2], Limit: 1 + 20*i})
	}
	kept, keptText := token.New("in the backup", []token.Scope{token.Read}, time.Hour)
	lost, lostText := token.New("not in the backup", []token.Scope{token.Read}, time.Hour)
	verifier := token.NewVerifier(servers[0], "")
	verify := func(text string) error {
		_, err := verifier.Verify(t.Context(), text)
		return err
	}
	must.NoError(t, servers[0].CreateToken(t.Context(), kept))

	var written atomic.Int64
	write := func(n int) (ok bool) {
		i := written.Add(1)
		_, _, err := servers[n%2].Put(t.Context(), plant.Plant{ID: i % 50, Name: fmt.Sprint(i)}, plant.Precondition{})
		if err != nil && !errors.Is(err, plant.ErrUnavailable) {
			t.Error(err)
		}
		return true
	}
	more := func() {
		t.Helper()
		end := written.Load() + 300
		wait.Until(t, "there are 300 more writes", func() bool { return written.Load() >= end })
	}
	stop := wait.Repeat(4, write)
	stopFollowing := wait.Repeat(len(followers), func(n int) bool {
		if _, err := followers[n].Next(t); err != nil && !errors.Is(err, plant.ErrUnavailable) {
			t.Error(err)
		}
		return true
	})
	more()
	server.Dump(backup)
	for range 3 {
		must.NoError(t, servers[1].CreateToken(t.Context(), lost))
		must.NoError(t, servers[1].UpdateToken(t.Context(), kept.ID, func(t *token.Token) error { t.RevokedAt = time.Now(); return nil }))
		wait.Until(t, "the tokens are not those of the backup", func() bool {
			return verify(lostText) == nil && errors.Is(verify(keptText), token.ErrInvalid)
		})
		more()
		server.Restore(backup)
		time.Sleep(2 * token.CacheTTL)
		if err := verify(keptText); err != nil || !errors.Is(verify(lostText), token.ErrInvalid) {
			t.Errorf("a second after the restore, the token of the backup: %v; the other one: %v", err, verify(lostText))
		}
		more()
	}
	stop()
	stopFollowing()
	for _, f := range followers {
		f.Drain(t)
		f.WantCopy(t)
	}

	must.NoError(t, errors.Join(verifier.Close(), servers[0].Close(), servers[1].Close()))
	server.Restore(backup)
	restarts := 0
	servers = openTwo()
	for range 2000 { // beyond the positions that are gone
		write(0)
	}
	for i, f := range followers {
		f.Store = servers[i%2]
		f.Drain(t)
		f.WantCopy(t)
		restarts += f.Restarts
	}
	must.NoError(t, errors.Join(servers[0].Close(), servers[1].Close()))
	t.Logf("figures: 4 restores, %d writes, %d followers have begun again %d times", written.Load(), len(followers), restarts)
}

// waitForStandby waits until the primary has a synchronous standby.
func waitForStandby(t *testing.T, primary *pgtest.Server) {
	t.Helper()
	wait.Until(t, "the standby is synchronous", func() bool {
		var n int
		query(t, primary, `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`, &n)
		return n == 1
	})
}

// stopWaitingForStandby lets a promoted standby commit: it has the settings of the
// primary, and would wait for a standby for ever.
func stopWaitingForStandby(t *testing.T, server *pgtest.Server) {
	t.Helper()
	query(t, server, `ALTER SYSTEM SET synchronous_standby_names = ''`)
	query(t, server, `SELECT pg_reload_conf()::TEXT`, new(string))
}

// query runs a statement on a server and scans its row, if into is given.
func query(t *testing.T, server *pgtest.Server, statement string, into ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, strings.Replace(pgtest.URL(server), "read-write", "any", 1))
	must.NoError(t, err)
	defer conn.Close(ctx)
	if len(into) == 0 {
		_, err = conn.Exec(ctx, statement)
	} else {
		err = conn.QueryRow(ctx, statement).Scan(into...)
	}
	must.NoError(t, err)
}
