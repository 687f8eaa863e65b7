package storetest

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/must"
)

func names(t *testing.T, open func(t *testing.T) plant.Store) {
	// The keys of names, and the queries by them, are those of [plant.NameKey] on every engine.
	t.Run("the order of names, counts and tags are those of a model in memory", func(t *testing.T) {
		store, model, random := open(t), map[int64]plant.Plant{}, rand.New(rand.NewPCG(1, 2))
		for range 300 {
			p := plant.Plant{ID: randomID(random), Name: randomName(random)}
			if random.IntN(3) > 0 {
				p.Tag = new(randomName(random))
			}
			switch _, known := model[p.ID]; {
			case !known:
				mustCreate(t, store, p)
			case random.IntN(3) == 0:
				must.NoError(t, store.Delete(timeout(t), p.ID, "", plant.Precondition{}))
				delete(model, p.ID)
				continue
			default:
				must.NoError(t, third(store.Put(timeout(t), p, plant.Precondition{})))
			}
			model[p.ID] = p
		}
		wantNames(t, store, slices.Collect(maps.Values(model)), random)
	})

	// A place in the order of names is a name and an id, not a number of plants.
	t.Run("a plant that keeps its name is on exactly one page, while others are renamed", func(t *testing.T) {
		store, random := open(t), rand.New(rand.NewPCG(3, 4))
		var stay []int64
		for id := range int64(100) {
			mustCreate(t, store, plant.Plant{ID: id, Name: randomName(random)})
			if id%2 == 0 {
				stay = append(stay, id)
			}
		}
		for range 5 {
			var seen []int64
			plants := walk(t, store, plant.Page{ByName: &plant.ByName{}, Limit: 3}, func() {
				id := 2*random.Int64N(50) + 1
				must.NoError(t, second(store.Patch(timeout(t), id, plant.Patch{Name: new(randomName(random))}, plant.Precondition{})))
			})
			for _, p := range plants {
				if p.ID%2 == 0 {
					seen = append(seen, p.ID)
				}
			}
			slices.Sort(seen)
			if diff := gocmp.Diff(stay, seen); diff != "" {
				t.Errorf("the pages have (-want +got):\n%s", diff)
			}
		}
	})
}

// OtherUnicode tests that a store whose keys are of another version of Unicode refuses the
// order of names, and nothing else. The function makes a store one of such a version.
func OtherUnicode(t *testing.T, s store.Store, change func(t *testing.T)) {
	for _, p := range samplePlants() {
		mustCreate(t, s, p)
	}
	change(t)
	byName := plant.Page{ByName: &plant.ByName{}, Limit: 1}
	_, _, list := s.List(timeout(t), byName)
	_, _, count := s.Count(timeout(t), byName)
	_, _, search := s.Search(timeout(t), plant.Search{Order: plant.OrderName, Limit: 1, Examine: 1})
	_, _, countSearch := s.CountSearch(timeout(t), plant.Search{Parts: plant.PartsOf("a"), Limit: 1, Examine: 1})
	for _, err := range []error{list, count, search, countSearch} {
		if !errors.Is(err, plant.ErrUnavailable) || !errors.Is(err, plant.ErrOtherUnicode) {
			t.Errorf("by name List, Count, Search or CountSearch = %v, want %v and %v", err, plant.ErrUnavailable, plant.ErrOtherUnicode)
		}
	}
	mustCreate(t, s, plant.Plant{ID: 500_000, Name: "new"})
	all := walk(t, s, plant.Page{Limit: 1000}, nil)
	wantCount(t, s, plant.Page{Limit: 10_000}, len(samplePlants())+1)
	wantTags(t, s, "", all, 100)
}

// wantNames fails unless the order of names, the counts and the tags of a store are those of
// its plants.
func wantNames(t *testing.T, store plant.Store, all []plant.Plant, random *rand.Rand) {
	t.Helper()
	slices.SortFunc(all, func(a, b plant.Plant) int {
		return cmp.Or(cmp.Compare(plant.NameKey(a.Name), plant.NameKey(b.Name)), cmp.Compare(a.ID, b.ID))
	})
	for _, prefix := range prefixes(all) {
		key := plant.NameKey(prefix)
		var want []int64
		for _, p := range all {
			if strings.HasPrefix(plant.NameKey(p.Name), key) {
				want = append(want, p.ID)
			}
		}
		page := plant.Page{ByName: &plant.ByName{Prefix: key}, Limit: 1 + random.IntN(20)}
		if diff := gocmp.Diff(want, listIDs(t, store, page)); diff != "" {
			t.Errorf("plants with the prefix %q (-want +got):\n%s", prefix, diff)
		}
		wantCount(t, store, page, len(want))
		wantTags(t, store, prefix, all, page.Limit)
	}
	wantCount(t, store, plant.Page{Limit: len(all)}, len(all))
	wantCount(t, store, plant.Page{Limit: len(all) - 1}, len(all))
	tag := new("")
	wantCount(t, store, plant.Page{Tag: tag, Limit: 1000}, len(listIDs(t, store, plant.Page{Tag: tag, Limit: 1000})))
}

// randomID returns one of 200 IDs, among them the first and the last one.
func randomID(random *rand.Rand) int64 {
	ids := []int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64 - 1, math.MaxInt64}
	if i := random.IntN(50); i < len(ids) {
		return ids[i]
	}
	return random.Int64N(200) - 100
}

// randomName returns a short name of characters from several scripts. Many names are equal,
// equal but for case, or the beginning of others.
func randomName(random *rand.Rand) string {
	characters := []string{
		"a", "A", "b", "ß", "ẞ", "s", "ſ", "é", "e\u0301", "e", "K", "\u212a", "Ω", "ω", "Я", "я", "蘭", "🌵", "\x00", " ",
		"%", "_", "\uffff", "\U0010ffff",
	}
	var name strings.Builder
	for range random.IntN(4) {
		name.WriteString(characters[random.IntN(len(characters))])
	}
	if random.IntN(20) == 0 {
		name.WriteString(strings.Repeat("\U0010ffff", random.IntN(plant.MaxTag-20)))
	}
	return name.String()
}

// prefixes returns the first characters of the names of some plants, and others.
func prefixes(plants []plant.Plant) []string {
	all := []string{"", "\x00", "\U0010ffff", strings.Repeat("\U0010ffff", 50), "no such name"}
	for _, p := range plants[:min(len(plants), 60)] {
		characters := []rune(p.Name)
		all = append(all, string(characters[:min(len(characters), 2)]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// wantCount fails unless the store counts the plants of a page up to its limit.
func wantCount(t *testing.T, store plant.Store, page plant.Page, want int) {
	t.Helper()
	n, more, err := store.Count(timeout(t), page)
	if err != nil || n != min(want, page.Limit) || more != (want > page.Limit) {
		t.Errorf("Count up to %d = %d, more %v, %v, want %d", page.Limit, n, more, err, want)
	}
}

// wantTags fails unless the store lists the tags of plants that have a prefix.
func wantTags(t *testing.T, store plant.Store, prefix string, plants []plant.Plant, limit int) {
	t.Helper()
	tags := map[string]bool{}
	for _, p := range plants {
		if p.Tag != nil && strings.HasPrefix(*p.Tag, prefix) {
			tags[*p.Tag] = true
		}
	}
	var got []string
	for page := (plant.TagPage{Prefix: prefix, Limit: limit}); ; page.After = &got[len(got)-1] {
		some, more, err := store.Tags(timeout(t), page)
		if err != nil || len(some) > limit || more && len(some) == 0 {
			t.Fatalf("Tags(%+v) = %d tags, more %v, %v", page, len(some), more, err)
		}
		if got = append(got, some...); !more {
			break
		}
	}
	if diff := gocmp.Diff(slices.Sorted(maps.Keys(tags)), got); diff != "" {
		t.Errorf("tags with the prefix %q (-want +got):\n%s", prefix, diff)
	}
}
