package powercut

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/atomicfile"
	"github.com/plantstore/plantstore/internal/plant"
	sqlitestore "github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
	"github.com/plantstore/plantstore/internal/transfer"
)

const (
	clients = 3
	writes  = 300 // of each client, before and after the store is closed and opened again
)

// recordStore lets clients write to a store and follow its changes, copies it, and returns
// the record of it.
func recordStore(t *testing.T) record {
	folder := t.TempDir()
	path := filepath.Join(folder, storeName)
	recording.begin(folder)
	var position *plant.Position // of the client that follows the changes
	for part := range 2 {
		s, err := sqlitestore.Open(t.Context(), path)
		must.NoError(t, err)
		must.NoError(t, s.BeginEpoch(t.Context()))
		ctx, stop := context.WithCancel(t.Context())
		var reading, writing sync.WaitGroup
		reading.Go(func() { position = read(ctx, t, s, position) })
		for client := range clients {
			writing.Go(func() {
				for k := part * writes; k < (part+1)*writes; k++ {
					recording.mark("begun", func(known *known) { known.writers[client].begun = k + 1 })
					if err := do(t.Context(), s, client, k); err != nil {
						t.Errorf("write %d of client %d: %v", k, client, err)
						return
					}
					recording.mark("done", func(known *known) { known.writers[client].done = k + 1 })
				}
			})
		}
		writing.Wait()
		stop()
		reading.Wait()
		// The files that the commands write while the service runs.
		makes(t, recording.mark, folder, "backup.db", part > 0, func(path string) error {
			return sqlitestore.Backup(t.Context(), filepath.Join(folder, storeName), path, part > 0, func(_, _ int64) {})
		})
		makes(t, recording.mark, folder, fmt.Sprint("restored.", part, ".db"), false, func(path string) error {
			return sqlitestore.Copy(t.Context(), filepath.Join(folder, "backup.db"), path, func(_, _ int64) {})
		})
		makes(t, recording.mark, folder, "file", part > 0, func(path string) error {
			return atomicfile.Write(path, fmt.Appendf(nil, "%01000d", part), 0o600)
		})
		must.NoError(t, s.Close())
	}
	copies(t, folder)
	return recording.end()
}

// read follows the changes of a store until ctx ends.
func read(ctx context.Context, t *testing.T, s plant.Feed, position *plant.Position) *plant.Position {
	for ctx.Err() == nil {
		changes, next, err := s.Changes(t.Context(), position, 100)
		expect.NoError(t, err)
		position = &next
		recording.mark("read", func(known *known) {
			known.position = &next
			apply(changes, known.plants)
		})
		time.Sleep(time.Millisecond)
	}
	return position
}

// do does a write of a client.
func do(ctx context.Context, s *sqlitestore.Store, client, k int) (err error) {
	switch w, _ := writeOf(client, k); {
	case w.create != nil:
		_, err = s.CreateAll(ctx, w.create)
	case w.put != nil:
		_, _, err = s.Put(ctx, *w.put, plant.Precondition{})
	case w.remove != nil:
		err = s.Delete(ctx, *w.remove, "", plant.Precondition{})
	case w.token != "":
		one, _ := token.New(w.token, []token.Scope{token.Read}, time.Hour)
		one.ID = w.token
		err = s.CreateToken(ctx, one)
	case w.revoke != "":
		err = s.UpdateToken(ctx, w.revoke, func(t *token.Token) error { t.Revoke(time.Now()); return nil })
	}
	return err
}

// marker notes in a record what clients have learnt.
type marker func(what string, learn func(*known))

// makes calls a function that writes a file. Until it has returned, the file may be as it was.
func makes(t *testing.T, mark marker, folder, name string, exists bool, write func(path string) error) {
	t.Helper()
	path := filepath.Join(folder, name)
	var before, now *[]byte
	if exists {
		content, err := os.ReadFile(path)
		must.NoError(t, err)
		before = &content
	}
	now = new([]byte)
	mark("file", func(known *known) { known.files[name] = []*[]byte{before, now} })
	must.NoError(t, write(path))
	content, err := os.ReadFile(path)
	must.NoError(t, err)
	*now = content
	mark("file", func(known *known) { known.files[name] = []*[]byte{now} })
}

// copies copies the store as `plantstore copy` does.
func copies(t *testing.T, folder string) {
	source, err := sqlitestore.OpenSource(filepath.Join(folder, storeName))
	must.NoError(t, err)
	recording.mark("file", func(known *known) { known.copied = 0 })
	target, err := sqlitestore.OpenTarget(t.Context(), filepath.Join(folder, copyName))
	must.NoError(t, err)
	copied, err := transfer.Copy(t.Context(), source, target, func(string, int64, int64) {})
	must.NoError(t, err)
	must.NoError(t, target.Close())
	recording.mark("file", func(known *known) { known.copied = copied.Plants })
	must.NoError(t, source.Close())
}

// TestStore cuts the power at many moments, in several ways.
func TestStore(t *testing.T) {
	r := recordStore(t)
	n := must.Number(t, "PLANTSTORE_TEST_POWER_IMAGES", 40)
	const shards = 2
	for shard := range uint64(shards) {
		t.Run(fmt.Sprint("shard ", shard), func(t *testing.T) {
			t.Parallel()
			images, err := r.images(t, n/shards, shard, r.rare())
			expect.NoError(t, err)
			t.Logf("figures: %d images of %d events of the store and its copies", images, len(r))
		})
	}
}

// inMemory is where the images are, so that their checks do not wait for the disk. It is
// empty, for the default, if the system has no such folder.
var inMemory = func() string {
	if _, err := os.Stat("/dev/shm"); err != nil {
		return ""
	}
	return "/dev/shm"
}()

// images checks n images of moments that a function chooses, until one is wrong. It returns
// how many were checked.
func (r record) images(t *testing.T, n int, seed uint64, moment func(*rand.Rand) int) (checked int, err error) {
	random := rand.New(rand.NewPCG(seed, 0))
	moments := map[int]int{} // images of each
	for range n {
		moments[moment(random)]++
	}
	d, k := newDisk(), newKnown(clients)
	for i, e := range r {
		if e.mark != nil {
			e.mark(k)
		} else {
			d.do(e)
		}
		for range moments[i] {
			c := cuts[random.IntN(len(cuts))]
			folder, err := os.MkdirTemp(inMemory, "plantstore-power-")
			must.NoError(t, err)
			must.NoError(t, d.image(folder, c, random))
			err = k.check(t.Context(), folder)
			checked++
			must.NoError(t, os.RemoveAll(folder))
			if err != nil {
				return checked, fmt.Errorf("after event %d of %d, with %s: %w", i, len(r), c.name, err)
			}
		}
	}
	return checked, nil
}

// rare chooses moments. Every kind of event is as probable as the others, although a record
// has hundreds of writes for one change of the folder.
func (r record) rare() func(*rand.Rand) int {
	classes, groups := r.classes(), map[string][]int{}
	for i, e := range r {
		kind := e.Kind + classes[e.File]
		if e.mark != nil {
			kind += e.To
		}
		groups[kind] = append(groups[kind], i)
	}
	kinds := slices.Sorted(maps.Keys(groups))
	return func(random *rand.Rand) int {
		group := groups[kinds[random.IntN(len(kinds))]]
		return group[random.IntN(len(group))]
	}
}
