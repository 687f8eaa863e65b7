package sqlite

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
)

// BenchmarkList reads pages of 100 that begin anywhere. The page must cost the
// same in a small store and in a large one, with a tag and without.
func BenchmarkList(b *testing.B) {
	const tags = 10
	for _, count := range []int{1_000, 1_000_000} {
		path := filepath.Join(b.TempDir(), fmt.Sprint(count, ".db"))
		store, err := Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		defer store.Close()
		batch := make([]plant.Plant, 1000)
		for from := 0; from < count; from += len(batch) {
			for i := range batch {
				batch[i] = plant.Plant{ID: int64(from + i), Name: "Ficus lyrata", Tag: new(fmt.Sprint("tag ", i%tags))}
			}
			if err := store.CreateAll(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
		}
		for name, tag := range map[string]*string{"any": nil, "tagged": new("tag 3")} {
			b.Run(fmt.Sprintf("plants=%s/%d", name, count), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					after := rand.Int64N(int64(count)) - 1
					if tag != nil || count == 1_000 {
						after = rand.Int64N(int64(count)/10) - 1 // leaves a whole page to read
					}
					page, _, err := store.List(b.Context(), plant.Page{After: &after, Tag: tag, Limit: 100})
					if err != nil || len(page) < 90 && count > 1_000 {
						b.Fatal(len(page), err)
					}
				}
			})
		}
	}
}
