package sqlite

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
)

// BenchmarkList reads pages of 100 plants at random positions, alternately from a
// small and a large store, with and without a tag. It reports the median times
// and their ratio, which should be near 1.
func BenchmarkList(b *testing.B) {
	const small, large, tags = 1_000, 1_000_000, 10
	stores := map[int]*Store{}
	for _, count := range []int{small, large} {
		store, err := Open(b.Context(), filepath.Join(b.TempDir(), fmt.Sprint(count, ".db")))
		if err != nil {
			b.Fatal(err)
		}
		defer store.Close()
		batch := make([]plant.Plant, 1000)
		for from := 0; from < count; from += len(batch) {
			for i := range batch {
				// Plants with the same tag are next to each other, so a page reads
				// the same number of leaves in both stores.
				tag := fmt.Sprint("tag ", (from+i)*tags/count)
				batch[i] = plant.Plant{ID: int64(from + i), Name: "Ficus lyrata", Tag: &tag}
			}
			if _, err := store.CreateAll(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
		}
		stores[count] = store
	}
	for name, tag := range map[string]*string{"any": nil, "tagged": new("tag 0")} {
		b.Run("plants="+name, func(b *testing.B) {
			b.ReportAllocs()
			times := map[int][]time.Duration{}
			for b.Loop() {
				for count, store := range stores {
					page := plant.Page{Tag: tag, Limit: 100}
					switch first := int64(count - 100); {
					case tag == nil:
						page.After = new(rand.Int64N(first) - 1)
					case count == large:
						page.After = new(rand.Int64N(int64(count/tags-100)) - 1)
					}
					began := time.Now()
					plants, _, err := store.List(b.Context(), page)
					times[count] = append(times[count], time.Since(began))
					if err != nil || len(plants) != 100 {
						b.Fatal(len(plants), err)
					}
				}
			}
			median := func(count int) float64 {
				slices.Sort(times[count])
				return float64(times[count][len(times[count])/2])
			}
			b.ReportMetric(median(small), "ns/small-page")
			b.ReportMetric(median(large), "ns/large-page")
			b.ReportMetric(median(large)/median(small), "large/small")
		})
	}
}
