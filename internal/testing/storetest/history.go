package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// History tests the promises about the history of plants. Each call of open returns two stores of
// the same empty data, or one store twice.
func History(t *testing.T, open func(t *testing.T) (one, two store.Store)) {
	for name, promise := range map[string]func(t *testing.T, one, two store.Store){
		"each change has an entry with the state before":     entriesOfChanges,
		"what changes nothing has no entry":                  noEntries,
		"a history has pages":                                historyPages,
		"a history goes on after a delete":                   deletedHistory,
		"a change in the feed has the name of who made it":   namesInFeed,
		"changes at the same time have one entry each":       entriesTogether,
		"old entries are removed":                            forgetHistory,
		"a plant has no entry of another one":                forgetAll,
		"a plant is forgotten, and the feed tells it":        forgetPlant,
		"a store without history has none":                   stopHistory,
		"the history of a large store is forgotten in parts": forgetMuch,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := open(t)
			promise(t, one, two)
		})
	}
}

// historyOf returns the whole history of a plant, newest first.
func historyOf(t *testing.T, s store.Store, id int64) []plant.HistoryEntry {
	t.Helper()
	entries, more, err := s.History(timeout(t), id, plant.HistoryPage{Limit: 1000})
	if err != nil || more {
		t.Fatalf("History(%d) = %d entries, more = %t, %v", id, len(entries), more, err)
	}
	return entries
}

// wantEntries fails unless a history has these entries, beside their numbers, which must descend.
func wantEntries(t *testing.T, got []plant.HistoryEntry, want ...plant.HistoryEntry) {
	t.Helper()
	for i := range got {
		if i > 0 && got[i].Number >= got[i-1].Number {
			t.Errorf("entry %d has the number %d, and the newer one %d", i, got[i].Number, got[i-1].Number)
		}
	}
	got = slices.Clone(got)
	for i := range got {
		got[i].Number = 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
}

func put(t *testing.T, s store.Store, p plant.Plant) plant.Plant {
	t.Helper()
	stored, _, err := s.Put(timeout(t), p, plant.Precondition{})
	must.NoError(t, err)
	return stored
}

func entriesOfChanges(t *testing.T, one, two store.Store) {
	mustCreate(t, one, plant.Plant{ID: 1, Name: "first\x00", Tag: new(""), ChangedBy: "Ann"})
	first := mustGet(t, two, 1)
	if first.ChangedBy != "Ann" {
		t.Errorf("a plant that Ann created is by %q", first.ChangedBy)
	}
	wantEntries(t, historyOf(t, two, 1))
	second := put(t, one, plant.Plant{ID: 1, Name: "second", ChangedBy: "Bob"})
	third, err := two.Patch(timeout(t), 1, plant.Patch{SetTag: true, Tag: new("t"), ChangedBy: "蘭"}, plant.Precondition{})
	must.NoError(t, err)
	fourth := put(t, two, plant.Plant{ID: 1, Name: "fourth"})
	want := []plant.HistoryEntry{
		{Plant: third, Change: plant.Replaced, At: fourth.UpdatedAt},
		{Plant: second, Change: plant.Patched, At: third.UpdatedAt, By: "蘭"},
		{Plant: first, Change: plant.Replaced, At: second.UpdatedAt, By: "Bob"},
	}
	wantEntries(t, historyOf(t, one, 1), want...)
	must.NoError(t, one.Delete(timeout(t), 1, "Dan", plant.Precondition{}))
	got := historyOf(t, two, 1)
	if got[0].At.Before(fourth.UpdatedAt) || time.Since(got[0].At) > time.Hour {
		t.Errorf("a plant that was changed at %v is deleted at %v", fourth.UpdatedAt, got[0].At)
	}
	got[0].At = time.Time{}
	wantEntries(t, got, append([]plant.HistoryEntry{{Plant: fourth, Change: plant.Deleted, By: "Dan"}}, want...)...)
}

func noEntries(t *testing.T, s, _ store.Store) {
	p := plant.Plant{ID: 1, Name: "n", ChangedBy: "Ann"}
	mustCreate(t, s, p)
	before := mustGet(t, s, 1)
	p.ChangedBy = "Bob"
	stale := plant.Precondition{IfMatch: etags("stale")}
	must.NoError(t, s.Create(timeout(t), p))
	must.NoError(t, second(s.CreateAll(timeout(t), []plant.Plant{p, {ID: 2, ChangedBy: "Bob"}})))
	must.NoError(t, third(s.Put(timeout(t), p, plant.Precondition{})))
	must.NoError(t, second(s.Patch(timeout(t), 1, plant.Patch{Name: &p.Name, ChangedBy: "Bob"}, plant.Precondition{})))
	other := plant.Plant{ID: 1, Name: "other"}
	expect.Error(t, "Create", s.Create(timeout(t), other), plant.ErrExists)
	expect.Error(t, "Put", third(s.Put(timeout(t), other, stale)), plant.ErrPrecondition)
	expect.Error(t, "Patch", second(s.Patch(timeout(t), 1, plant.Patch{Name: new("x")}, stale)), plant.ErrPrecondition)
	expect.Error(t, "Delete", s.Delete(timeout(t), 1, "Bob", stale), plant.ErrPrecondition)
	wantEntries(t, historyOf(t, s, 1))
	wantEntries(t, historyOf(t, s, 2))
	wantStored(t, s, before) // by Ann
	expect.Error(t, "Delete of none", s.Delete(timeout(t), 3, "Bob", plant.Precondition{}), plant.ErrNotFound)
	_, _, err := s.History(timeout(t), 3, plant.HistoryPage{Limit: 1})
	expect.Error(t, "History of no plant", err, plant.ErrNotFound)
}

func historyPages(t *testing.T, s, _ store.Store) {
	for i := range 8 {
		put(t, s, plant.Plant{ID: 1, Name: fmt.Sprint(i)})
		put(t, s, plant.Plant{ID: int64(2 + i%2), Name: fmt.Sprint("another ", i)})
	}
	all := historyOf(t, s, 1)
	if len(all) != 7 || all[0].Plant.Name != "6" || all[6].Plant.Name != "0" {
		t.Fatalf("the history is %v, want those before 7 changes", all)
	}
	for limit := 1; limit <= 8; limit++ {
		var met []plant.HistoryEntry
		for page := (plant.HistoryPage{Limit: limit}); ; page.Before = &met[len(met)-1].Number {
			entries, more, err := s.History(timeout(t), 1, page)
			if err != nil || len(entries) != min(limit, 7-len(met)) {
				t.Fatalf("a page of %d after %d has %d entries, %v", limit, len(met), len(entries), err)
			}
			met = append(met, entries...)
			if more != (len(met) < 7) {
				t.Errorf("after %d of 7 entries more is %t", len(met), more)
			}
			if !more {
				break
			}
		}
		if diff := cmp.Diff(all, met); diff != "" {
			t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
		}
	}
	after, _, err := s.History(timeout(t), 1, plant.HistoryPage{Limit: 1, Before: &all[6].Number})
	if err != nil || len(after) > 0 {
		t.Errorf("before the oldest entry there are %v, %v", after, err)
	}
}

func deletedHistory(t *testing.T, one, two store.Store) {
	first := put(t, one, plant.Plant{ID: 1, Name: "first", ChangedBy: "Ann"})
	must.NoError(t, two.Delete(timeout(t), 1, "Bob", plant.Precondition{}))
	if entries := historyOf(t, one, 1); len(entries) != 1 || entries[0].Plant.ETag != first.ETag || entries[0].By != "Bob" {
		t.Errorf("the history of a deleted plant is %v", entries)
	}
	again := put(t, one, plant.Plant{ID: 1, Name: "first", ChangedBy: "Eve"})
	put(t, two, plant.Plant{ID: 1, Name: "last"})
	entries := historyOf(t, one, 1)
	if len(entries) != 2 || entries[0].Plant.ETag != again.ETag || entries[0].Plant.ChangedBy != "Eve" {
		t.Errorf("the history of a plant that was created again is %v", entries)
	}
}

func namesInFeed(t *testing.T, one, two store.Store) {
	f := &Follower{Store: two, Limit: 100}
	f.Drain(t)
	wantName := func(what, want string) {
		t.Helper()
		for _, change := range f.Drain(t) {
			if change.ChangedBy != want || change.Plant != nil && change.Plant.ChangedBy != want {
				t.Errorf("%s by %s is the change %+v", what, want, change)
			}
		}
	}
	mustCreate(t, one, plant.Plant{ID: 1, ChangedBy: "Ann"})
	wantName("a create", "Ann")
	put(t, one, plant.Plant{ID: 1, Name: "n", ChangedBy: "Bob"})
	wantName("a change", "Bob")
	must.NoError(t, one.Delete(timeout(t), 1, "Dan", plant.Precondition{}))
	wantName("a delete", "Dan")
	walk := &Follower{Store: one, Limit: 100}
	mustCreate(t, one, plant.Plant{ID: 2, ChangedBy: "Eve"})
	if changes := walk.Drain(t); len(changes) != 1 || changes[0].ChangedBy != "Eve" {
		t.Errorf("the walk has %+v, want a plant by Eve", changes)
	}
}

// entriesTogether lets clients change two plants at the same time, so that they share transactions.
func entriesTogether(t *testing.T, one, two store.Store) {
	const clients, writes = 16, 12
	var mu sync.Mutex
	made := map[string]plant.ChangeKind{}
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			s := []store.Store{one, two}[client%2]
			for i := range writes {
				by, id := fmt.Sprint(client, "-", i), int64(i%2)
				created, kind, err := false, plant.Replaced, error(nil)
				switch i % 3 {
				case 0:
					_, created, err = s.Put(timeout(t), plant.Plant{ID: id, Name: by, ChangedBy: by}, plant.Precondition{})
				case 1:
					kind = plant.Patched
					_, err = s.Patch(timeout(t), id, plant.Patch{Name: &by, ChangedBy: by}, plant.Precondition{})
				case 2:
					kind = plant.Deleted
					err = s.Delete(timeout(t), id, by, plant.Precondition{})
				}
				if err != nil && !errors.Is(err, plant.ErrNotFound) {
					t.Error(err)
				}
				if err == nil && !created {
					mu.Lock()
					made[by] = kind
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	for id := range int64(2) {
		for i, entries := 0, historyOf(t, one, id); i < len(entries); i++ {
			entry := entries[i]
			if made[entry.By] != entry.Change {
				t.Errorf("%s by %q has an entry, and was %q", entry.Change, entry.By, made[entry.By])
			}
			delete(made, entry.By)
			if i > 0 && entry.Change != plant.Deleted && entries[i-1].Plant.ChangedBy != entry.By {
				t.Errorf("after the change by %q the plant is %v", entry.By, entries[i-1].Plant)
			}
		}
	}
	if len(made) > 0 {
		t.Errorf("%v have no entry", made)
	}
}

func forgetHistory(t *testing.T, one, two store.Store) {
	for i := range 3 {
		put(t, one, plant.Plant{ID: 1, Name: fmt.Sprint(i)})
	}
	entries := historyOf(t, one, 1)
	must.NoError(t, two.ForgetHistory(timeout(t), entries[1].At))
	wantEntries(t, historyOf(t, one, 1), withoutNumbers(entries)...)
	must.NoError(t, two.ForgetHistory(timeout(t), entries[1].At.Add(time.Microsecond)))
	if entries[0].At.Equal(entries[1].At) {
		t.Skip("two changes have the same time")
	}
	wantEntries(t, historyOf(t, one, 1), withoutNumbers(entries[:1])...)
	put(t, one, plant.Plant{ID: 1, Name: "last"})
	if again := historyOf(t, two, 1); len(again) != 2 || again[1].Number != entries[0].Number {
		t.Errorf("after another change the history is %v", again)
	}
}

func withoutNumbers(entries []plant.HistoryEntry) (same []plant.HistoryEntry) {
	for _, entry := range entries {
		entry.Number = 0
		same = append(same, entry)
	}
	return same
}

func forgetMuch(t *testing.T, one, two store.Store) {
	const plants = 1200 // more than are removed at once
	for id := range int64(2) {
		put(t, one, plant.Plant{ID: id})
	}
	for i := range plants / 2 {
		put(t, one, plant.Plant{ID: int64(i % 2), Name: fmt.Sprint(i)})
	}
	must.NoError(t, two.ForgetHistory(timeout(t), time.Now().Add(time.Hour)))
	wantEntries(t, historyOf(t, one, 0))
	wantEntries(t, historyOf(t, one, 1))
}

// A number may be drawn again when all entries are removed.
func forgetAll(t *testing.T, one, two store.Store) {
	change := func(id int64, names ...string) {
		for _, name := range names {
			put(t, one, plant.Plant{ID: id, Name: name})
		}
	}
	change(1, "a", "b", "c")
	change(2, "a", "b")
	change(3, "a", "b")
	must.NoError(t, one.Delete(timeout(t), 3, "Dan", plant.Precondition{}))
	must.NoError(t, two.ForgetHistory(timeout(t), time.Now().Add(time.Hour)))
	change(4, "a", "b", "c", "d", "e", "f")
	wantEntries(t, historyOf(t, one, 1))
	wantEntries(t, historyOf(t, one, 2))
	change(1, "d")
	change(2, "c")
	change(3, "a", "b")
	for id, want := range map[int64]int{1: 1, 2: 1, 3: 1, 4: 5} {
		if entries := historyOf(t, two, id); len(entries) != want || entries[0].Plant.ID != id {
			t.Errorf("the history of plant %d is %v, want %d entries", id, entries, want)
		}
	}
	must.NoError(t, two.Forget(timeout(t), 2))
	if entries := historyOf(t, one, 4); len(entries) != 5 {
		t.Errorf("the history of another plant than the one that is forgotten is %v", entries)
	}
}

func forgetPlant(t *testing.T, one, two store.Store) {
	for id := range int64(3) {
		mustCreate(t, one, plant.Plant{ID: id, Name: "n", ChangedBy: "Ann"})
		put(t, one, plant.Plant{ID: id, Name: "m", ChangedBy: "Bob"})
	}
	must.NoError(t, one.Delete(timeout(t), 2, "Dan", plant.Precondition{}))
	f := &Follower{Store: one, Limit: 100}
	f.Drain(t)
	for _, id := range []int64{1, 2, 7} { // 2 was deleted before, 7 never was
		must.NoError(t, two.Forget(timeout(t), id))
		changes := f.Drain(t)
		if len(changes) != 1 || changes[0].ID != id || changes[0].Plant != nil || changes[0].ChangedBy != "" {
			t.Errorf("after Forget(%d) the feed has %+v", id, changes)
		}
		_, _, err := one.History(timeout(t), id, plant.HistoryPage{Limit: 1})
		expect.Error(t, "History of a plant that is forgotten", err, plant.ErrNotFound)
		_, err = one.Get(timeout(t), id)
		expect.Error(t, "Get of a plant that is forgotten", err, plant.ErrNotFound)
	}
	if entries := historyOf(t, one, 0); len(entries) != 1 || entries[0].By != "Bob" {
		t.Errorf("the history of another plant is %v", entries)
	}
}

func stopHistory(t *testing.T, s, _ store.Store) {
	put(t, s, plant.Plant{ID: 1, ChangedBy: "Ann"})
	s.StopHistory()
	put(t, s, plant.Plant{ID: 1, Name: "n", ChangedBy: "Bob"})
	wantEntries(t, historyOf(t, s, 1))
	f := &Follower{Store: s, Limit: 100}
	f.Drain(t)
	must.NoError(t, s.Delete(timeout(t), 1, "Dan", plant.Precondition{}))
	if changes := f.Drain(t); len(changes) != 1 || changes[0].ChangedBy != "" {
		t.Errorf("without a history the feed has %+v", changes)
	}
	_, _, err := s.History(timeout(t), 1, plant.HistoryPage{Limit: 1})
	expect.Error(t, "History", err, plant.ErrNotFound)
}
