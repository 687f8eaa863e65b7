package powercut

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	sqlitestore "github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// The first start of a new store, and that of a restored one, may be interrupted at any call, by a kill or
// a power cut. The next start succeeds, and has the plants.
func TestInterruptedFirstStart(t *testing.T) {
	for name, plants := range map[string]int64{"of a new store": 0, "of a restored store": 5} {
		t.Run(name, func(t *testing.T) {
			r := recordFirstStart(t, plants)
			random := rand.New(rand.NewPCG(0, 0))
			d := newDisk()
			for i, e := range r {
				d.do(e)
				if beforeStart := plants > 0 && i < 2; beforeStart { // the first events are what the file has already
					continue
				}
				for _, c := range cuts {
					folder, err := os.MkdirTemp(inMemory, "plantstore-power-")
					must.NoError(t, err)
					must.NoError(t, d.image(folder, c, random))
					_, missing := os.Stat(filepath.Join(folder, storeName))
					if missing == nil {
						expect.NoError(t, startAgain(t, filepath.Join(folder, storeName), plants))
					}
					must.NoError(t, os.RemoveAll(folder))
					if t.Failed() {
						t.Fatalf("after event %d of %d (%s), with %s", i, len(r), e.Kind, c.name)
					}
				}
			}
			t.Logf("figures: %d images of %d events", len(r)*len(cuts), len(r))
		})
	}
}

// recordFirstStart records the first start of a store in a file that a restore has made, or of a new one if it
// has no plants.
func recordFirstStart(t *testing.T, plants int64) record {
	folder := t.TempDir()
	path := filepath.Join(folder, storeName)
	if plants > 0 {
		source := filepath.Join(t.TempDir(), "source.db")
		s, err := sqlitestore.Open(t.Context(), source)
		must.NoError(t, err)
		for id := range plants {
			must.NoError(t, s.Create(t.Context(), plant.Plant{ID: id, Name: "n"}))
		}
		must.NoError(t, s.Close())
		must.NoError(t, sqlitestore.Copy(t.Context(), source, path, func(_, _ int64) {}))
	}
	recording.begin(folder)
	s, err := sqlitestore.Open(t.Context(), path)
	must.NoError(t, err)
	must.NoError(t, s.Close())
	return recording.end()
}

func startAgain(t *testing.T, path string, plants int64) error {
	s, err := sqlitestore.Open(t.Context(), path)
	if err != nil {
		return err
	}
	defer func() { must.NoError(t, s.Close()) }()
	found, _, err := s.List(t.Context(), plant.Page{Limit: 100})
	if err == nil && int64(len(found)) != plants {
		err = fmt.Errorf("the store has %d plants, want %d", len(found), plants)
	}
	return err
}
