package storetest

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
)

func orders(t *testing.T, open func(t *testing.T) plant.Store) {
	// Equal names and times are ordered by the id, or pages would repeat plants or leave them out.
	t.Run("descending orders and that of updates are those of a model in memory", func(t *testing.T) {
		store, random := open(t), rand.New(rand.NewPCG(5, 6))
		stored := map[int64]plant.Plant{}
		for range 100 {
			written := plant.Plant{ID: randomID(random), Name: randomName(random)}
			if random.IntN(3) > 0 {
				written.Tag = new([]string{"", "a", "b"}[random.IntN(3)])
			}
			written, _, err := store.Put(timeout(t), written, plant.Precondition{})
			must.NoError(t, err)
			stored[written.ID] = written
		}
		var batch []plant.Plant // of the same microsecond, some of them
		for id := range int64(100) {
			batch = append(batch, plant.Plant{ID: 1000 + id, Name: randomName(random)})
		}
		_, err := store.CreateAll(timeout(t), batch)
		must.NoError(t, err)
		for _, created := range batch {
			stored[created.ID], err = store.Get(timeout(t), created.ID)
			must.NoError(t, err)
		}
		all := slices.Collect(maps.Values(stored))

		byID := func(a, b plant.Plant) int { return cmp.Compare(b.ID, a.ID) }
		byName := func(a, b plant.Plant) int {
			return cmp.Or(cmp.Compare(plant.NameKey(b.Name), plant.NameKey(a.Name)), byID(a, b))
		}
		byUpdate := func(a, b plant.Plant) int { return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), byID(a, b)) }
		wantOrder(t, store, plant.Page{Descending: true}, all, byID)
		wantOrder(t, store, plant.Page{ByUpdate: &plant.ByUpdate{}}, all, byUpdate)
		for _, tag := range []string{"", "a", "none"} {
			tagged := slices.DeleteFunc(slices.Clone(all), func(p plant.Plant) bool { return p.Tag == nil || *p.Tag != tag })
			wantOrder(t, store, plant.Page{Descending: true, Tag: &tag}, tagged, byID)
		}
		for _, prefix := range prefixes(all) {
			key := plant.NameKey(prefix)
			named := slices.DeleteFunc(slices.Clone(all), func(p plant.Plant) bool {
				return !strings.HasPrefix(plant.NameKey(p.Name), key)
			})
			wantOrder(t, store, plant.Page{Descending: true, ByName: &plant.ByName{Prefix: key}}, named, byName)
		}
	})
}

// wantOrder fails unless walks with pages of several sizes meet exactly these plants, in the
// order that compare gives.
func wantOrder(
	t *testing.T, store plant.Store, page plant.Page, plants []plant.Plant, compare func(a, b plant.Plant) int,
) {
	t.Helper()
	var want []int64
	for _, p := range slices.SortedFunc(slices.Values(plants), compare) {
		want = append(want, p.ID)
	}
	for _, page.Limit = range []int{1, 7, max(len(want), 1), 1000} {
		if diff := gocmp.Diff(want, listIDs(t, store, page)); diff != "" {
			t.Errorf("the pages of %+v (-want +got):\n%s", page, diff)
		}
	}
}
