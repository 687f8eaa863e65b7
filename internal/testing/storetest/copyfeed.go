package storetest

import (
	"errors"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// CopyOfFeed tests the promises of [store.Snapshot] and [store.Target] that a sharded
// store cannot keep: it has no feed of changes, and a snapshot can have later writes. Each
// call of place returns one where no store is yet.
func CopyOfFeed(t *testing.T, place func(t *testing.T) Place) {
	t.Run("a snapshot does not have later writes", func(t *testing.T) { t.Parallel(); laterWrites(t, place(t)) })
	t.Run("a copy ends every position of its target", func(t *testing.T) { t.Parallel(); positionsOfTarget(t, place(t)) })
	t.Run("a complete target has epochs of its own", func(t *testing.T) { t.Parallel(); epochsOfTarget(t, place(t)) })
	t.Run("an open store cannot read the changes of a target", func(t *testing.T) { t.Parallel(); changesOfTarget(t, place(t)) })
}

func laterWrites(t *testing.T, p Place) {
	s := mustOpen(t, p)
	defer s.Close()
	_, tok := full(1, "before")
	must(t, "CreateToken", s.CreateToken(timeout(t), tok))
	mustCreate(t, s, plant.Plant{ID: 1, Name: "before"})
	before := mustGet(t, s, 1)
	err := s.Snapshot(timeout(t), func(snapshot store.Snapshot) error {
		mustCreate(t, s, plant.Plant{ID: 2, Name: "after"})
		_, err := s.Patch(timeout(t), 1, plant.Patch{Name: new("after")}, plant.Precondition{})
		must(t, "Patch", err)
		_, later := full(2, "after")
		must(t, "CreateToken", s.CreateToken(timeout(t), later))
		wantHeld(t, snapshot, []plant.Plant{before}, []token.Token{tok})
		return nil
	})
	must(t, "Snapshot", err)
}

func positionsOfTarget(t *testing.T, p Place) {
	s := mustOpen(t, p)
	f := &Follower{Store: s, Limit: 10}
	f.Drain(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	to := mustTarget(t, p)
	copied, _ := full(1, "copied")
	err := errors.Join(to.Replace(timeout(t), nil, []plant.Plant{copied}), to.Finish(timeout(t)), to.Close())
	if err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, p)
	defer s.Close()
	wantErrPosition(t, s, *f.Position)
	f.Store = s
	f.Drain(t)
	f.WantCopy(t)
}

func epochsOfTarget(t *testing.T, p Place) {
	first, err := p.Target(timeout(t), []int64{7, 6})
	must(t, "open the target", err)
	must(t, "Close", first.Close())
	last, err := p.Target(timeout(t), []int64{9, 7, 6}) // the source has begun another epoch
	must(t, "open the target again", err)
	must(t, "Finish", last.Finish(timeout(t)))
	must(t, "Close", last.Close())
	s := mustOpen(t, p)
	defer s.Close()
	must(t, "Snapshot", s.Snapshot(timeout(t), func(held store.Snapshot) error {
		if epochs, err := held.Epochs(timeout(t)); err != nil || len(epochs) != 1 || epochs[0] == 7 {
			t.Errorf("Epochs of a complete target = %v, %v, want one of its own", epochs, err)
		}
		return nil
	}))
	must(t, "BeginEpoch", s.BeginEpoch(timeout(t)))
	must(t, "Snapshot", s.Snapshot(timeout(t), func(held store.Snapshot) error {
		_, position, err := s.Changes(timeout(t), nil, 1)
		must(t, "Changes", err)
		if epochs, err := held.Epochs(timeout(t)); err != nil || len(epochs) != 2 || epochs[0] != position.Epoch {
			t.Errorf("Epochs = %v, %v, want two, and first %d", epochs, err, position.Epoch)
		}
		return nil
	}))
}

func changesOfTarget(t *testing.T, p Place) {
	s := mustOpen(t, p)
	defer s.Close()
	_, before, err := s.Changes(timeout(t), nil, 1)
	must(t, "Changes", err)
	target, err := p.Target(timeout(t), nil)
	if err != nil { // refused: the store goes on
		mustCreate(t, s, plant.Plant{ID: 1})
		return
	}
	defer target.Close()
	stored, _ := full(1, "name")
	must(t, "Replace", target.Replace(timeout(t), nil, []plant.Plant{stored}))
	for name, after := range map[string]*plant.Position{"from the beginning": nil, "after a position": &before} {
		if _, _, err := s.Changes(timeout(t), after, 1); !errors.Is(err, plant.ErrUnavailable) || !errors.Is(err, token.ErrUnavailable) {
			t.Errorf("Changes %s while a copy runs = %v, want %v", name, err, plant.ErrUnavailable)
		}
	}
}
