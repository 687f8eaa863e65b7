package storetest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
)

func list(t *testing.T, open func(t *testing.T) plant.Store) {
	// Ids are signed, and no page may begin or end at the wrong one.
	t.Run("plants are listed by ascending id, over the whole range of ids", func(t *testing.T) {
		store := open(t)
		ids := []int64{math.MinInt64, math.MinInt64 + 1, -10, -2, -1, 0, 1, 2, 9, 10, 11, 100, math.MaxInt64 - 1, math.MaxInt64}
		for i := range ids { // not in ascending order
			mustCreate(t, store, plant.Plant{ID: ids[i*5%len(ids)], Name: "n"})
		}
		for limit := 1; limit <= len(ids)+1; limit++ {
			if diff := cmp.Diff(ids, listIDs(t, store, plant.Page{Limit: limit})); diff != "" {
				t.Errorf("all pages with limit %d (-want +got):\n%s", limit, diff)
			}
		}
	})

	// The plant at the end of a page may be deleted before the next page is read.
	t.Run("a page starts after any id, stored or not", func(t *testing.T) {
		store := open(t)
		for _, id := range []int64{-5, 0, 5} {
			mustCreate(t, store, plant.Plant{ID: id, Name: "n"})
		}
		for after, want := range map[int64][]int64{
			math.MinInt64: {-5, 0, 5}, -6: {-5, 0, 5}, -5: {0, 5}, -1: {0, 5}, 4: {5}, 5: nil, math.MaxInt64: nil,
		} {
			if diff := cmp.Diff(want, listIDs(t, store, plant.Page{After: &after, Limit: 2})); diff != "" {
				t.Errorf("plants after %d (-want +got):\n%s", after, diff)
			}
		}
	})

	// Otherwise a client reads an empty page, or misses the rest.
	t.Run("more is true exactly if plants follow", func(t *testing.T) {
		store := open(t)
		for id := range int64(3) {
			mustCreate(t, store, plant.Plant{ID: id, Name: "n"})
		}
		for limit, want := range map[int]bool{1: true, 2: true, 3: false, 4: false} {
			if _, more, err := store.List(timeout(t), plant.Page{Limit: limit}); err != nil || more != want {
				t.Errorf("List with limit %d = more %v, %v, want %v", limit, more, err, want)
			}
		}
	})

	// No collation, pattern or limit of an index may match another tag.
	t.Run("a tag is compared byte for byte", func(t *testing.T) {
		store := open(t)
		tags := []string{"", "a", "A", "a ", "a\x00", "a\x00b", "ä", "a\u0308", "%", "_", strings.Repeat("x", 256), strings.Repeat("x", 255) + "y"}
		tags = append(tags, strings.Repeat("🌵", plant.MaxTag), incompressible(plant.MaxTag))
		for i, tag := range tags {
			mustCreate(t, store, plant.Plant{ID: int64(i), Name: "first", Tag: &tag})
			mustCreate(t, store, plant.Plant{ID: int64(i + 100), Name: "second", Tag: &tag})
		}
		mustCreate(t, store, plant.Plant{ID: -1, Name: "without"})
		for i, tag := range tags {
			want := []int64{int64(i), int64(i + 100)}
			if diff := cmp.Diff(want, listIDs(t, store, plant.Page{Tag: &tag, Limit: 1})); diff != "" {
				t.Errorf("plants tagged %.20q (-want +got):\n%s", tag, diff)
			}
		}
		if got := listIDs(t, store, plant.Page{Tag: new("unused"), Limit: 1}); got != nil {
			t.Errorf("List with an unused tag = plants %v, want none", got)
		}
	})

	// The memory of a response is bounded, whatever its texts are.
	t.Run("a page ends at its limit or at 256 KiB of JSON", func(t *testing.T) {
		for name, character := range map[string]string{"short": "", "letters": "x", "quotes": `"`, "control characters": "\x01", "emoji": "🌵"} {
			t.Run(name, func(t *testing.T) { pagesOfBytes(t, open(t), character) })
		}
	})

	// Pages are read one after another, not in one snapshot.
	t.Run("paging returns every plant exactly once during other writes", func(t *testing.T) {
		store := open(t)
		const count = 200
		var stay []int64
		for id := range int64(count) {
			mustCreate(t, store, plant.Plant{ID: id * 3, Name: "stays"})
			stay = append(stay, id*3)
		}
		stop := make(chan struct{})
		var writers sync.WaitGroup
		writers.Go(func() { // creates, changes and deletes plants between those that stay
			for i := int64(0); ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				temporary := plant.Plant{ID: i*7%count*3 + 1, Name: fmt.Sprint(i)}
				if _, _, err := store.Put(timeout(t), temporary, plant.Precondition{}); err != nil {
					t.Errorf("Put(%s) = %v", show(temporary), err)
					return
				}
				if i%2 == 0 {
					if err := store.Delete(timeout(t), temporary.ID, "", plant.Precondition{}); err != nil {
						t.Errorf("Delete(%d) = %v", temporary.ID, err)
						return
					}
				}
			}
		})
		for range 5 {
			var got []int64
			for _, id := range listIDs(t, store, plant.Page{Limit: 7}) {
				if id%3 == 0 {
					got = append(got, id)
				}
			}
			if diff := cmp.Diff(stay, got); diff != "" {
				t.Errorf("the pages have (-want +got):\n%s", diff)
			}
		}
		close(stop)
		writers.Wait()
	})
}

// pagesOfBytes stores 400 plants with the largest texts of a character, and walks all
// of the pages that a store has: by ID, by name, tags, changes from the start and since then.
func pagesOfBytes(t *testing.T, store plant.Store, character string) {
	t.Helper()
	const count = 400
	_, start, err := store.Changes(timeout(t), nil, 1) // an empty store: the walk has ended
	noFeed := errors.Is(err, plant.ErrNoChanges)
	if err != nil && !noFeed {
		t.Fatal(err)
	}
	plants := make([]plant.Plant, count)
	for i := range plants {
		text := strings.Repeat(character, plant.MaxName)
		plants[i] = plant.Plant{ID: int64(i), Name: text, Tag: new(fmt.Sprintf("%03d", i) + strings.Repeat(character, plant.MaxTag-3))}
	}
	must.NoError(t, second(store.CreateAll(timeout(t), plants)))
	seen := 0
	// page checks a page of items with these sizes: it fits, and the next item would not.
	last, full := 0, false
	page := func(what string, sizes []int, more bool) {
		t.Helper()
		bytes := plant.PageFrame
		for _, size := range sizes {
			bytes += size
		}
		if bytes > plant.MaxPage || len(sizes) == 0 {
			t.Errorf("%s: a page has %d items of %d bytes, want at most %d bytes", what, len(sizes), bytes, plant.MaxPage)
		}
		if full && last+sizes[0] <= plant.MaxPage {
			t.Errorf("%s: a page ended at %d bytes, and the next item had %d", what, last, sizes[0])
		}
		seen, last, full = seen+len(sizes), bytes, more
		if !more && seen != count {
			t.Errorf("%s: the pages have %d items, want %d", what, seen, count)
		}
		if !more {
			seen = 0
		}
	}
	for _, list := range []plant.Page{{Limit: count}, {Limit: count, ByName: &plant.ByName{}}} {
		for more := true; more; {
			var found []plant.Plant
			if found, more, err = store.List(timeout(t), list); err != nil {
				t.Fatal(err)
			}
			var sizes []int
			for _, p := range found {
				sizes = append(sizes, p.JSONSize())
				if list.After = &p.ID; list.ByName != nil {
					list.After, list.ByName.After = nil, &plant.NamePlace{ID: p.ID, Key: plant.NameKey(p.Name)}
				}
			}
			page(fmt.Sprintf("list by name %v", list.ByName != nil), sizes, more)
		}
	}
	tags := plant.TagPage{Limit: count}
	for more := true; more; {
		var found []string
		if found, more, err = store.Tags(timeout(t), tags); err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for i, tag := range found {
			sizes, tags.After = append(sizes, plant.TagSize(tag)), &found[i]
		}
		page("tags", sizes, more)
		full = full && len(found) != 100 // a sharded store has no larger pages of tags
	}
	if noFeed {
		return
	}
	for what, after := range map[string]*plant.Position{"changes from the start": nil, "changes since then": &start} {
		for more := true; more; {
			changes, next, err := store.Changes(timeout(t), after, count)
			must.NoError(t, err)
			var sizes []int
			for _, c := range changes {
				sizes = append(sizes, c.JSONSize())
			}
			after, more = &next, !next.IsLast()
			page(what, sizes, more)
		}
	}
}

// Filters returns a page for each field of [plant.Page] that selects or orders plants, by its
// name, and pages with two of them.
func Filters() map[string]plant.Page {
	pages := map[string]plant.Page{
		"Descending":         {Limit: 100, Descending: true},
		"Tag, Descending":    {Limit: 100, Descending: true, Tag: new("tag 1")},
		"ByName, Descending": {Limit: 100, Descending: true, ByName: &plant.ByName{}},
	}
	for f := range reflect.TypeFor[plant.Page]().Fields() {
		if f.Type.Kind() == reflect.Pointer {
			page := plant.Page{Limit: 100}
			reflect.ValueOf(&page).Elem().FieldByIndex(f.Index).Set(reflect.New(f.Type.Elem()))
			pages[f.Name] = page
		}
	}
	return pages
}

// incompressible returns a text that compression does not make shorter.
func incompressible(n int) string {
	random := rand.NewChaCha8([32]byte{})
	b := make([]byte, n)
	_, _ = random.Read(b)
	for i := range b {
		b[i] = ' ' + b[i]%95
	}
	return string(b)
}

// listIDs returns the IDs on all pages from the given one on.
func listIDs(t *testing.T, store plant.Store, page plant.Page) (ids []int64) {
	t.Helper()
	for _, p := range walk(t, store, page, nil) {
		ids = append(ids, p.ID)
	}
	return ids
}

// walk returns the plants on all pages from the given one on. It calls between, if there is one, after each page.
func walk(t testing.TB, store plant.Store, page plant.Page, between func()) (all []plant.Plant) {
	t.Helper()
	for {
		plants, more, err := store.List(timeout(t), page)
		isShort := len(plants) < page.Limit && page.Limit < 1000 // a long one may end at 256 KiB
		if err != nil || len(plants) > page.Limit || more && isShort {
			t.Fatalf("List(%+v) = %d plants, more %v, %v", page, len(plants), more, err)
		}
		if all = append(all, plants...); !more {
			return all
		}
		if len(all) > 100_000 {
			t.Fatalf("the pages of %+v do not end", page)
		}
		if between != nil {
			between()
		}
		last := plants[len(plants)-1]
		switch {
		case page.ByUpdate != nil:
			page.ByUpdate = &plant.ByUpdate{After: &plant.UpdatePlace{UpdatedAt: last.UpdatedAt.UnixMicro(), ID: last.ID}}
		case page.ByName != nil:
			place := &plant.NamePlace{Key: plant.NameKey(last.Name), ID: last.ID}
			page.ByName = &plant.ByName{Prefix: page.ByName.Prefix, After: place}
		default:
			page.After = &last.ID
		}
	}
}
