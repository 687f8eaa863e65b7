package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// shardedDSN returns the URL of an empty sharded store.
func shardedDSN(t testing.TB) string {
	t.Helper()
	dsn := pgtest.Citus(t)
	must.NoError(t, Distribute(t.Context(), dsn))
	return dsn
}

// A sharded store keeps every promise except the feed of changes.
func TestShardedStore(t *testing.T) {
	pgtest.Citus(t)
	storetest.Plants(t, func(t *testing.T) plant.Store { return open(t, shardedDSN(t)) })
	storetest.Tokens(t, func(t *testing.T) token.Store { return open(t, shardedDSN(t)) })
}

func TestShardedStoreOnTwoServers(t *testing.T) {
	pgtest.Citus(t)
	storetest.Plants(t, func(t *testing.T) plant.Store { return openPair(t, shardedDSN(t)) })
	storetest.Tokens(t, func(t *testing.T) token.Store { return openPair(t, shardedDSN(t)) })
}

// A sharded store is the source and the target of a copy.
func TestCopyOfShardedStore(t *testing.T) {
	pgtest.Citus(t)
	storetest.Copy(t, func(t *testing.T) storetest.Place { return placeOf(shardedDSN(t)) })
}

func TestLostConnectionToShardedStore(t *testing.T) {
	pgtest.Citus(t)
	lostConnection(t, func(t *testing.T) string { return shardedDSN(t) })
}

// A page of a sharded store may have a part of a batch that is being stored.
func TestShardedStoreShowsPartsOfBatches(t *testing.T) {
	dsn := shardedDSN(t)
	parts := storetest.PartsOfBatches(t, open(t, dsn))
	t.Logf("figures: %d pages had a part of a batch", parts)
}

// A sharded store has no feed of changes, and says why. Its plants leave no rows on
// the coordinator.
func TestShardedStoreHasNoFeed(t *testing.T) {
	dsn := shardedDSN(t)
	s := open(t, dsn)
	_, err := s.CreateAll(t.Context(), []plant.Plant{{ID: 1}, {ID: 2}})
	must.NoError(t, err)
	_, _, err = s.Changes(t.Context(), nil, 1)
	expect.Error(t, "Changes", err, plant.ErrNoChanges)
	expect.NoError(t, errors.Join(s.BeginEpoch(t.Context()), s.ForgetChanges(t.Context(), time.Now())))
	if rows := value[int](t, s.pool, `SELECT count(*) FROM changes`); rows != 0 {
		t.Errorf("%d rows of changes are stored, want none", rows)
	}
}

// A store that is distributed keeps its plants and tokens. One that was opened before
// cannot write afterwards, and distributing it again does nothing.
func TestDistribute(t *testing.T) {
	dsn := pgtest.Citus(t)
	before := open(t, dsn)
	var plants []plant.Plant
	for id := range int64(1000) {
		plants = append(plants, plant.Plant{ID: id, Name: fmt.Sprint("plant ", id)})
	}
	_, err := before.CreateAll(t.Context(), plants)
	must.NoError(t, err)
	must.NoError(t, before.CreateToken(t.Context(), newToken))
	stored, _, err := before.List(t.Context(), plant.Page{Limit: 1000})
	must.NoError(t, err)
	_, position, err := before.Changes(t.Context(), nil, 1000)
	must.NoError(t, err)
	for range 2 {
		must.NoError(t, Distribute(t.Context(), dsn))
	}
	s := open(t, dsn)
	var local int
	if err := s.pool.QueryRow(t.Context(), `SELECT pg_relation_size('plants') + pg_relation_size('tokens')`).Scan(&local); err != nil || local > 0 {
		t.Errorf("the coordinator has %d bytes of plants and tokens, %v, want none", local, err)
	}
	_, _, err = before.Changes(t.Context(), &position, 1000)
	expect.Error(t, "the feed of a store that was opened before Distribute", err, plant.ErrNoChanges)
	after, _, err := s.List(t.Context(), plant.Page{Limit: 1000})
	if err != nil || !slices.EqualFunc(stored, after, func(p, q plant.Plant) bool { return p.Same(q) && p.ETag == q.ETag }) {
		t.Errorf("after Distribute the store has %d plants, %v, want the same as before", len(after), err)
	}
	if _, err := s.Token(t.Context(), newToken.ID); err != nil {
		t.Error(err)
	}
	expect.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1000}))
	for name, write := range map[string]func() error{
		"Create": func() error { return before.Create(t.Context(), plant.Plant{ID: 1001}) },
		"Delete": func() error { return before.Delete(t.Context(), 1, "", plant.Precondition{}) },
		"a batch": func() error {
			_, err := before.CreateAll(t.Context(), []plant.Plant{{ID: 1002}, {ID: 1003}})
			return err
		},
		"a token": func() error {
			other := newToken
			other.ID = "other"
			return before.CreateToken(t.Context(), other)
		},
	} {
		if err := write(); err == nil {
			t.Errorf("%s of a store that was opened before Distribute = nil, want an error", name)
		}
	}
	if after, _, err := s.List(t.Context(), plant.Page{Limit: 1000, After: new(int64(998))}); err != nil || len(after) != 2 {
		t.Errorf("the plants after 998 are %v, %v, want 999 and 1000", after, err)
	}
}

// Distribute needs the extension.
func TestDistributeWithoutCitus(t *testing.T) {
	expect.Error(t, "Distribute", Distribute(t.Context(), pgtest.DSN(t)), ErrNoCitus)
}

// Every statement about one plant or one mark uses one shard. A page uses all, and a
// statement with several IDs only theirs.
func TestShardsOfStatements(t *testing.T) {
	config, err := parse(shardedDSN(t))
	must.NoError(t, err)
	sent := &statements{args: map[string][]any{}, about: regexp.MustCompile(`(FROM|UPDATE|INTO) (plants|marks)\b`)}
	config.ConnConfig.Tracer = sent
	s, err := openConfig(t.Context(), config)
	must.NoError(t, err)
	defer s.Close()
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 0, Name: "n"}))
	_, err = s.CreateAll(t.Context(), []plant.Plant{{ID: 0, Name: "n"}, {ID: 1}, {ID: 2}})
	must.NoError(t, err)
	usePlants(t, s)
	_, err = s.settle(t.Context(), 1)
	must.NoError(t, err)
	s.deleteMarks([]int64{1, 2, 3})
	var all int
	const countShards = `SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'plants'::REGCLASS`
	if err := s.pool.QueryRow(t.Context(), countShards).Scan(&all); err != nil || all < 4 {
		t.Fatalf("there are %d shards, %v, want at least 4", all, err)
	}
	for _, query := range slices.Sorted(maps.Keys(sent.args)) {
		want := 1
		switch {
		case strings.Contains(query, "LIMIT"):
			want = all
		case strings.Contains(query, "ANY("), strings.Contains(query, "), ("):
			want = 3
		}
		plan := explainPlan(t, s, query, sent.args[query])
		got := 0
		for _, count := range regexp.MustCompile(`Task Count: (\d+)`).FindAllStringSubmatch(plan, -1) {
			n, _ := strconv.Atoi(count[1])
			got = max(got, n)
		}
		t.Logf("%d of %d shards: %s", got, all, strings.Join(strings.Fields(query), " "))
		if got < 1 || got > want || want == all && got != all {
			t.Errorf("%s\nuses %d of %d shards, want %d:\n%s", query, got, all, want, plan)
		}
	}
	if n := len(sent.args); n < 12 {
		t.Errorf("the store sent %d statements about plants and marks, want at least 12", n)
	}
}

// A create locks only plants that are stored, because each lock is a statement of its own.
func TestShardedCreatesLockWhatIsStored(t *testing.T) {
	config, err := parse(shardedDSN(t))
	must.NoError(t, err)
	sent := &statements{args: map[string][]any{}, about: regexp.MustCompile(`FOR UPDATE`)}
	config.ConnConfig.Tracer = sent
	s, err := openConfig(t.Context(), config)
	must.NoError(t, err)
	defer s.Close()
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1}))
	_, err = s.CreateAll(t.Context(), []plant.Plant{{ID: 2}, {ID: 3}})
	must.NoError(t, err)
	if len(sent.args) > 0 {
		t.Errorf("creates of new plants sent %v, want no lock", sent.args)
	}
	_, err = s.CreateAll(t.Context(), []plant.Plant{{ID: 2}, {ID: 4}})
	must.NoError(t, err)
	if got := fmt.Sprint(sent.args[lockOne+` SKIP LOCKED`]); got != "[2]" {
		t.Errorf("a batch with the stored plant 2 and a new one locks %s last, want [2]", got)
	}
}

// A copy fills a sharded store in one transaction.
func TestShardedTarget(t *testing.T) {
	dsn := shardedDSN(t)
	s := open(t, dsn)
	var plants []plant.Plant
	for id := range int64(5000) {
		row := store.PlantRow{Plant: plant.Plant{ID: id, Name: "copied", CreatedAt: time.UnixMicro(1), UpdatedAt: time.UnixMicro(2)}, Version: id}
		plants = append(plants, row.Stored())
	}
	for _, published := range []bool{false, true} {
		target, err := OpenTarget(t.Context(), dsn)
		must.NoError(t, err)
		tok, _ := token.New("copied", []token.Scope{token.Read}, time.Hour)
		must.NoError(t, target.AddPlants(t.Context(), plants[:1000]))
		must.NoError(t, target.AddPlants(t.Context(), plants[1000:]))
		must.NoError(t, target.AddTokens(t.Context(), []token.Token{tok}))
		_, err = s.Get(t.Context(), 1)
		expect.Error(t, "Get while a copy runs", err, plant.ErrNotFound)
		if published {
			must.NoError(t, target.Publish(t.Context()))
		}
		must.NoError(t, target.Close())
		n, _, err := s.Count(t.Context(), plant.Page{Limit: 10_000})
		if want := len(plants); err != nil || published && n != want || !published && n != 0 {
			t.Errorf("after a copy (published: %v) there are %d plants, %v", published, n, err)
		}
	}
}

// connectToWorker returns a connection to a worker.
func connectToWorker(t *testing.T, s *Store) *pgx.Conn {
	t.Helper()
	config := s.pool.Config().ConnConfig.Copy()
	err := s.pool.QueryRow(t.Context(), `SELECT nodename, nodeport FROM pg_dist_node WHERE groupid <> 0 ORDER BY groupid LIMIT 1`).Scan(&config.Host, &config.Port)
	must.NoError(t, err)
	config.Fallbacks = nil
	conn, err := pgx.ConnectConfig(t.Context(), config)
	must.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// A snapshot waits for a transaction that is prepared on a worker: the coordinator may
// have committed it.
func TestShardedSnapshotWaitsForPrepared(t *testing.T) {
	dsn := shardedDSN(t)
	worker := connectToWorker(t, open(t, dsn))
	execute(t, worker, `BEGIN; CREATE TABLE prepared_for_test (); PREPARE TRANSACTION 'test'`)
	end := sync.OnceValue(func() error {
		_, err := worker.Exec(context.WithoutCancel(t.Context()), `ROLLBACK PREPARED 'test'`)
		return err
	})
	defer end()
	source, err := OpenSource(t.Context(), dsn)
	must.NoError(t, err)
	defer source.Close()
	read := make(chan error, 1)
	go func() { read <- source.Snapshot(t.Context(), func(store.Snapshot) error { return nil }) }()
	select {
	case err := <-read:
		t.Fatalf("the snapshot did not wait: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	must.NoError(t, end())
	expect.NoError(t, wait.For(t, "the snapshot", read))
}

// A write is acknowledged after every worker has committed it, also if the coordinator
// loses its connection to a worker before the second phase of the commit.
func TestShardedWriteWaitsForBothPhases(t *testing.T) {
	s := open(t, shardedDSN(t))
	worker := connectToWorker(t, s).Config()
	p := newProxy(t, fmt.Sprintf("postgres://%s:%d/", worker.Host, worker.Port))
	_, port, err := net.SplitHostPort(p.address)
	must.NoError(t, err)
	do := func(statement string, args ...any) {
		t.Helper()
		_, err := s.pool.Exec(context.WithoutCancel(t.Context()), statement, args...)
		must.NoError(t, err)
	}
	const move = `SELECT citus_update_node(nodeid, nodename, $2::INT) FROM pg_dist_node WHERE nodeport = $1::INT`
	do(`ALTER SYSTEM SET citus.node_conninfo = 'sslmode=disable'`)
	do(`SELECT pg_reload_conf()`)
	do(move, worker.Port, port)
	defer func() {
		do(move, port, worker.Port)
		do(`ALTER SYSTEM RESET citus.node_conninfo`)
		do(`SELECT pg_reload_conf()`)
		do(`SELECT start_metadata_sync_to_all_nodes()`) // otherwise Citus does that a minute later
	}()
	s.pool.Reset() // the coordinator keeps connections to workers in each session
	var plants []plant.Plant
	for id := range int64(20) {
		plants = append(plants, plant.Plant{ID: id})
	}
	p.cutAt("COMMIT PREPARED")
	_, err = s.CreateAll(t.Context(), plants)
	must.NoError(t, err)
	if p.count() != 1 {
		t.Fatalf("%d commits were cut, want 1", p.count())
	}
	for _, plant := range plants {
		if _, err := s.Get(t.Context(), plant.ID); err != nil {
			t.Errorf("Get(%d) after an acknowledged batch = %v", plant.ID, err)
		}
	}
}

// A store is refused if a worker acknowledges commits that a crash can undo.
func TestShardedStoreWithoutDurability(t *testing.T) {
	dsn := shardedDSN(t)
	worker := connectToWorker(t, open(t, dsn))
	set := func(setting string) {
		t.Helper()
		for _, statement := range []string{`ALTER SYSTEM ` + setting, `SELECT pg_reload_conf()`} {
			_, err := worker.Exec(context.WithoutCancel(t.Context()), statement)
			must.NoError(t, err)
		}
	}
	set(`SET synchronous_commit = off`)
	defer set(`RESET synchronous_commit`)
	wait.Until(t, "the worker has read its configuration", func() (off bool) {
		err := worker.QueryRow(t.Context(), `SELECT current_setting('synchronous_commit') = 'off'`).Scan(&off)
		return err == nil && off
	})
	wantRefused(t, dsn, "synchronous_commit is off, so a crash of worker 127.0.0.1:")
}

// The coordinator of a sharded store reports an error although the transaction may have
// been committed, if it has lost a worker or was interrupted. Another server does not.
func TestFateOfShardedCommit(t *testing.T) {
	sharded, other := &Store{sharded: true}, &Store{}
	for code, want := range map[string]struct{ sharded, other fate }{
		"08006": {unknown, again},  // connection_failure
		"57014": {unknown, again},  // query_canceled
		"57P01": {unknown, again},  // admin_shutdown
		"58030": {unknown, failed}, // io_error
		"XX000": {unknown, failed}, // internal_error
		"23505": {failed, failed},  // unique_violation
		"40001": {again, again},    // serialization_failure
	} {
		err := fmt.Errorf("commit: %w", &pgconn.PgError{Code: code, Severity: "ERROR"})
		if got := sharded.fateOf(err); got != want.sharded {
			t.Errorf("the fate of a sharded store with %s is %v, want %v", code, got, want.sharded)
		}
		if got := other.fateOf(err); got != want.other {
			t.Errorf("the fate of another store with %s is %v, want %v", code, got, want.other)
		}
	}
}
