package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
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
	atStore(b, &table)
	overHTTP(b, &table)
	withManyPlants(b, &table)
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

func overHTTP(b *testing.B, table *storebench.Table) {
	server := storebench.Start(b, filepath.Join(b.TempDir(), "grouped.db"), ungrouped+filepath.Join(b.TempDir(), "single.db"))
	var last atomic.Int64
	next := func() int64 { return last.Add(1) }
	for _, c := range []struct {
		clients    int
		bound, aim string
	}{{64, "5x", "7x"}, {256, "8x", "9x"}} {
		r := storebench.InTurn(
			func() storebench.Measure { return server.Creates(b, 0, c.clients, next) },
			func() storebench.Measure { return server.Creates(b, 1, c.clients, next) })
		what := fmt.Sprintf("HTTP, %d clients: ", c.clients)
		table.Line(what+"creates/s over one transaction each", r.Rate(), c.bound, c.aim)
		table.Line(what+"CPU of the server per create over the same", r.CPU(), "0.3x", "0.23x")
		table.Line(what+"p99 over the same", r.P99(), "", "20 ms")
	}
}

// ungrouped is the prefix of the name of a store without group commit.
const ungrouped = "ungrouped:"

// openSide opens a store for overHTTP in the process of the server.
func openSide(name string) (storebench.Opened, error) {
	path, single := strings.CutPrefix(name, ungrouped)
	s, err := Open(context.Background(), path)
	if err == nil && single {
		s.writes.Close()
		s.writes = groupcommit.New(1, s.commit)
	}
	return storebench.Opened{Plants: s, Tokens: s}, err
}

func withManyPlants(b *testing.B, table *storebench.Table) {
	few := openStore(b, filepath.Join(b.TempDir(), "few.db"))
	manyPath := filepath.Join(b.TempDir(), "many.db")
	many := openStore(b, manyPath)
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

	server := storebench.Start(b, manyPath)
	for range 3 {
		server.Creates(b, 0, 64, func() int64 { return manyPlants + rand.Int64N(1<<40) })
	}
	table.Line("RssAnon under load with 5,000,000 plants", server.Anonymous(b), "150 MiB", "80 MiB")
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
