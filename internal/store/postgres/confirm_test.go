//go:build unix

package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// The feed does not return a transaction that no synchronous standby has: a failover
// would take it back. The primary shows it if its wait for the standby was cancelled.
func TestDrillUnconfirmedChange(t *testing.T) {
	server := pgtest.NewServer(t)
	store := open(t, pgtest.URL(server))
	must.NoError(t, store.Create(t.Context(), plant.Plant{ID: 1, Name: "n"}))
	f := &storetest.Follower{Store: store, Limit: 10}
	f.Drain(t)

	query(t, server, `ALTER SYSTEM SET synchronous_standby_names = 'absent'`)
	query(t, server, `SELECT pg_reload_conf()::TEXT`, new(string))
	wait.Until(t, "the server waits for a standby", func() bool {
		var names string
		query(t, server, `SHOW synchronous_standby_names`, &names)
		return names == "absent"
	})
	conn := pgtest.Connect(t, pgtest.URL(server))
	committed := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), `UPDATE plants SET name = 'unconfirmed'`)
		if err == nil {
			_, err = conn.Exec(t.Context(), storeChanges, []int64{1}, time.Now().UnixMicro())
		}
		committed <- err
	}()
	wait.Until(t, "both commits have waited for the standby and were cancelled", func() bool {
		query(t, server, `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`, new(int))
		select {
		case err := <-committed:
			must.NoError(t, err)
			return true
		default:
			return false
		}
	})
	if p, err := store.Get(t.Context(), 1); err != nil || p.Name != "unconfirmed" {
		t.Fatalf("Get = %+v, %v: the primary does not show the transaction", p, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if changes, _, err := store.Changes(ctx, f.Position, 10); err == nil {
		t.Errorf("Changes = %+v, want an error while no standby has the change", changes)
	}
	stopWaitingForStandby(t, server)
	if all := f.Drain(t); len(all) != 1 {
		t.Errorf("the feed has %d changes, want 1", len(all))
	}
	f.WantCopy(t)
}

// If a standby is promoted that lacks transactions, a client that has seen them begins
// again, although the new primary has written as many since. So it does if it comes
// back after a second standby was promoted, which has the same timeline as the first
// one. A client that has seen no lost transaction continues.
func TestDrillAsynchronousStandby(t *testing.T) {
	primary := pgtest.NewServer(t, "wal_keep_size = '64MB'")
	standbys := []*pgtest.Server{primary.NewStandby(), primary.NewStandby()}
	var stores []*Store
	for range 2 {
		s := open(t, pgtest.URL(primary, standbys[0], standbys[1]))
		must.NoError(t, s.BeginEpoch(t.Context()))
		stores = append(stores, s)
	}
	id := int64(0)
	createSome := func(n int) {
		for range n {
			create(t, stores[id%2], id)
			id++
		}
	}
	newFollower := func() *storetest.Follower { return &storetest.Follower{Store: stores[0], Limit: 100} }
	behind, beyond, away := newFollower(), newFollower(), newFollower()
	createSome(10)
	behind.Drain(t)
	for _, standby := range standbys {
		waitForReplay(t, primary, standby)
		standby.StopImmediately()
	}
	for i, standby := range standbys {
		lost := id
		createSome(5)
		beyond.Drain(t)
		if i == 0 {
			away.Drain(t)
		}
		primary.Kill()
		standby.Start()
		standby.Promote()
		createSome(20)
		if n := count(t, standby, lost); n != 0 {
			t.Fatal("the new primary lacks nothing")
		}
		beyond.Drain(t)
		primary = standby
	}
	for f, restarts := range map[*storetest.Follower]int{behind: 0, beyond: 2, away: 1} {
		f.Drain(t)
		createSome(2)
		f.Drain(t)
		f.WantCopy(t)
		if f.Restarts != restarts {
			t.Errorf("a client has begun again %d times, want %d", f.Restarts, restarts)
		}
	}
}

// A program that only reads confirms the positions of a server that has replaced another
// one, although it has confirmed higher ones before.
func TestPositionsAreConfirmedAgain(t *testing.T) {
	dsn := pgtest.DSN(t)
	writer, reader := open(t, dsn), open(t, dsn)
	must.NoError(t, writer.BeginEpoch(t.Context()))
	for id := range int64(10) {
		create(t, writer, id)
	}
	confirmations := func() int {
		t.Helper()
		before := len(reader.discarded)
		_, _, err := reader.Changes(t.Context(), nil, 100)
		must.NoError(t, err)
		return len(reader.discarded) - before
	}
	if first, second := confirmations(), confirmations(); first != 1 || second != 0 {
		t.Fatalf("the first read made %d confirmations, the second one %d, want 1 and 0", first, second)
	}
	// What an asynchronous standby lacks.
	execute(t, pgtest.Connect(t, dsn), `DELETE FROM changes WHERE position > 5; DELETE FROM plants WHERE id >= 5`)
	must.NoError(t, writer.BeginEpoch(t.Context())) // as beginOnServer does
	create(t, writer, 20)
	if n := confirmations(); n != 1 {
		t.Errorf("the other server was read with %d confirmations, want 1", n)
	}
}
