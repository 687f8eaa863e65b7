package transfer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

// copyPlants is the number of plants in the tests of Copy: more than two pages.
const copyPlants = 2*copyPage + 500

// openSource opens a store with plants and tokens.
func openSource(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "source.db"))
	must.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	var plants []plant.Plant
	for id := range int64(copyPlants) {
		plants = append(plants, plant.Plant{ID: 3 * (id - 100), Name: fmt.Sprint("plant ", id), Tag: []*string{nil, new(""), new("t")}[id%3]})
	}
	_, err = s.CreateAll(t.Context(), plants)
	must.NoError(t, err)
	for i := range 3 {
		tok, _ := token.New(fmt.Sprint(i), []token.Scope{token.Read}, time.Hour)
		must.NoError(t, s.CreateToken(t.Context(), tok))
	}
	return s
}

func openCopyTarget(t *testing.T, path string) store.Target {
	t.Helper()
	target, err := sqlite.OpenTarget(t.Context(), path, nil)
	must.NoError(t, err)
	return target
}

// content returns all that a store holds.
func content(t *testing.T, s store.Store) (plants []plant.Plant, tokens []token.Token) {
	t.Helper()
	err := s.Snapshot(t.Context(), func(held store.Snapshot) error {
		for p, err := range plantsOf(t.Context(), held) {
			if err != nil {
				return err
			}
			plants = append(plants, *p)
		}
		var err error
		tokens, err = held.Tokens(t.Context())
		return err
	})
	must.NoError(t, err)
	return plants, tokens
}

// wantCopy fails unless the store at path has the content of the source.
func wantCopy(t *testing.T, source store.Store, path string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	must.NoError(t, err)
	defer s.Close()
	wantPlants, wantTokens := content(t, source)
	plants, tokens := content(t, s)
	if diff := cmp.Diff(wantPlants, plants); diff != "" {
		t.Errorf("the plants differ (-source +target):\n%.1000s", diff)
	}
	if diff := cmp.Diff(wantTokens, tokens); diff != "" {
		t.Errorf("the tokens differ (-source +target):\n%.1000s", diff)
	}
}

func TestCopy(t *testing.T) {
	source, path := openSource(t), filepath.Join(t.TempDir(), "target.db")
	target := openCopyTarget(t, path)
	var lastDone, lastTotal int64
	var phases []string
	copied, err := Copy(t.Context(), source, target, func(phase string, done, total int64) {
		phases = append(phases, phase)
		if done <= lastDone {
			t.Errorf("the progress goes from %d to %d", lastDone, done)
		}
		lastDone, lastTotal = done, total
	})
	must.NoError(t, errors.Join(err, target.Close()))
	if copied.Plants != copyPlants || copied.Tokens != 3 || copied.Kept != 0 || len(copied.Checksum) != 64 {
		t.Errorf("Copy = %+v", copied)
	}
	if lastTotal != CopyPasses*copyPlants || lastDone < lastTotal-1000 {
		t.Errorf("the last progress is %d of %d, want %d", lastDone, lastTotal, CopyPasses*copyPlants)
	}
	if want := []string{"copying", "checking the target", "checking the source"}; !slices.Equal(slices.Compact(phases), want) {
		t.Errorf("the phases are %q, want %q", slices.Compact(phases), want)
	}
	wantCopy(t, source, path)
}

// The next run continues a copy that was stopped.
func TestCopyStopped(t *testing.T) {
	source, path := openSource(t), filepath.Join(t.TempDir(), "target.db")
	target := openCopyTarget(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Copy(ctx, source, target, func(_ string, done, _ int64) {
		if done > copyPage {
			cancel()
		}
	})
	must.NoError(t, target.Close())
	expect.Error(t, "Copy", err, context.Canceled)
	_, err = sqlite.Open(t.Context(), path)
	expect.Error(t, "Open of the target", err, store.ErrIncomplete)
	target = openCopyTarget(t, path)
	copied, err := Copy(t.Context(), source, target, func(_ string, _, _ int64) {})
	must.NoError(t, errors.Join(err, target.Close()))
	if copied.Kept != copyPage || copied.Plants != copyPlants {
		t.Errorf("Copy = %+v, want that it keeps %d", copied, copyPage)
	}
	wantCopy(t, source, path)
}

// A copy fails if the source has changed in any way, before the phase that follows, and
// the next run completes it.
func TestCopyOfAChangingSource(t *testing.T) {
	source, path := openSource(t), filepath.Join(t.TempDir(), "target.db")
	_, tokens := content(t, source)
	for name, change := range map[string]func(n int64) error{
		"create": func(n int64) error { return source.Create(t.Context(), plant.Plant{ID: -1 - 3*n}) },
		"delete": func(n int64) error { return source.Delete(t.Context(), 3*n, plant.Precondition{}) },
		"put": func(n int64) error {
			_, _, err := source.Put(t.Context(), plant.Plant{ID: 30, Name: fmt.Sprint(n)}, plant.Precondition{})
			return err
		},
		"the last use of a token": func(n int64) error {
			return source.TouchTokens(t.Context(), map[string]time.Time{tokens[n].ID: time.Now()})
		},
	} {
		for n, when := range []string{"copying", "checking the target", "checking the source"} {
			target := openCopyTarget(t, path)
			changed, last := false, ""
			_, err := Copy(t.Context(), source, target, func(phase string, _, _ int64) {
				last = phase
				if phase == when && !changed {
					changed = true
					if err := change(int64(n)); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
			if !errors.Is(err, ErrChanged) || last != when {
				t.Errorf("%s while %s: Copy = %v while %s, want %v before the next phase", name, when, err, last, ErrChanged)
			}
			must.NoError(t, target.Close())
		}
	}
	target := openCopyTarget(t, path)
	_, err := Copy(t.Context(), source, target, func(_ string, _, _ int64) {})
	must.NoError(t, errors.Join(err, target.Close()))
	wantCopy(t, source, path)
}

// forgetful is a real target that forgets something of what it stores.
type forgetful struct {
	store.Target
	plant func(*plant.Plant)
	token func(*token.Token)
}

func (f forgetful) Replace(ctx context.Context, remove []int64, plants []plant.Plant) error {
	if f.plant != nil {
		f.plant(&plants[len(plants)/2])
	}
	return f.Target.Replace(ctx, remove, plants)
}

func (f forgetful) ReplaceTokens(ctx context.Context, tokens []token.Token) error {
	tokens = append([]token.Token(nil), tokens...)
	if f.token != nil {
		f.token(&tokens[1])
	}
	return f.Target.ReplaceTokens(ctx, tokens)
}

// A copy that differs from its source in a single value is not completed.
func TestCopyIsChecked(t *testing.T) {
	source := openSource(t)
	for name, f := range map[string]forgetful{
		"a name":                    {plant: func(p *plant.Plant) { p.Name += "x" }},
		"no tag for an empty one":   {plant: func(p *plant.Plant) { p.Tag = nil }},
		"a time":                    {plant: func(p *plant.Plant) { p.CreatedAt = p.CreatedAt.Add(time.Microsecond) }},
		"the last use of a token":   {token: func(t *token.Token) { t.LastUsedAt = t.CreatedAt }},
		"the hash of a token":       {token: func(t *token.Token) { t.SecretHash[31] ^= 1 }},
		"the old secret of a token": {token: func(t *token.Token) { t.OldSecretHash[0], t.OldSecretUntil = 1, t.CreatedAt }},
	} {
		path := filepath.Join(t.TempDir(), "target.db")
		f.Target = openCopyTarget(t, path)
		_, err := Copy(t.Context(), source, f, func(_ string, _, _ int64) {})
		expect.Message(t, name+": Copy", err, "check the target: it differs from what was written to it")
		must.NoError(t, f.Close())
		_, err = sqlite.Open(t.Context(), path)
		expect.Error(t, name+": Open of the target", err, store.ErrIncomplete)
	}
}
