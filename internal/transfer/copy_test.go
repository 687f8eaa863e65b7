package transfer

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	for id := range int64(3) { // so there is a history
		_, err := s.Patch(t.Context(), 3*id, plant.Patch{Name: new("changed"), ChangedBy: "Ann"}, plant.Precondition{})
		must.NoError(t, err)
	}
	for i := range 3 {
		tok, _ := token.New(fmt.Sprint(i), []token.Scope{token.Read}, time.Hour)
		must.NoError(t, s.CreateToken(t.Context(), tok))
	}
	return s
}

func ignoreProgress(string, int64, int64) {}

func openCopyTarget(t *testing.T, path string) store.Target {
	t.Helper()
	target, err := sqlite.OpenTarget(t.Context(), path)
	must.NoError(t, err)
	return target
}

// content returns all that a store holds.
func content(t *testing.T, s store.Store) (plants []plant.Plant, tokens []token.Token) {
	t.Helper()
	err := s.Snapshot(t.Context(), func(held store.Snapshot) error {
		c := copying{progress: ignoreProgress}
		_, err := c.readAll(t.Context(), "store", held, func(_ context.Context, page []plant.Plant) error {
			plants = append(plants, page...)
			return nil
		}, func(context.Context, []plant.HistoryEntry) error { return nil })
		if err != nil {
			return err
		}
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
	if copied.Plants != copyPlants || copied.Tokens != 3 || len(copied.Checksum) != 64 {
		t.Errorf("Copy = %+v", copied)
	}
	if lastTotal != CopyPasses*copyPlants || lastDone != lastTotal {
		t.Errorf("the last progress is %d of %d, want %d", lastDone, lastTotal, CopyPasses*copyPlants)
	}
	if want := []string{"copying", "checking"}; !slices.Equal(slices.Compact(phases), want) {
		t.Errorf("the phases are %q, want %q", slices.Compact(phases), want)
	}
	wantCopy(t, source, path)
}

// wantNothing fails if there is a file in the folder of a target that was closed.
func wantNothing(t *testing.T, path string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) > 0 {
		t.Errorf("beside %s there are %v, %v, want nothing", path, left, err)
	}
}

// A copy that was stopped leaves nothing.
func TestCopyStopped(t *testing.T) {
	source := openSource(t)
	for _, when := range []string{"copying", "checking"} {
		path := filepath.Join(t.TempDir(), "target.db")
		target := openCopyTarget(t, path)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Copy(ctx, source, target, func(phase string, _, _ int64) {
			if phase == when {
				cancel()
			}
		})
		expect.Error(t, "Copy", err, context.Canceled)
		must.NoError(t, target.Close())
		wantNothing(t, path)
	}
}

// A copy fails if the source has changed in any way, and leaves nothing.
func TestCopyOfAChangingSource(t *testing.T) {
	source := openSource(t)
	_, tokens := content(t, source)
	for name, change := range map[string]func(n int64) error{
		"create": func(n int64) error { return source.Create(t.Context(), plant.Plant{ID: -1 - 3*n}) },
		"delete": func(n int64) error { return source.Delete(t.Context(), 3*n, "", plant.Precondition{}) },
		"put": func(n int64) error {
			_, _, err := source.Put(t.Context(), plant.Plant{ID: 30, Name: fmt.Sprint(n)}, plant.Precondition{})
			return err
		},
		"a server that starts": func(int64) error { return source.BeginEpoch(t.Context()) },
		"the last use of a token": func(n int64) error {
			return source.TouchTokens(t.Context(), map[string]time.Time{tokens[n].ID: time.Now()})
		},
	} {
		for n, when := range []string{"copying", "checking"} {
			path := filepath.Join(t.TempDir(), "target.db")
			target := openCopyTarget(t, path)
			changed := false
			_, err := Copy(t.Context(), source, target, func(phase string, _, _ int64) {
				if phase == when && !changed {
					changed = true
					expect.Error(t, name, change(int64(n)), nil)
				}
			})
			expect.Error(t, name+" while "+when+": Copy", err, ErrChanged)
			must.NoError(t, target.Close())
			wantNothing(t, path)
		}
	}
}

// forgetful is a real target that forgets something of what it stores.
type forgetful struct {
	store.Target
	plant func(*plant.Plant)
	token func(*token.Token)
}

func (f forgetful) AddPlants(ctx context.Context, plants []plant.Plant) error {
	if f.plant != nil {
		plants = slices.Clone(plants)
		f.plant(&plants[len(plants)/2])
	}
	return f.Target.AddPlants(ctx, plants)
}

func (f forgetful) AddTokens(ctx context.Context, tokens []token.Token) error {
	tokens = slices.Clone(tokens)
	if f.token != nil {
		f.token(&tokens[1])
	}
	return f.Target.AddTokens(ctx, tokens)
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
		_, err := Copy(t.Context(), source, f, ignoreProgress)
		expect.Message(t, name+": Copy", err, "check the target: it differs from what was written to it")
		must.NoError(t, f.Close())
		wantNothing(t, path)
	}
}
