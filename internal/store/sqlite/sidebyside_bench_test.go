package sqlite

import (
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/plantstore/plantstore/internal/store/groupcommit"
	"github.com/plantstore/plantstore/internal/testing/storebench"
)

// BenchmarkSideBySide compares the store with a store without group commit. make bench-store runs it.
func BenchmarkSideBySide(b *testing.B) {
	grouped := openStore(b, filepath.Join(b.TempDir(), "grouped.db"))
	single := openStore(b, filepath.Join(b.TempDir(), "single.db"))
	single.writes.Close()
	single.writes = groupcommit.New(1, single.commit)
	var last atomic.Int64
	creates := func(s *Store) func() storebench.Measure {
		return func() storebench.Measure {
			return storebench.Creates(b, 64, s.Create, func() int64 { return last.Add(1) })
		}
	}
	rounds := storebench.InTurn(creates(grouped), creates(single))
	for b.Loop() { // everything is measured above
	}
	var table storebench.Table
	table.Line("store, 64 clients: creates/s over one transaction each", rounds.Rate(), "15x", "25x")
	table.Print()
}
