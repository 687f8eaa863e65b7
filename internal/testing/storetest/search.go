package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
)

func search(t *testing.T, open func(t *testing.T) plant.Store) {
	// The key of a name does not have what follows its first 150 characters.
	t.Run("a name has the parts of a search anywhere, in any order and any case", func(t *testing.T) {
		store := open(t)
		long := strings.Repeat("Ficus ", 40)
		for id, name := range []string{
			"Ficus lyrata ‘Wilson’", "FICUS LYRATA", "Épinette", "E\u0301PINETTE", "Epinette", "Straße", "Strasse",
			long + "Wilson", long + "WILSON lyrata", "a\x00b lyr%ta_", "", " ",
		} {
			mustCreate(t, store, plant.Plant{ID: int64(id), Name: name})
		}
		for text, want := range map[string][]int64{
			"wilson lyrata": {0, 8}, "LYR": {0, 1, 8, 9}, "lyrata  ficus\t": {0, 1, 8}, "wilson": {0, 7, 8},
			"é": {2, 3}, "e\u0301p": {2, 3}, "epi": {4}, "SSE": {6}, "ẞ": {5}, "yrat": {0, 1, 8}, "%": {9}, "_": {9}, "b lyr": {9},
			"\x00": {9}, "a\x00b": {9}, "ficus lyrata wilson fi lyr": {0, 8}, "ficus lyrata wilson fi none": {}, "  ": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
		} {
			sought := plant.Search{Parts: plant.PartsOf(text), Limit: 100, Examine: 1000}
			if got, _ := foundIDs(t, store, sought); !slices.Equal(got, want) {
				t.Errorf("%q finds %v, want %v", text, got, want)
			}
		}
	})

	// A page ends at its limit or after the plants that it may examine, and another one goes on there.
	t.Run("searches in each order are those of a model in memory, on pages of any size", func(t *testing.T) {
		store, random := open(t), rand.New(rand.NewPCG(7, 8))
		all := searchedPlants(t, store, random)
		tags := map[string]*plant.TagRange{
			"any": nil, "a": plant.OneTag("a"), "empty": plant.OneTag(""), "begins with a": plant.TagsBeginningWith("a"),
		}
		for _, text := range []string{" ", "a b", strings.Repeat("\U0010ffff", 100)} {
			for name, sought := range tags {
				for order := plant.OrderID; order <= plant.OrderUpdate; order++ {
					s := plant.Search{Order: order, Parts: plant.PartsOf(text), Tags: sought}
					wantFound(t, store, s, all, fmt.Sprintf("%q with the tag %s in order %d", text, name, order), random)
					s.Descending = true
					wantFound(t, store, s, all, fmt.Sprintf("%q with the tag %s in order %d, descending", text, name, order), random)
				}
			}
		}
	})

	t.Run("a page of a search can be empty although more follow, and a count says that there may be more", func(t *testing.T) {
		store := open(t)
		for id := range int64(20) {
			mustCreate(t, store, plant.Plant{ID: id, Name: fmt.Sprintf("name %02d", id), Tag: new("tag")})
		}
		for order := plant.OrderID; order <= plant.OrderUpdate; order++ {
			// Without the tags, the plants without a tag would be looked for, too.
			sought := plant.Search{Order: order, Parts: plant.PartsOf("19"), Tags: plant.TagsBeginningWith("t"), Limit: 5, Examine: 6}
			if ids, empty := foundIDs(t, store, sought); !slices.Equal(ids, []int64{19}) || empty != 3 {
				t.Errorf("in order %d pages of 6 plants find %v with %d empty ones, want plant 19 after 3", order, ids, empty)
			}
			for examine, want := range map[int]string{6: "0 true", 20: "1 true", 21: "1 false"} {
				sought.Examine = examine
				n, more, err := store.CountSearch(timeout(t), sought)
				if got := fmt.Sprint(n, more); err != nil || got != want {
					t.Errorf("in order %d a count of %d plants = %s, %v, want %s", order, examine, got, err, want)
				}
			}
		}
		n, more, err := store.CountSearch(timeout(t), plant.Search{Parts: plant.PartsOf("name"), Limit: 7, Examine: 100})
		if n != 7 || !more || err != nil {
			t.Errorf("a count up to 7 = %d, %v, %v", n, more, err)
		}
	})
}

// Searches returns a search in each order, from its beginning and from the middle, by its name.
func Searches() map[string]plant.Search {
	searches := map[string]plant.Search{}
	for order := plant.OrderID; order <= plant.OrderUpdate; order++ {
		for _, after := range []*plant.Place{nil, {Key: plant.NameKey("many"), UpdatedAt: 1, ID: 2000}, {Untagged: true, ID: 1}} {
			if after != nil && after.Untagged && order != plant.OrderTag {
				continue
			}
			s := plant.Search{Order: order, After: after, Parts: plant.PartsOf("a")}
			searches[fmt.Sprintf("in order %d after %+v", order, after)] = s
			s.Descending = true
			searches[fmt.Sprintf("in descending order %d after %+v", order, after)] = s
		}
	}
	return searches
}

// searchedPlants stores plants with equal and long names, with and without tags, and returns them.
func searchedPlants(t *testing.T, store plant.Store, random *rand.Rand) []plant.Plant {
	t.Helper()
	stored := map[int64]plant.Plant{}
	for range 120 {
		p := plant.Plant{ID: randomID(random), Name: randomName(random) + randomName(random)}
		if i := random.IntN(6); i < 4 {
			p.Tag = new([]string{"", "a", "ab", "b"}[i])
		}
		p, _, err := store.Put(timeout(t), p, plant.Precondition{})
		must.NoError(t, err)
		stored[p.ID] = p
	}
	return slices.Collect(maps.Values(stored))
}

// wantFound fails unless pages of several sizes have exactly the plants that a search selects, in its order.
func wantFound(t *testing.T, store plant.Store, s plant.Search, all []plant.Plant, what string, random *rand.Rand) {
	t.Helper()
	selected := slices.DeleteFunc(slices.Clone(all), func(p plant.Plant) bool {
		hasTag := s.Tags == nil || p.Tag != nil && *p.Tag >= s.Tags.From && *p.Tag < s.Tags.Until
		return !hasTag || !s.Parts.In(p.Name)
	})
	slices.SortFunc(selected, func(a, b plant.Plant) int { return compareIn(s, a, b) })
	want := []int64{}
	for _, p := range selected {
		want = append(want, p.ID)
	}
	for _, s.Examine = range []int{1 + random.IntN(8), 1000} {
		s.Limit = 1 + random.IntN(10)
		got, _ := foundIDs(t, store, s)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s, pages of %d, %d examined (-want +got):\n%s", what, s.Limit, s.Examine, diff)
		}
		s.Limit = 1000
		n, more, err := store.CountSearch(timeout(t), s)
		if isAll := s.Examine == 1000; err != nil || n > len(want) || isAll && (n != len(want) || more) {
			t.Errorf("%s, the count is %d, more %v, %v, want %d", what, n, more, err, len(want))
		}
	}
}

// compareIn compares plants in the order of a search.
func compareIn(s plant.Search, a, b plant.Plant) int {
	order := 0
	switch s.Order {
	case plant.OrderName:
		order = cmp.Compare(plant.NameKey(a.Name), plant.NameKey(b.Name))
	case plant.OrderTag:
		if a.Tag == nil && b.Tag != nil || a.Tag != nil && b.Tag == nil {
			return map[bool]int{true: 1, false: -1}[a.Tag == nil] // also in descending order
		}
		if a.Tag != nil {
			order = cmp.Compare(*a.Tag, *b.Tag)
		}
	case plant.OrderUpdate:
		order = a.UpdatedAt.Compare(b.UpdatedAt)
	}
	order = cmp.Or(order, cmp.Compare(a.ID, b.ID))
	if s.Descending {
		return -order
	}
	return order
}

// foundIDs returns the IDs on all pages of a search, and how many pages but the last one are empty.
func foundIDs(t *testing.T, store plant.Store, s plant.Search) (ids []int64, empty int) {
	t.Helper()
	ids = []int64{}
	for range 10_000 {
		plants, next, err := store.Search(timeout(t), s)
		if err != nil || len(plants) > s.Limit {
			t.Fatalf("Search(%+v) = %d plants, %v", s, len(plants), err)
		}
		for _, p := range plants {
			ids = append(ids, p.ID)
		}
		if next == nil {
			return ids, empty
		}
		if len(plants) == 0 {
			empty++
		}
		s.After = next
	}
	t.Fatalf("the pages of %+v do not end", s)
	return nil, 0
}
