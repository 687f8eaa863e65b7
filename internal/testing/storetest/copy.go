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
	"github.com/plantstore/plantstore/internal/token"
)

// Place is where a store is, such as a file. Its functions do not close what they
// open.
type Place struct {
	Open func(ctx context.Context) (store.Store, error)
	// Source has the epochs of the source.
	Target func(ctx context.Context, source []int64) (store.Target, error)
}

// Copy tests the promises of [store.Snapshot] and [store.Target] that every store keeps;
// see [CopyOfFeed]. Each call of place returns one where no store is yet.
func Copy(t *testing.T, place func(t *testing.T) Place) {
	t.Run("a snapshot has what is stored", func(t *testing.T) { t.Parallel(); snapshot(t, place(t)) })
	t.Run("a target keeps plants and tokens as they are", func(t *testing.T) { t.Parallel(); target(t, place(t)) })
	t.Run("a store is a target only without plants and tokens", func(t *testing.T) { t.Parallel(); notEmpty(t, place) })
	t.Run("an incomplete target is a target again and no store", func(t *testing.T) { t.Parallel(); incomplete(t, place(t)) })
	t.Run("an incomplete target is completed from its source", func(t *testing.T) { t.Parallel(); otherSource(t, place(t)) })
	t.Run("a change of a target is done as a whole", func(t *testing.T) { t.Parallel(); replaceAll(t, place(t)) })
	t.Run("of two targets for one store one is refused", func(t *testing.T) { t.Parallel(); twoTargets(t, place(t)) })
	t.Run("an open store cannot read or write a target", func(t *testing.T) { t.Parallel(); openTarget(t, place(t)) })
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
	target, err := p.Target(timeout(t), nil)
	if err != nil {
		t.Fatalf("open the target: %v", err)
	}
	return target
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// wantHeld fails unless a snapshot has exactly these plants and tokens.
func wantHeld(t *testing.T, s store.Snapshot, plants []plant.Plant, tokens []token.Token) {
	t.Helper()
	n, err := s.Count(timeout(t))
	if err != nil || n != int64(len(plants)) {
		t.Errorf("Count = %d, %v, want %d", n, err, len(plants))
	}
	var got []plant.Plant
	for page := (plant.Page{Limit: 5}); ; page.After = &got[len(got)-1].ID {
		found, more, err := s.List(timeout(t), page)
		must(t, "List", err)
		if got = append(got, found...); !more {
			break
		}
	}
	if diff := cmp.Diff(plants, got); diff != "" {
		t.Errorf("the plants (-want +got):\n%s", diff)
	}
	gotTokens, err := s.Tokens(timeout(t))
	must(t, "Tokens", err)
	if diff := cmp.Diff(tokens, gotTokens); diff != "" {
		t.Errorf("the tokens (-want +got):\n%s", diff)
	}
}

func snapshot(t *testing.T, p Place) {
	s := mustOpen(t, p)
	defer s.Close()
	_, tok := full(1, "before")
	must(t, "CreateToken", s.CreateToken(timeout(t), tok))
	mustCreate(t, s, plant.Plant{ID: 1, Name: "before"})
	before := mustGet(t, s, 1)
	err := s.Snapshot(timeout(t), func(snapshot store.Snapshot) error {
		wantHeld(t, snapshot, []plant.Plant{before}, []token.Token{tok})
		return nil
	})
	must(t, "Snapshot", err)
	failure := errors.New("the read fails")
	if err := s.Snapshot(timeout(t), func(store.Snapshot) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("Snapshot = %v, want the error of read", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	err = s.Snapshot(canceled, func(snapshot store.Snapshot) error {
		cancel()
		_, _, err := snapshot.List(canceled, plant.Page{Limit: 1})
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Snapshot whose context ends = %v, want %v", err, context.Canceled)
	}
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
	_, first := full(1, "first")
	_, second := full(2, "second")
	bare := token.Token{ID: "bare", Name: "", SecretHash: [32]byte{1}, CreatedAt: time.UnixMicro(4_000_000).UTC()}
	tokens := []token.Token{first, second, bare}
	must(t, "Replace", target.Replace(timeout(t), nil, plants))
	must(t, "ReplaceTokens", target.ReplaceTokens(timeout(t), tokens))
	wantHeld(t, target, plants, tokens)

	replaced, _ := full(100, "replaced")
	plants[slices.IndexFunc(plants, func(p plant.Plant) bool { return p.ID == 100 })] = replaced
	plants = slices.DeleteFunc(plants, func(p plant.Plant) bool { return p.ID == 0 })
	must(t, "Replace", target.Replace(timeout(t), []int64{100, 0}, []plant.Plant{replaced}))
	must(t, "ReplaceTokens", target.ReplaceTokens(timeout(t), tokens[1:]))
	wantHeld(t, target, plants, tokens[1:])
	must(t, "Finish", target.Finish(timeout(t)))
	must(t, "Close", target.Close())

	s := mustOpen(t, p)
	defer s.Close()
	must(t, "Ready", s.Ready(timeout(t)))
	must(t, "Snapshot", s.Snapshot(timeout(t), func(held store.Snapshot) error {
		wantHeld(t, held, plants, tokens[1:])
		return nil
	}))
	wantStored(t, s, replaced)
	tagged, _, err := s.List(timeout(t), plant.Page{Tag: replaced.Tag, Limit: 10})
	if err != nil || len(tagged) != 1 {
		t.Errorf("List by tag = %d plants, %v, want 1", len(tagged), err)
	}
	wantNames(t, s, slices.Clone(plants), rand.New(rand.NewPCG(7, 8)))
	must(t, "Delete with an ETag", s.Delete(timeout(t), 100, plant.Precondition{IfMatch: etags(replaced.ETag)}))
	mustCreate(t, s, plant.Plant{ID: 100, Name: replaced.Name, Tag: replaced.Tag})
	if mustGet(t, s, 100).ETag == replaced.ETag {
		t.Error("an ETag of a copied plant is used again")
	}
}

func notEmpty(t *testing.T, place func(t *testing.T) Place) {
	_, tok := full(1, "name")
	for name, fill := range map[string]func(store.Store) error{
		"a plant": func(s store.Store) error { return s.Create(timeout(t), plant.Plant{ID: 1}) },
		"a token": func(s store.Store) error { return s.CreateToken(timeout(t), tok) },
	} {
		p := place(t)
		s := mustOpen(t, p)
		must(t, "create", fill(s))
		must(t, "Close", s.Close())
		if _, err := p.Target(timeout(t), nil); !errors.Is(err, store.ErrNotEmpty) {
			t.Errorf("a target with %s = %v, want %v", name, err, store.ErrNotEmpty)
		}
		s = mustOpen(t, p)
		must(t, "Ready of a store that was refused", s.Ready(timeout(t)))
		must(t, "Close", s.Close())
	}
	p := place(t)
	must(t, "Close of a new store", mustOpen(t, p).Close())
	must(t, "Close of its target", mustTarget(t, p).Close())
}

func incomplete(t *testing.T, p Place) {
	stored, tok := full(1, "name")
	target := mustTarget(t, p)
	must(t, "Replace", target.Replace(timeout(t), nil, []plant.Plant{stored}))
	must(t, "ReplaceTokens", target.ReplaceTokens(timeout(t), []token.Token{tok}))
	must(t, "Close", target.Close())
	for range 2 {
		if _, err := p.Open(timeout(t)); !errors.Is(err, store.ErrIncomplete) {
			t.Fatalf("Open of an incomplete target = %v, want %v", err, store.ErrIncomplete)
		}
		target = mustTarget(t, p)
		wantHeld(t, target, []plant.Plant{stored}, []token.Token{tok})
		must(t, "Close", target.Close())
	}
	target = mustTarget(t, p)
	must(t, "Finish", target.Finish(timeout(t)))
	must(t, "Close", target.Close())
	s := mustOpen(t, p)
	defer s.Close()
	wantStored(t, s, stored)
	mustCreate(t, s, plant.Plant{ID: 2})
}

func otherSource(t *testing.T, p Place) {
	open := func(source ...int64) (store.Target, error) { return p.Target(timeout(t), source) }
	first, err := open(7, 6)
	must(t, "open the target", err)
	must(t, "Close", first.Close())
	for _, other := range [][]int64{{8, 6}, nil} {
		if _, err := open(other...); !errors.Is(err, store.ErrOtherSource) {
			t.Errorf("a target for a source with the epochs %v = %v, want %v", other, err, store.ErrOtherSource)
		}
	}
	last, err := open(9, 7, 6) // the source has begun another epoch
	must(t, "open the target again", err)
	must(t, "Finish", last.Finish(timeout(t)))
	must(t, "Close", last.Close())
	must(t, "Close of the complete target", mustOpen(t, p).Close())
}

func replaceAll(t *testing.T, p Place) {
	target := mustTarget(t, p)
	defer target.Close()
	first, tok := full(1, "first")
	second, _ := full(2, "second")
	must(t, "Replace", target.Replace(timeout(t), nil, []plant.Plant{first}))
	must(t, "ReplaceTokens", target.ReplaceTokens(timeout(t), []token.Token{tok}))
	for name, wrong := range map[string]plant.Plant{
		"an ID that is taken": second,
		"no ETag":             {ID: 3, Name: "third"},
		"the ETag of another": func() plant.Plant { p, _ := full(3, "third"); p.ETag = first.ETag; return p }(),
	} {
		if err := target.Replace(timeout(t), []int64{1}, []plant.Plant{second, wrong}); err == nil {
			t.Errorf("Replace with %s = nil, want an error", name)
		}
	}
	if err := target.ReplaceTokens(timeout(t), []token.Token{tok, tok}); err == nil {
		t.Error("ReplaceTokens with an ID twice = nil, want an error")
	}
	wantHeld(t, target, []plant.Plant{first}, []token.Token{tok})
}

func twoTargets(t *testing.T, p Place) {
	first := mustTarget(t, p)
	stored, _ := full(1, "name")
	must(t, "Replace", first.Replace(timeout(t), nil, []plant.Plant{stored}))
	last, err := p.Target(timeout(t), nil)
	if err != nil {
		last = first
	} else {
		defer first.Close()
		for name, err := range map[string]error{
			"Replace":       first.Replace(timeout(t), []int64{1}, nil),
			"ReplaceTokens": first.ReplaceTokens(timeout(t), nil),
			"Finish":        first.Finish(timeout(t)),
		} {
			if !errors.Is(err, store.ErrSuperseded) {
				t.Errorf("%s after another copy has begun = %v, want %v", name, err, store.ErrSuperseded)
			}
		}
	}
	wantHeld(t, last, []plant.Plant{stored}, nil)
	must(t, "Finish", last.Finish(timeout(t)))
	if last != first {
		if err := first.Replace(timeout(t), []int64{1}, nil); !errors.Is(err, store.ErrSuperseded) {
			t.Errorf("Replace after another copy was completed = %v, want %v", err, store.ErrSuperseded)
		}
	}
	must(t, "Close", last.Close())
	s := mustOpen(t, p)
	defer s.Close()
	wantStored(t, s, stored)
}

func openTarget(t *testing.T, p Place) {
	s := mustOpen(t, p)
	defer s.Close()
	must(t, "Ready", s.Ready(timeout(t)))
	target, err := p.Target(timeout(t), nil)
	if err != nil { // refused: the store goes on
		mustCreate(t, s, plant.Plant{ID: 1})
		return
	}
	defer target.Close()
	stored, tok := full(1, "name")
	if err := s.Create(timeout(t), plant.Plant{ID: 2}); !errors.Is(err, plant.ErrUnavailable) {
		t.Errorf("Create while a copy runs = %v, want %v", err, plant.ErrUnavailable)
	}
	if err := s.CreateToken(timeout(t), tok); !errors.Is(err, token.ErrUnavailable) {
		t.Errorf("CreateToken while a copy runs = %v, want %v", err, token.ErrUnavailable)
	}
	must(t, "Replace", target.Replace(timeout(t), nil, []plant.Plant{stored}))
	must(t, "ReplaceTokens", target.ReplaceTokens(timeout(t), []token.Token{tok}))
	if err := s.Ready(timeout(t)); !errors.Is(err, store.ErrIncomplete) {
		t.Errorf("Ready while a copy runs = %v, want %v", err, store.ErrIncomplete)
	}
	for name, read := range map[string]func() error{
		"Get":   func() error { _, err := s.Get(timeout(t), 1); return err },
		"List":  func() error { _, _, err := s.List(timeout(t), plant.Page{Limit: 1}); return err },
		"Token": func() error { _, err := s.Token(timeout(t), tok.ID); return err },
	} {
		if err := read(); !errors.Is(err, plant.ErrUnavailable) || !errors.Is(err, token.ErrUnavailable) {
			t.Errorf("%s while a copy runs = %v, want %v", name, err, plant.ErrUnavailable)
		}
	}
	must(t, "Finish", target.Finish(timeout(t)))
	must(t, "Ready after the copy", s.Ready(timeout(t)))
	wantStored(t, s, stored)
	mustCreate(t, s, plant.Plant{ID: 2})
}
