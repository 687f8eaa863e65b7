package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
)

func list(t *testing.T, open func(t *testing.T) plant.Store) {
	t.Run("an empty store has no plants", func(t *testing.T) {
		plants, more, err := open(t).List(within(t), plant.Page{Limit: 1})
		if len(plants) != 0 || more || err != nil {
			t.Errorf("List = %v, %v, %v, want none", plants, more, err)
		}
	})

	t.Run("plants come by ascending id, with every id there is", func(t *testing.T) {
		store := open(t)
		ids := []int64{math.MinInt64, math.MinInt64 + 1, -10, -2, -1, 0, 1, 2, 9, 10, 11, 100, math.MaxInt64 - 1, math.MaxInt64}
		for i := range ids { // in an order of no help
			mustCreate(t, store, plant.Plant{ID: ids[i*5%len(ids)], Name: "n"})
		}
		for limit := 1; limit <= len(ids)+1; limit++ {
			if diff := cmp.Diff(ids, walk(t, store, plant.Page{Limit: limit})); diff != "" {
				t.Errorf("a walk with limit %d (-want +got):\n%s", limit, diff)
			}
		}
	})

	t.Run("a page begins after any id, stored or not", func(t *testing.T) {
		store := open(t)
		for _, id := range []int64{-5, 0, 5} {
			mustCreate(t, store, plant.Plant{ID: id, Name: "n"})
		}
		for after, want := range map[int64][]int64{
			math.MinInt64: {-5, 0, 5}, -6: {-5, 0, 5}, -5: {0, 5}, -1: {0, 5}, 4: {5}, 5: nil, math.MaxInt64: nil,
		} {
			if diff := cmp.Diff(want, walk(t, store, plant.Page{After: &after, Limit: 2})); diff != "" {
				t.Errorf("plants after %d (-want +got):\n%s", after, diff)
			}
		}
	})

	t.Run("more follow or not, exactly", func(t *testing.T) {
		store := open(t)
		for id := range int64(3) {
			mustCreate(t, store, plant.Plant{ID: id, Name: "n"})
		}
		for limit, want := range map[int]bool{1: true, 2: true, 3: false, 4: false} {
			if _, more, err := store.List(within(t), plant.Page{Limit: limit}); err != nil || more != want {
				t.Errorf("List with limit %d says more = %v, %v, want %v", limit, more, err, want)
			}
		}
	})

	t.Run("a tag is compared byte for byte", func(t *testing.T) {
		store := open(t)
		tags := []string{"", "a", "A", "a ", "a\x00", "a\x00b", "ä", "a\u0308", "%", "_", strings.Repeat("x", 10_000), strings.Repeat("x", 9_999) + "y"}
		tags = append(tags, incompressible(1<<20), incompressible(1 << 20)[1:])
		for i, tag := range tags {
			mustCreate(t, store, plant.Plant{ID: int64(i), Name: "first", Tag: &tag})
			mustCreate(t, store, plant.Plant{ID: int64(i + 100), Name: "second", Tag: &tag})
		}
		mustCreate(t, store, plant.Plant{ID: -1, Name: "without"})
		for i, tag := range tags {
			want := []int64{int64(i), int64(i + 100)}
			if diff := cmp.Diff(want, walk(t, store, plant.Page{Tag: &tag, Limit: 1})); diff != "" {
				t.Errorf("plants tagged %.20q (-want +got):\n%s", tag, diff)
			}
		}
		if got := walk(t, store, plant.Page{Tag: new("nobody's"), Limit: 1}); got != nil {
			t.Errorf("plants with a tag that none has: %v", got)
		}
	})

	t.Run("a listed plant is the plant that Get returns", func(t *testing.T) {
		store := open(t)
		for _, p := range odd() {
			mustCreate(t, store, p)
		}
		plants, _, err := store.List(within(t), plant.Page{Limit: 1000})
		if err != nil || len(plants) != len(odd()) {
			t.Fatalf("List = %d plants, %v, want %d", len(plants), err, len(odd()))
		}
		for _, p := range plants {
			got, err := store.Get(within(t), p.ID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, p); diff != "" {
				t.Errorf("plant %d as read and as listed (-read +listed):\n%s", p.ID, diff)
			}
		}
	})

	t.Run("a page ends once it holds enough bytes", func(t *testing.T) {
		store := open(t)
		big := strings.Repeat("x", plant.MaxPageBytes/4)
		for id := range int64(9) {
			mustCreate(t, store, plant.Plant{ID: id, Name: big[:len(big)/2], Tag: new(big[:len(big)/2])})
		}
		plants, more, err := store.List(within(t), plant.Page{Limit: 100})
		if err != nil || len(plants) != 4 || !more {
			t.Errorf("a page of plants of %d bytes has %d, more = %v, %v, want 4 and more", len(big), len(plants), more, err)
		}
		if got := walk(t, store, plant.Page{Limit: 100}); len(got) != 9 {
			t.Errorf("a walk found %d plants, want 9", len(got))
		}
	})

	t.Run("a plant larger than a page is a page", func(t *testing.T) {
		store := open(t)
		huge := strings.Repeat("x", plant.MaxPageBytes+1)
		mustCreate(t, store, plant.Plant{ID: 1, Name: huge})
		mustCreate(t, store, plant.Plant{ID: 2, Name: "n"})
		plants, more, err := store.List(within(t), plant.Page{Limit: 100})
		if err != nil || len(plants) != 1 || !more {
			t.Errorf("List = %d plants, more = %v, %v, want 1 and more", len(plants), more, err)
		}
	})

	t.Run("a walk meets every plant that stays exactly once", func(t *testing.T) {
		store := open(t)
		const count = 200
		var stay []int64
		for id := range int64(count) {
			mustCreate(t, store, plant.Plant{ID: id * 3, Name: "stays"})
			stay = append(stay, id*3)
		}
		stop := make(chan struct{})
		var writers sync.WaitGroup
		writers.Go(func() { // comes, changes and goes between those that stay
			for i := int64(0); ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				passing := plant.Plant{ID: i*7%count*3 + 1, Name: fmt.Sprint(i)}
				if _, _, err := store.Put(within(t), passing, plant.Precondition{}); err != nil {
					t.Errorf("Put(%s) = %v", show(passing), err)
					return
				}
				if i%2 == 0 {
					if err := store.Delete(within(t), passing.ID, plant.Precondition{}); err != nil {
						t.Errorf("Delete(%d) = %v", passing.ID, err)
						return
					}
				}
			}
		})
		for range 5 {
			var met []int64
			for _, id := range walk(t, store, plant.Page{Limit: 7}) {
				if id%3 == 0 {
					met = append(met, id)
				}
			}
			if diff := cmp.Diff(stay, met); diff != "" {
				t.Errorf("a walk met (-want +got):\n%s", diff)
			}
		}
		close(stop)
		writers.Wait()
	})
}

// incompressible returns a text that no engine can make small for an index.
func incompressible(n int) string {
	random := rand.NewChaCha8([32]byte{})
	b := make([]byte, n)
	_, _ = random.Read(b)
	for i := range b {
		b[i] = ' ' + b[i]%95
	}
	return string(b)
}

// walk lists the ids of all pages from the given one on.
func walk(t *testing.T, store plant.Store, page plant.Page) (ids []int64) {
	t.Helper()
	for {
		plants, more, err := store.List(within(t), page)
		if err != nil {
			t.Fatalf("List(%+v) = %v", page, err)
		}
		if len(plants) > page.Limit {
			t.Fatalf("a page has %d plants, limit %d", len(plants), page.Limit)
		}
		for _, p := range plants {
			ids = append(ids, p.ID)
		}
		if !more {
			return ids
		}
		if len(plants) == 0 {
			t.Fatal("an empty page says that more follow")
		}
		last := plants[len(plants)-1].ID
		if page.After != nil && last <= *page.After {
			t.Fatalf("a page after %d ends with %d", *page.After, last)
		}
		page.After = &last
	}
}
