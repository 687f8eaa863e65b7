package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

// Place is where a store is, such as a file. Its functions do not close what they
// open.
type Place struct {
	Open   func(ctx context.Context) (store.Store, error)
	Target func(ctx context.Context) (store.Target, error)
}

// Copy tests the promises of [store.Snapshot] and [store.Target] that every store keeps;
// see [CopyOfFeed]. Each call of place returns one where no store is yet.
func Copy(t *testing.T, place func(t *testing.T) Place) {
	t.Run("a snapshot has what is stored", func(t *testing.T) { t.Parallel(); snapshot(t, place(t)) })
	t.Run("a target keeps plants and tokens as they are", func(t *testing.T) { t.Parallel(); target(t, place(t)) })
	t.Run("a store is a target only without plants and tokens", func(t *testing.T) { t.Parallel(); notEmpty(t, place) })
	t.Run("a target that is not published leaves nothing", func(t *testing.T) { t.Parallel(); unpublished(t, place(t)) })
	t.Run("a target refuses wrong plants", func(t *testing.T) { t.Parallel(); wrongPlants(t, place) })
	t.Run("of two targets for one store the second is refused", func(t *testing.T) { t.Parallel(); twoTargets(t, place(t)) })
}

// CopyOfFeed tests the promises of [store.Snapshot] that a sharded store cannot keep: it
// has no feed of changes, and a snapshot can have later writes. Each call of place returns one
// where no store is yet.
func CopyOfFeed(t *testing.T, place func(t *testing.T) Place) {
	t.Run("a snapshot does not have later writes", func(t *testing.T) { t.Parallel(); laterWrites(t, place(t)) })
	t.Run("every change alters the state", func(t *testing.T) { t.Parallel(); states(t, place(t)) })
}

// full returns a plant and a token with a value in every field.
func full(id int64, name string) (plant.Plant, token.Token) {
	p := versioned(plant.Plant{ID: id, Name: name, Tag: new("tag\x00")}, id*7-3, 1_000_000+id, 2_000_000+id)
	tok, _ := token.New(name, []token.Scope{token.Read, token.Write}, time.Hour)
	tok.OldSecretHash = [32]byte{1, 2, 3}
	for i, at := range []*time.Time{&tok.CreatedAt, &tok.ExpiresAt, &tok.RevokedAt, &tok.LastUsedAt, &tok.OldSecretUntil} {
		*at = time.UnixMicro(3_000_000 + id + int64(i)).UTC()
	}
	return p, tok
}

// versioned returns p with an ETag and times, which are in microseconds since 1970.
func versioned(p plant.Plant, version, createdAt, updatedAt int64) plant.Plant {
	p.CreatedAt, p.UpdatedAt = time.UnixMicro(createdAt).UTC(), time.UnixMicro(updatedAt).UTC()
	return (&store.PlantRow{Plant: p, Version: version}).Stored()
}

func mustOpen(t *testing.T, p Place) store.Store {
	t.Helper()
	s, err := p.Open(timeout(t))
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	return s
}

func mustTarget(t *testing.T, p Place) store.Target {
	t.Helper()
	target, err := p.Target(timeout(t))
	if err != nil {
		t.Fatalf("open the target: %v", err)
	}
	return target
}

func wantNoTarget(t *testing.T, what string, p Place) {
	t.Helper()
	if target, err := p.Target(timeout(t)); err == nil {
		target.Close()
		t.Errorf("%s = nil, want an error", what)
	}
}

// wantHeld fails unless a snapshot has exactly these plants and tokens.
func wantHeld(t *testing.T, s store.Snapshot, plants []plant.Plant, tokens []token.Token) {
	t.Helper()
	state, err := s.State(timeout(t))
	if err != nil || state.Plants != int64(len(plants)) {
		t.Errorf("State = %+v, %v, want %d plants", state, err, len(plants))
	}
	var got []plant.Plant
	for page := (plant.Page{Limit: 5}); ; page.After = &got[len(got)-1].ID {
		found, more, err := s.List(timeout(t), page)
		must.NoError(t, err)
		if got = append(got, found...); !more {
			break
		}
	}
	if diff := cmp.Diff(plants, got); diff != "" {
		t.Errorf("the plants (-want +got):\n%s", diff)
	}
	gotTokens, err := s.Tokens(timeout(t))
	must.NoError(t, err)
	if diff := cmp.Diff(tokens, gotTokens); diff != "" {
		t.Errorf("the tokens (-want +got):\n%s", diff)
	}
}

func snapshot(t *testing.T, p Place) {
	s := mustOpen(t, p)
	defer s.Close()
	_, tok := full(1, "before")
	must.NoError(t, s.CreateToken(timeout(t), tok))
	mustCreate(t, s, plant.Plant{ID: 1, Name: "before"})
	before := mustGet(t, s, 1)
	err := s.Snapshot(timeout(t), func(snapshot store.Snapshot) error {
		wantHeld(t, snapshot, []plant.Plant{before}, []token.Token{tok})
		return nil
	})
	must.NoError(t, err)
	failure := errors.New("the read fails")
	expect.Error(t, "Snapshot", s.Snapshot(timeout(t), func(store.Snapshot) error { return failure }), failure)
	canceled, cancel := context.WithCancel(t.Context())
	err = s.Snapshot(canceled, func(snapshot store.Snapshot) error {
		cancel()
		_, _, err := snapshot.List(canceled, plant.Page{Limit: 1})
		return err
	})
	expect.Error(t, "Snapshot whose context ends", err, context.Canceled)
}

func target(t *testing.T, p Place) {
	target := mustTarget(t, p)
	wantHeld(t, target, nil, nil)
	var plants []plant.Plant
	for i, sample := range samplePlants() {
		plants = append(plants, versioned(sample, int64(i)<<60-1, int64(i), int64(2*i)))
	}
	slices.SortFunc(plants, func(a, b plant.Plant) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	copied, _ := full(100, "copied")
	plants[slices.IndexFunc(plants, func(p plant.Plant) bool { return p.ID == 100 })] = copied
	_, first := full(1, "first")
	_, second := full(2, "second")
	bare := token.Token{ID: "bare", Name: "", SecretHash: [32]byte{1}, CreatedAt: time.UnixMicro(4_000_000).UTC()}
	tokens := []token.Token{first, second, bare}
	must.NoError(t, target.AddPlants(timeout(t), plants[:3]))
	must.NoError(t, target.AddPlants(timeout(t), plants[3:]))
	history := []plant.HistoryEntry{
		{Number: 3, Plant: copied, Change: plant.Replaced, At: time.UnixMicro(5_000_000).UTC(), By: "Ann\x00"},
		{Number: 7, Plant: plants[0], Change: plant.Deleted, At: time.UnixMicro(6_000_000).UTC()},
	}
	must.NoError(t, target.AddHistory(timeout(t), history[:1]))
	must.NoError(t, target.AddHistory(timeout(t), history[1:]))
	must.NoError(t, target.AddTokens(timeout(t), tokens))
	wantHeld(t, target, plants, tokens)
	wantHistory(t, target, history)
	must.NoError(t, target.Publish(timeout(t)))
	must.NoError(t, target.Close())

	s := mustOpen(t, p)
	defer s.Close()
	must.NoError(t, s.Ready(timeout(t)))
	must.NoError(t, s.Snapshot(timeout(t), func(held store.Snapshot) error {
		wantHeld(t, held, plants, tokens)
		wantHistory(t, held, history)
		return nil
	}))
	wantStored(t, s, copied)
	tagged, _, err := s.List(timeout(t), plant.Page{Tag: copied.Tag, Limit: 10})
	if err != nil || len(tagged) != 1 {
		t.Errorf("List by tag = %d plants, %v, want 1", len(tagged), err)
	}
	wantNames(t, s, slices.Clone(plants), rand.New(rand.NewPCG(7, 8)))
	must.NoError(t, s.Delete(timeout(t), 100, "", plant.Precondition{IfMatch: etags(copied.ETag)}))
	mustCreate(t, s, plant.Plant{ID: 100, Name: copied.Name, Tag: copied.Tag})
	if mustGet(t, s, 100).ETag == copied.ETag {
		t.Error("an ETag of a copied plant is used again")
	}
	entries, _, err := s.History(timeout(t), 100, plant.HistoryPage{Limit: 5})
	if errors.Is(err, plant.ErrNoChanges) {
		return // a sharded store keeps what was copied, and adds nothing
	}
	if err != nil || len(entries) != 2 || entries[0].Number <= history[1].Number || entries[1].By != "Ann\x00" {
		t.Errorf("after a delete the history is %+v, %v", entries, err)
	}
}

// wantHistory fails unless a snapshot has exactly these entries.
func wantHistory(t *testing.T, s store.Snapshot, want []plant.HistoryEntry) {
	t.Helper()
	var got []plant.HistoryEntry
	for after, more := int64(0), true; more; after = got[len(got)-1].Number {
		var entries []plant.HistoryEntry
		var err error
		entries, more, err = s.History(timeout(t), after, 1)
		must.NoError(t, err)
		got = append(got, entries...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
}

func notEmpty(t *testing.T, place func(t *testing.T) Place) {
	_, tok := full(1, "name")
	for name, fill := range map[string]func(store.Store) error{
		"a plant": func(s store.Store) error { return s.Create(timeout(t), plant.Plant{ID: 1}) },
		"a token": func(s store.Store) error { return s.CreateToken(timeout(t), tok) },
		"a history": func(s store.Store) error {
			return errors.Join(s.Create(timeout(t), plant.Plant{ID: 1}), s.Delete(timeout(t), 1, "", plant.Precondition{}))
		},
	} {
		p := place(t)
		s := mustOpen(t, p)
		must.NoError(t, fill(s))
		must.NoError(t, s.Close())
		wantNoTarget(t, "a target with "+name, p)
		s = mustOpen(t, p)
		must.NoError(t, s.Ready(timeout(t)))
		must.NoError(t, s.Close())
	}
}

func unpublished(t *testing.T, p Place) {
	stored, tok := full(1, "name")
	target := mustTarget(t, p)
	must.NoError(t, target.AddPlants(timeout(t), []plant.Plant{stored}))
	must.NoError(t, target.AddTokens(timeout(t), []token.Token{tok}))
	must.NoError(t, target.Close())

	again := mustTarget(t, p)
	wantHeld(t, again, nil, nil)
	must.NoError(t, again.Publish(timeout(t)))
	must.NoError(t, again.Close())
	s := mustOpen(t, p)
	defer s.Close()
	mustCreate(t, s, stored)
}

func wrongPlants(t *testing.T, place func(t *testing.T) Place) {
	first, _ := full(1, "first")
	for name, wrong := range map[string]plant.Plant{
		"an ID that is taken": first,
		"no ETag":             {ID: 3, Name: "third"},
		"the ETag of another": func() plant.Plant { p, _ := full(3, "third"); p.ETag = first.ETag; return p }(),
	} {
		target := mustTarget(t, place(t))
		if err := target.AddPlants(timeout(t), []plant.Plant{first, wrong}); err == nil {
			t.Errorf("AddPlants with %s = nil, want an error", name)
		}
		must.NoError(t, target.Close())
	}
}

func twoTargets(t *testing.T, p Place) {
	first := mustTarget(t, p)
	defer first.Close()
	stored, _ := full(1, "name")
	must.NoError(t, first.AddPlants(timeout(t), []plant.Plant{stored}))
	wantNoTarget(t, "a second target", p)
	wantHeld(t, first, []plant.Plant{stored}, nil)
	must.NoError(t, first.Publish(timeout(t)))
	wantNoTarget(t, "a target where the first one was published", p)
	s := mustOpen(t, p)
	defer s.Close()
	wantStored(t, s, stored)
}

func laterWrites(t *testing.T, p Place) {
	s := mustOpen(t, p)
	defer s.Close()
	_, tok := full(1, "before")
	must.NoError(t, s.CreateToken(timeout(t), tok))
	mustCreate(t, s, plant.Plant{ID: 1, Name: "before"})
	before := mustGet(t, s, 1)
	err := s.Snapshot(timeout(t), func(snapshot store.Snapshot) error {
		mustCreate(t, s, plant.Plant{ID: 2, Name: "after"})
		_, err := s.Patch(timeout(t), 1, plant.Patch{Name: new("after")}, plant.Precondition{})
		must.NoError(t, err)
		_, later := full(2, "after")
		must.NoError(t, s.CreateToken(timeout(t), later))
		wantHeld(t, snapshot, []plant.Plant{before}, []token.Token{tok})
		return nil
	})
	must.NoError(t, err)
}

func states(t *testing.T, p Place) {
	s := mustOpen(t, p)
	defer s.Close()
	var before store.State
	for _, change := range []struct {
		name string
		make func() error
	}{
		{"BeginEpoch", func() error { return s.BeginEpoch(timeout(t)) }},
		{"Create", func() error { return s.Create(timeout(t), plant.Plant{ID: 1}) }},
		{"Put", func() error {
			_, _, err := s.Put(timeout(t), plant.Plant{ID: 1, Name: "n"}, plant.Precondition{})
			return err
		}},
		{"Delete", func() error { return s.Delete(timeout(t), 1, "", plant.Precondition{}) }},
		{"BeginEpoch again", func() error { return s.BeginEpoch(timeout(t)) }},
	} {
		must.NoError(t, change.make())
		must.NoError(t, s.Snapshot(timeout(t), func(held store.Snapshot) error {
			now, err := held.State(timeout(t))
			if err != nil || now == before {
				t.Errorf("after %s State = %+v, %v, want another one than before", change.name, now, err)
			}
			before = now
			return nil
		}))
	}
}
