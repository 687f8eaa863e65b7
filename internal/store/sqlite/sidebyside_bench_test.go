//go:build unix

package sqlite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/store/groupcommit"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/storebench"
)

// manyPlants is the number of plants in a large store.
const manyPlants = 5_000_000

// BenchmarkSideBySide compares the store with a store without group commit, and
// with SQLite alone. It takes some minutes; make bench-store runs it.
func BenchmarkSideBySide(b *testing.B) {
	var table storebench.Table
	withManyPlants(b, &table) // first: it looks at the memory of this process
	atStore(b, &table)
	for b.Loop() { // everything is measured above
	}
	table.Print()
}

// sides opens two empty stores. The second has no group commit.
func sides(b *testing.B) (grouped, single *Store) {
	b.Helper()
	grouped = openStore(b, filepath.Join(b.TempDir(), "grouped.db"))
	single = openStore(b, filepath.Join(b.TempDir(), "single.db"))
	single.writes.Close()
	single.writes = groupcommit.New(1, single.commit)
	return grouped, single
}

func atStore(b *testing.B, table *storebench.Table) {
	grouped, single := sides(b)
	bare := openStore(b, filepath.Join(b.TempDir(), "bare.db"))
	conn := <-bare.writer
	defer func() { bare.writer <- conn }()
	var last atomic.Int64
	next := func() int64 { return last.Add(1) }
	// insertBare inserts rows in transactions of the given size, with the same
	// statement and a connection with the same settings.
	insertBare := func(size int) storebench.Measure {
		return storebench.Clocked(func() (n int) {
			for began := time.Now(); time.Since(began) < storebench.Time; n += size {
				err := inTransaction(conn, "BEGIN IMMEDIATE", func() error {
					for range size {
						if err := insertPlant(conn, storebench.Plant(next())); err != nil {
							return err
						}
					}
					return nil
				})
				must.NoError(b, err)
				if n/size%100 == 0 {
					must.NoError(b, bare.files.check(conn)) // or it would not know that the log has begun anew
				}
				bare.checkpointIfDue(conn)
			}
			return n
		})
	}
	grouping := func(clients int) func() storebench.Measure {
		return func() storebench.Measure { return storebench.Creates(b, clients, grouped.Create, next) }
	}
	table.Line("store, 64 clients: creates/s over one transaction each",
		storebench.InTurn(grouping(64), func() storebench.Measure { return storebench.Creates(b, 64, single.Create, next) }).Rate(), "15x", "25x")
	table.Line("store, one client: creates/s over a bare transaction each",
		storebench.InTurn(grouping(1), func() storebench.Measure { return insertBare(1) }).Rate(), "0.95x", "1.0x")
	for _, c := range []struct {
		size       int
		bound, aim string
	}{{64, "0.5x", "0.6x"}, {256, "0.65x", "0.75x"}} {
		table.Line(fmt.Sprintf("store, %d clients: creates/s over bare transactions of %[1]d", c.size),
			storebench.InTurn(grouping(c.size), func() storebench.Measure { return insertBare(c.size) }).Rate(), c.bound, c.aim)
	}
}

func withManyPlants(b *testing.B, table *storebench.Table) {
	few := openStore(b, filepath.Join(b.TempDir(), "few.db"))
	many := openStore(b, filepath.Join(b.TempDir(), "many.db"))
	insertMany(b, few, 1000)
	insertMany(b, many, manyPlants)
	gets := func(s *Store, plants int64) storebench.Measure {
		return storebench.Clocked(func() (n int) {
			for began := time.Now(); time.Since(began) < storebench.Time; n++ {
				_, err := s.Get(b.Context(), rand.Int64N(plants))
				must.NoError(b, err)
			}
			return n
		})
	}
	for range 2 * readers { // so that each connection has mapped the file
		gets(many, manyPlants)
	}
	table.Line("get at 5,000,000 plants over 1,000, CPU", storebench.InTurn(
		func() storebench.Measure { return gets(many, manyPlants) },
		func() storebench.Measure { return gets(few, 1000) }).CPU(), "1.25x", "1.15x")
	for range 3 {
		storebench.Creates(b, 64, many.Create, func() int64 { return manyPlants + rand.Int64N(1<<40) })
	}
	table.Line("RssAnon of this process under load with 5,000,000 plants", anonymous(b), "150 MiB", "80 MiB")
}

// anonymous returns the memory of this process that is not mapped from files.
func anonymous(b *testing.B) string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Log(err)
		return "not measured"
	}
	kib, _ := strconv.Atoi(string(regexp.MustCompile(`RssAnon:\s+(\d+)`).FindSubmatch(status)[1]))
	return fmt.Sprintf("%d MiB", kib>>10)
}

func insertMany(b *testing.B, s *Store, n int64) {
	for first := int64(0); first < n; first += 1000 {
		err := s.runWrite(b.Context(), func(conn *sqlite.Conn) error {
			for id := first; id < min(first+1000, n); id++ {
				if err := insertPlant(conn, storebench.Plant(id)); err != nil {
					return err
				}
			}
			return nil
		})
		must.NoError(b, err)
	}
}
