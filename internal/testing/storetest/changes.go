package storetest

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// openTwo returns two stores with the same, empty content, as two servers open them. They may be the
// same object if the engine does not support two.
type openTwo = func(t *testing.T) (one, two store.Store)

// Changes tests the promises of [plant.Feed], and of the methods of [store.Store]
// about it.
func Changes(t *testing.T, open openTwo) {
	t.Run("the feed begins with a walk of all plants by id", func(t *testing.T) { beginsWithWalk(t, open) })
	t.Run("an empty store has no changes, and its position is one like any other", func(t *testing.T) { emptyStoreHasPosition(t, open) })
	t.Run("every kind of write is a change, with the present state", func(t *testing.T) { everyWriteIsChange(t, open) })
	t.Run("a write that changes nothing is no change", func(t *testing.T) { noChange(t, open) })
	t.Run("the feed continues after every change, also within a batch", func(t *testing.T) { continuesAfterEveryChange(t, open) })
	t.Run("the feed continues after every plant of the walk, and has what changed since it began", func(t *testing.T) { continuesWithinWalk(t, open) })
	t.Run("positions of another store, and wrong ones, are ErrPosition", func(t *testing.T) { wrongPositions(t, open) })
	t.Run("a new epoch changes no valid position", func(t *testing.T) { newEpochKeepsPositions(t, open) })
	t.Run("positions before a forgotten change are ErrPosition, others are not", func(t *testing.T) { forgottenPositions(t, open) })
	t.Run("a walk goes on when the changes from before it are forgotten", func(t *testing.T) { walkOutlivesForgotten(t, open) })
	t.Run("more changes than a transaction forgets are forgotten", func(t *testing.T) { manyForgotten(t, open) })
	t.Run("Changed tells of the next commit that changes plants", func(t *testing.T) { changedTells(t, open) })
	t.Run("writers and followers at once: every copy is equal in the end", func(t *testing.T) { followers(t, open) })
}

// A client that begins without a position gets each plant once, in the order of the ids, whatever
// the size of its pages.
func beginsWithWalk(t *testing.T, open openTwo) {
	s, _ := open(t)
	must.NoError(t, second(s.CreateAll(timeout(t), samplePlants())))
	for limit := range 4 {
		f := &Follower{Store: s, Limit: limit + 1}
		all := f.Drain(t)
		if ids := changedIDs(all); !slices.IsSorted(ids) || len(ids) != len(samplePlants()) {
			t.Errorf("with limit %d the feed has the ids %v, want each id once, in ascending order", limit+1, ids)
		}
		f.WantCopy(t)
	}
}

// An empty page has a position, too: a client that waits begins there.
func emptyStoreHasPosition(t *testing.T, open openTwo) {
	s, _ := open(t)
	f := &Follower{Store: s, Limit: 10}
	if all := f.Drain(t); len(all) > 0 {
		t.Errorf("the feed of an empty store has %v", changedIDs(all))
	}
	mustCreate(t, s, plant.Plant{ID: 1, Name: "n"})
	f.wantNext(t, 1)
}

// Two servers share the feed: what one writes, the other one's clients see, each plant as it is now.
func everyWriteIsChange(t *testing.T, open openTwo) {
	one, two := open(t)
	f := &Follower{Store: two, Limit: 100}
	f.Drain(t)
	mustCreate(t, one, plant.Plant{ID: math.MinInt64, Name: "n"})
	f.wantNext(t, math.MinInt64)
	mustCreateAll(t, one, 1, 2, math.MaxInt64)
	f.wantNext(t, 1, 2, math.MaxInt64)
	mustPut(t, one, plant.Plant{ID: 3, Name: "new"})
	f.wantNext(t, 3)
	mustPut(t, one, plant.Plant{ID: 3, Name: "replaced", Tag: new("")})
	f.wantNext(t, 3)
	must.NoError(t, second(one.Patch(timeout(t), 3, plant.Patch{SetTag: true}, plant.Precondition{})))
	f.wantNext(t, 3)
	mustDelete(t, one, 2)
	f.wantNext(t, 2)
	mustCreate(t, one, plant.Plant{ID: 2, Name: "again"})
	mustDelete(t, one, 1)
	f.wantNext(t, 2, 1)
}

// A write that is refused or repeated must not wake any client.
func noChange(t *testing.T, open openTwo) {
	s, _ := open(t)
	p := plant.Plant{ID: 1, Name: "n"}
	mustCreate(t, s, p)
	f := &Follower{Store: s, Limit: 100}
	f.Drain(t)
	before := *f.Position
	stale := plant.Precondition{IfMatch: etags("stale")}
	for what, err := range map[string]error{
		"create again":   s.Create(timeout(t), p),
		"create another": wantError(plant.ErrExists, s.Create(timeout(t), plant.Plant{ID: 1, Name: "another"})),
		"put the same":   third(s.Put(timeout(t), p, plant.Precondition{})),
		"put stale":      wantError(plant.ErrPrecondition, third(s.Put(timeout(t), plant.Plant{ID: 1, Name: "x"}, stale))),
		"patch nothing":  second(s.Patch(timeout(t), 1, plant.Patch{}, plant.Precondition{})),
		"patch stale":    wantError(plant.ErrPrecondition, second(s.Patch(timeout(t), 1, plant.Patch{Name: new("x")}, stale))),
		"delete stale":   wantError(plant.ErrPrecondition, s.Delete(timeout(t), 1, "", stale)),
		"delete nothing": wantError(plant.ErrNotFound, s.Delete(timeout(t), 2, "", plant.Precondition{})),
		"a batch again":  second(s.CreateAll(timeout(t), []plant.Plant{p})),
		"a batch that fails": wantError(plant.ErrExists,
			second(s.CreateAll(timeout(t), []plant.Plant{{ID: 5}, {ID: 1, Name: "another"}}))),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if all := f.Drain(t); len(all) > 0 || f.Position.Compare(before) != 0 {
		t.Errorf("changes are %v and the position is %+v, want none and %+v", changedIDs(all), *f.Position, before)
	}
}

// A client may stop after any change, and the transactions of batches have several.
func continuesAfterEveryChange(t *testing.T, open openTwo) {
	s, _ := open(t)
	start := &Follower{Store: s, Limit: 1}
	start.Drain(t)
	mustCreateAll(t, s, 1, 2, 3)
	mustCreate(t, s, plant.Plant{ID: 4})
	mustCreateAll(t, s, 5, 6)
	all := start.Drain(t)
	if ids := changedIDs(all); !slices.Equal(ids, []int64{1, 2, 3, 4, 5, 6}) {
		t.Fatalf("changes are %v, want 1 to 6", ids)
	}
	for i, c := range all {
		f := &Follower{Store: s, Limit: 2, Position: &c.Position}
		if got := changedIDs(f.Drain(t)); !slices.Equal(got, changedIDs(all[i+1:])) {
			t.Errorf("after change %d the feed has %v, want %v", i, got, changedIDs(all[i+1:]))
		}
	}
}

// A client that was cut off during the walk goes on where it was, and misses nothing that was
// written meanwhile before or behind that place.
func continuesWithinWalk(t *testing.T, open openTwo) {
	s, _ := open(t)
	mustCreateAll(t, s, 10, 20, 30, 40)
	walk := (&Follower{Store: s, Limit: 1}).Drain(t)
	mustPut(t, s, plant.Plant{ID: 10, Name: "changed"})
	mustCreate(t, s, plant.Plant{ID: 5, Name: "behind"})
	mustDelete(t, s, 40)
	mustCreate(t, s, plant.Plant{ID: 25, Name: "between"})
	for i := range walk {
		f := &Follower{Store: s, Limit: 3, Position: &walk[i].Position, copy: map[int64]plant.Plant{}}
		for _, c := range walk[:i+1] {
			f.apply(c)
		}
		f.Drain(t)
		f.WantCopy(t)
	}
}

// A position is what a client says it is, so a store trusts none. A store that was replaced must
// not silently continue the feed of another one.
func wrongPositions(t *testing.T, open openTwo) {
	s, _ := open(t)
	other, _ := open(t)
	mustCreate(t, s, plant.Plant{ID: 3})
	mustCreateAll(t, s, 1, 2)
	mustCreateAll(t, other, 1, 2)
	f, g := &Follower{Store: s, Limit: 10}, &Follower{Store: other, Limit: 1}
	f.Drain(t)
	wrong := g.Drain(t)
	wrong = append(wrong, plant.Change{Position: *g.Position})
	for _, change := range []func(p *plant.Position){
		func(p *plant.Position) { p.Seen++ },
		func(p *plant.Position) { p.At++ },
		func(p *plant.Position) { p.At, p.Seen = p.At+1, p.Seen+1 },
		func(p *plant.Position) { p.At = math.MaxInt64 },
		func(p *plant.Position) { p.At = math.MinInt64 },
		func(p *plant.Position) { p.At, p.Seen = math.MinInt64, math.MinInt64 },
		func(p *plant.Position) { p.Index = 1 },
		func(p *plant.Position) { p.At, p.Index = p.At-1, -1 },
		func(p *plant.Position) { p.At, p.Index = p.At-1, 2 }, // all changes of the transaction
		func(p *plant.Position) { p.At, p.Index = p.At-2, 1 }, // as above, but another transaction follows
		func(p *plant.Position) { p.At, p.Index = p.At-2, math.MaxInt },
		func(p *plant.Position) { p.At, p.Index, p.Walk = p.At-1, 1, new(int64(1)) },
		func(p *plant.Position) { *p = plant.Position{} },
	} {
		p := *f.Position
		change(&p)
		wrong = append(wrong, plant.Change{Position: p})
	}
	for _, c := range wrong {
		wantErrPosition(t, s, c.Position)
	}
}

// Each start of a server begins an epoch, and clients continue over it. Positions beyond the end
// of an epoch are those of clients that have seen more than a restored store has.
func newEpochKeepsPositions(t *testing.T, open openTwo) {
	one, two := open(t)
	f := &Follower{Store: one, Limit: 10}
	f.Drain(t)
	for id := range int64(4) {
		mustCreate(t, one, plant.Plant{ID: id})
		must.NoError(t, two.BeginEpoch(timeout(t)))
		mustCreate(t, one, plant.Plant{ID: 10 + id})
		epoch := f.Position.Epoch
		f.wantNext(t, id, 10+id)
		if f.Position.Epoch == epoch {
			t.Error("the position does not have the new epoch")
		}
	}
	beyond := *f.Position
	f.Drain(t)
	must.NoError(t, one.BeginEpoch(timeout(t)))
	mustCreate(t, one, plant.Plant{ID: 20})
	beyond.Seen++ // as if the epoch had begun one transaction later
	wantErrPosition(t, one, beyond)
	beyond.At++
	wantErrPosition(t, one, beyond)
}

// A client that was away for too long must notice it, and no other one may. Positions are not used
// again after all changes were forgotten.
func forgottenPositions(t *testing.T, open openTwo) {
	one, two := open(t)
	f := &Follower{Store: one, Limit: 10}
	f.Drain(t)
	positions := []plant.Position{*f.Position}
	var middle time.Time
	for id := range int64(10) {
		mustCreate(t, one, plant.Plant{ID: id})
		f.wantNext(t, id)
		positions = append(positions, *f.Position)
		if err := two.BeginEpoch(timeout(t)); err != nil { // each position has its own
			t.Fatal(err)
		}
		if id == 4 {
			middle = time.Now()
			time.Sleep(2 * time.Millisecond) // so that the next times are greater
		}
	}
	must.NoError(t, two.ForgetChanges(timeout(t), middle))
	for i, p := range positions {
		if i < 5 {
			wantErrPosition(t, one, p)
			continue
		}
		g := &Follower{Store: one, Limit: 3, Position: &p}
		g.wantNext(t, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}[i:]...)
	}
	// Everything is forgotten, and the last position is still valid.
	must.NoError(t, one.ForgetChanges(timeout(t), time.Now().Add(time.Hour)))
	f.wantNext(t)
	mustCreate(t, two, plant.Plant{ID: 100})
	before := *f.Position
	f.wantNext(t, 100)
	if f.Position.At != before.At+1 {
		t.Errorf("the position after %d is %d: a position was used twice or left out", before.At, f.Position.At)
	}
	wantErrPosition(t, one, positions[0])
	g := &Follower{Store: one, Limit: 10}
	g.Drain(t)
	g.WantCopy(t)
}

// A walk of a large store takes long. It needs no change from before it began.
func walkOutlivesForgotten(t *testing.T, open openTwo) {
	one, two := open(t)
	for id := range int64(10) {
		mustCreate(t, one, plant.Plant{ID: id})
	}
	old := &Follower{Store: one, Limit: 10}
	old.Drain(t)
	mustDelete(t, two, 9)
	time.Sleep(2 * time.Millisecond) // so that the next times are greater
	began := time.Now()
	walker := &Follower{Store: one, Limit: 3}
	if changes, err := walker.Next(t); err != nil || len(changes) != 3 || walker.Position.Walk == nil {
		t.Fatalf("the first page of a walk is %+v, %v", changes, err)
	}
	mustDelete(t, two, 0)
	mustCreate(t, one, plant.Plant{ID: 1 << 40})
	if err := two.ForgetChanges(timeout(t), began); err != nil {
		t.Fatal(err)
	}
	walker.Drain(t)
	walker.WantCopy(t)
	if walker.Restarts > 0 {
		t.Error("the walk began again")
	}
	wantErrPosition(t, one, *old.Position)
}

// Forgetting is split into transactions, so that it does not stop writes.
func manyForgotten(t *testing.T, open openTwo) {
	s, _ := open(t)
	f := &Follower{Store: s, Limit: 1000}
	f.Drain(t)
	before := *f.Position
	const n = 700
	for id := range int64(n) {
		must.NoError(t, third(s.Put(timeout(t), plant.Plant{ID: 1, Name: strings.Repeat("x", int(id%7))}, plant.Precondition{})))
	}
	must.NoError(t, s.ForgetChanges(timeout(t), time.Now().Add(time.Hour)))
	wantErrPosition(t, s, before)
	before.At += n - 2
	before.Seen += n - 2
	wantErrPosition(t, s, before)
}

// A server sleeps until Changed tells it of a write.
func changedTells(t *testing.T, open openTwo) {
	s, _ := open(t)
	mustCreate(t, s, plant.Plant{ID: 1})
	changed := s.Changed()
	mustCreate(t, s, plant.Plant{ID: 1})
	select {
	case <-changed:
		t.Error("Changed tells of a write that changed nothing")
	default:
	}
	mustDelete(t, s, 1)
	select {
	case <-changed:
	case <-time.After(10 * time.Second):
		t.Error("Changed has not told of a commit for 10 seconds")
	}
}

// ForgottenEpochs tests that the epochs whose positions have all been forgotten are
// forgotten, too: there is one for each start of a server. Count returns how many the
// store has.
func ForgottenEpochs(t *testing.T, s store.Store, count func(t *testing.T) int) {
	f := &Follower{Store: s, Limit: 10}
	for id := range int64(20) {
		must.NoError(t, s.BeginEpoch(timeout(t)))
		mustCreate(t, s, plant.Plant{ID: id})
	}
	f.Drain(t)
	must.NoError(t, s.ForgetChanges(timeout(t), time.Now().Add(time.Hour)))
	if n := count(t); n != 2 { // the newest one, and the one that ended at the last forgotten position
		t.Errorf("the store has %d epochs, want 2", n)
	}
	f.wantNext(t)
}

func changedIDs(changes []plant.Change) (ids []int64) {
	for _, c := range changes {
		ids = append(ids, c.ID)
	}
	return ids
}

func wantErrPosition(t *testing.T, s plant.Store, p plant.Position) {
	t.Helper()
	if changes, _, err := s.Changes(timeout(t), &p, 10); !errors.Is(err, plant.ErrPosition) {
		t.Errorf("Changes(%+v) = %v, %v, want %v", p, changedIDs(changes), err, plant.ErrPosition)
	}
}

func mustCreateAll(t *testing.T, s plant.Store, ids ...int64) {
	t.Helper()
	var plants []plant.Plant
	for _, id := range ids {
		plants = append(plants, plant.Plant{ID: id, Name: "of a batch"})
	}
	must.NoError(t, second(s.CreateAll(timeout(t), plants)))
}

func mustPut(t *testing.T, s plant.Store, p plant.Plant) {
	t.Helper()
	must.NoError(t, third(s.Put(timeout(t), p, plant.Precondition{})))
}

func mustDelete(t *testing.T, s plant.Store, id int64) {
	t.Helper()
	must.NoError(t, s.Delete(timeout(t), id, "", plant.Precondition{}))
}

// wantError returns nil if an error is the one that is wanted.
func wantError(want, err error) error {
	if errors.Is(err, want) {
		return nil
	}
	return errors.Join(errors.New("want "+want.Error()), err)
}

// second and third are the error of a call, after its other results.
func second[T any](_ T, err error) error        { return err }
func third[T, U any](_ T, _ U, err error) error { return err }
