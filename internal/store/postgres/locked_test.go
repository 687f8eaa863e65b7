package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// insertPlant1 inserts the plant with the ID 1.
const insertPlant1 = `INSERT INTO plants (id, name, version, created_at, updated_at) VALUES (1, 'first', 1, 1, 1)`

// hold is a statement of another program that keeps the plant with the ID 1 from being written
// until its transaction ends.
type hold struct {
	statement string
	stored    bool // before the statement
}

var holds = map[string]hold{
	"update":     {`UPDATE plants SET version = version WHERE id = 1`, true},
	"delete":     {`DELETE FROM plants WHERE id = 1`, true},
	"for update": {`SELECT FROM plants WHERE id = 1 FOR UPDATE`, true},
	"for share":  {`SELECT FROM plants WHERE id = 1 FOR SHARE`, true},
	"insert":     {insertPlant1, false},
	"new id":     {`UPDATE plants SET id = 1 WHERE id = 100`, false},
}

// writesOfAPlant are the kinds of writes of a plant. The batch has a second plant, which no other
// write has.
var writesOfAPlant = map[string]func(ctx context.Context, s *Store, id int64, name string) error{
	"create": func(ctx context.Context, s *Store, id int64, name string) error {
		return s.Create(ctx, plant.Plant{ID: id, Name: name})
	},
	"batch": func(ctx context.Context, s *Store, id int64, name string) error {
		_, err := s.CreateAll(ctx, []plant.Plant{{ID: id, Name: name}, {ID: partnerOf(id), Name: name}})
		return err
	},
	"put": func(ctx context.Context, s *Store, id int64, name string) error {
		_, _, err := s.Put(ctx, plant.Plant{ID: id, Name: name}, plant.Precondition{})
		return err
	},
	"patch": func(ctx context.Context, s *Store, id int64, name string) error {
		_, err := s.Patch(ctx, id, plant.Patch{Name: &name}, plant.Precondition{})
		return err
	},
	"delete": func(ctx context.Context, s *Store, id int64, name string) error {
		return s.Delete(ctx, id, "", plant.Precondition{})
	},
}

// partnerOf returns the ID of the second plant of a batch.
func partnerOf(id int64) int64 { return -id }

// kindsOfWrites are the keys of writesOfAPlant.
var kindsOfWrites = []string{"put", "batch", "create", "patch", "delete"}

// undecided returns err unless it is an outcome of a write that depends on what is stored.
func undecided(err error) error {
	if errors.Is(err, plant.ErrNotFound) || errors.Is(err, plant.ErrExists) {
		return nil
	}
	return err
}

// While another program holds a plant, writes of it wait, and all others do not. Once it is free,
// each write of it has an outcome.
func TestLockedPlant(t *testing.T) {
	must.HaveTime(t)
	for name, hold := range holds {
		for _, clients := range []int{1, 4, 64} {
			t.Run(fmt.Sprint(name, ", ", clients, " clients"), func(t *testing.T) {
				dsn := pgtest.DSN(t)
				lockPlant(t, dsn, open(t, dsn), hold, clients)
			})
		}
		t.Run(name+", the statements of a sharded store", func(t *testing.T) {
			dsn := pgtest.DSN(t)
			s := open(t, dsn)
			s.sharded = true
			lockPlant(t, dsn, s, hold, 4)
		})
	}
}

// TestShardedLockedPlant is TestLockedPlant with Citus, where no statement changes an ID.
func TestShardedLockedPlant(t *testing.T) {
	for name, hold := range holds {
		if name == "new id" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dsn := shardedDSN(t)
			lockPlant(t, dsn, open(t, dsn), hold, 64)
		})
	}
}

// lockPlant holds the plant 1 while clients write it, and others write other plants.
func lockPlant(t *testing.T, dsn string, s *Store, hold hold, clients int) {
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 100, Name: "n"}))
	kinds := kindsOfWrites
	if hold.stored {
		must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1, Name: "n"}))
	} else {
		kinds = kinds[:3] // the others find no plant, and need not wait
	}
	tx, err := pgtest.Connect(t, dsn).Begin(t.Context())
	must.NoError(t, err)
	execute(t, tx, hold.statement)

	blocked := make(chan error, clients)
	for n := range clients {
		go func() {
			kind := kinds[n%len(kinds)]
			blocked <- undecided(writesOfAPlant[kind](t.Context(), s, 1, fmt.Sprint(kind, n)))
		}()
	}
	took := writeOthers(t, s, 8, time.Second)
	p99 := took[len(took)*99/100]
	t.Logf("figures: %d writes of other plants, p99 %v, max %v", len(took), p99, took[len(took)-1])
	if len(took) < 50 || p99 > 500*time.Millisecond {
		t.Errorf("of %d writes of other plants the 99th percentile is %v", len(took), p99)
	}
	if n := len(blocked); n > 0 {
		t.Errorf("%d of %d writes did not wait for the plant", n, clients)
	}
	if clients > 1 {
		_, err := s.Get(t.Context(), partnerOf(1))
		expect.Error(t, "Get of the second plant of a batch that waits", err, plant.ErrNotFound)
	}
	for range 3 {
		expect.Error(t, "Writable", s.Writable(t.Context()), nil)
	}
	must.NoError(t, tx.Rollback(t.Context()))
	free := time.Now()
	for range clients {
		expect.Error(t, "a write of the plant that was locked", wait.For(t, "a write", blocked), nil)
	}
	if took := time.Since(free); took > 2*time.Second {
		t.Errorf("the writes ended %v after the plant was free", took)
	}
}

// writeOthers writes other plants for a while, and returns how long the writes took, in order.
func writeOthers(t *testing.T, s *Store, clients int, while time.Duration) []time.Duration {
	var mutex sync.Mutex
	var all []time.Duration
	var written atomic.Int64
	stop := wait.Repeat(clients, func(int) bool {
		count := written.Add(1)
		kind := kindsOfWrites[count%int64(len(kindsOfWrites))]
		began := time.Now()
		err := writesOfAPlant[kind](t.Context(), s, 1000+count%200, fmt.Sprint("other ", count))
		took := time.Since(began)
		if err := undecided(err); err != nil {
			t.Errorf("%s of another plant: %v", kind, err)
		}
		mutex.Lock()
		defer mutex.Unlock()
		all = append(all, took)
		return true
	})
	time.Sleep(while)
	stop()
	slices.Sort(all)
	return all
}

// A write of a plant that stays locked fails at its deadline. Its error says why, and is not one
// of all writes.
func TestLockedPlantAtTheDeadline(t *testing.T) {
	dsn := pgtest.DSN(t)
	s := open(t, dsn)
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1, Name: "n"}))
	execute(t, pgtest.Connect(t, dsn), `BEGIN; UPDATE plants SET version = version`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, _, err := s.Put(ctx, plant.Plant{ID: 1, Name: "m"}, plant.Precondition{})
	if !errors.Is(err, plant.ErrUnavailable) || !errors.Is(err, plant.ErrLocked) {
		t.Errorf("Put = %v, want %v", err, plant.ErrLocked)
	}
	expect.Error(t, "Writable", s.Writable(t.Context()), nil)
}

// Each of several locked plants is waited for on its own.
func TestPlantsLockedByTwoPrograms(t *testing.T) {
	dsn := pgtest.DSN(t)
	s := open(t, dsn)
	for id := range int64(3) {
		must.NoError(t, s.Create(t.Context(), plant.Plant{ID: id, Name: "n"}))
	}
	first, second := pgtest.Connect(t, dsn), pgtest.Connect(t, dsn)
	execute(t, first, `BEGIN; UPDATE plants SET version = version WHERE id = 1`)
	execute(t, second, `BEGIN; UPDATE plants SET version = version WHERE id = 2`)
	ended := make(chan string, 2)
	for id, name := range map[int64]string{1: "first", 2: "second"} {
		go func() {
			_, _, err := s.Put(t.Context(), plant.Plant{ID: id, Name: name}, plant.Precondition{})
			ended <- strings.TrimSpace(fmt.Sprint(name, " ", err))
		}()
	}
	waitUntilBlocked(t, first)
	execute(t, second, `ROLLBACK`)
	free := time.Now()
	if got := wait.For(t, "the second write", ended); got != "second <nil>" || time.Since(free) > time.Second {
		t.Errorf("after %v the write %q has ended, want the second", time.Since(free), got)
	}
	execute(t, first, `ROLLBACK`)
	if got := wait.For(t, "the first write", ended); got != "first <nil>" {
		t.Errorf("the write %q has ended, want the first", got)
	}
}

// Two servers that write the same plants again and again each get their turn.
func TestTwoServersWriteOnePlant(t *testing.T) {
	must.HaveTime(t)
	dsn := pgtest.DSN(t)
	servers := []*Store{open(t, dsn), open(t, dsn)}
	must.NoError(t, servers[0].Create(t.Context(), plant.Plant{ID: 1, Name: "0"}))
	const clients = 16
	var mutex sync.Mutex
	var took []time.Duration
	var counts [2]int
	stop := wait.Repeat(2*clients, func(n int) bool {
		began := time.Now()
		_, _, err := servers[n%2].Put(t.Context(), plant.Plant{ID: 1, Name: fmt.Sprint(n, began)}, plant.Precondition{})
		expect.NoError(t, err)
		mutex.Lock()
		defer mutex.Unlock()
		took = append(took, time.Since(began))
		counts[n%2]++
		return true
	})
	time.Sleep(3 * time.Second)
	stop()
	slices.Sort(took)
	t.Logf("figures: %v writes, p50 %v, p99 %v", counts, took[len(took)/2], took[len(took)*99/100])
	if p99 := took[len(took)*99/100]; p99 > 500*time.Millisecond || min(counts[0], counts[1])*5 < max(counts[0], counts[1]) {
		t.Errorf("%v writes of the two servers, p99 %v", counts, p99)
	}
}
