package storetest

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// released is the data that an earlier release wrote to a store.
type released struct {
	Plants []plant.Plant // as that release read them, by ascending ID
	Tokens []releasedToken
}

type releasedToken struct {
	Text   string // as clients send it
	Scopes []token.Scope
	Good   bool // false: revoked or expired
}

// Release fills an empty store with data that later releases must be able to read,
// and returns this data as JSON.
func Release(t *testing.T, store store.Store) (found []byte) {
	t.Helper()
	var want released
	for _, p := range samplePlants() {
		mustCreate(t, store, p)
	}
	mustCreate(t, store, plant.Plant{ID: 1001, Name: "before"})
	if _, _, err := store.Put(t.Context(), plant.Plant{ID: 1001, Name: "after"}, plant.Precondition{}); err != nil {
		t.Fatal(err)
	}
	plants, more, err := store.List(t.Context(), plant.Page{Limit: 1000})
	if err != nil || more {
		t.Fatalf("List = more %v, %v", more, err)
	}
	want.Plants = plants

	const never, century = 0, 100 * 365 * 24 * time.Hour
	both := []token.Scope{token.Read, token.Write}
	add := func(name string, scopes []token.Scope, lifetime time.Duration, change func(*token.Token)) (text string) {
		stored, text := token.New(name, scopes, lifetime)
		change(&stored)
		mustCreateToken(t, store, stored)
		now := time.Now()
		want.Tokens = append(want.Tokens, releasedToken{text, scopes, stored.InForce(now)})
		return text
	}
	add("reads", []token.Scope{token.Read}, never, func(*token.Token) {})
	add("for a century", both, century, func(*token.Token) {})
	add("expired", both, -time.Second, func(*token.Token) {})
	add("revoked", both, never, func(stored *token.Token) { stored.Revoke(time.Now()) })
	var rotated string
	add("rotated", both, never, func(stored *token.Token) {
		if rotated, err = stored.Rotate(time.Now(), century); err != nil {
			t.Fatal(err)
		}
	})
	want.Tokens = append(want.Tokens, releasedToken{rotated, both, true})

	found, err = json.MarshalIndent(want, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	return append(found, '\n')
}

// Migrations tests that the migrations of a release were not edited: an edit would
// not change the stores that have applied them. It compares the files with their
// SHA-256 sums. Only the newest file may not be part of a release yet. And it tests that
// the migrations make every column.
func Migrations(t *testing.T, files fs.FS, sums map[string]string) {
	t.Helper()
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	engine := "internal/store/" + filepath.Base(folder)
	var columns, all []string
	for _, c := range store.WrittenColumns {
		columns = append(columns, c.Name)
	}
	for _, c := range store.TokenColumns {
		columns = append(columns, c.Name)
	}
	for i, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
		sum := fmt.Sprintf("%x", sha256.Sum256(text))
		switch want, released := sums[path.Base(name)]; {
		case released && sum != want:
			t.Errorf("%s was edited, which does not change existing stores: add a migration instead", name)
		case !released && i < len(names)-1:
			t.Errorf("%s is part of a release: add its sum, %s, to this test", name, sum)
		}
	}
	for _, column := range columns {
		if !regexp.MustCompile(`\b` + column + `\b`).MatchString(strings.Join(all, "\n")) {
			t.Errorf("no migration makes the column %s of internal/store/columns.go: add a file to %s/migrations", column, engine)
		}
	}
	for name := range sums {
		if !slices.Contains(names, "migrations/"+name) {
			t.Errorf("%s was deleted", name)
		}
	}
}

// EachReleased runs fn for each released schema, with the file that its program
// wrote and the data to find in it. The files of the newest schema may be missing,
// because it may not be released yet.
func EachReleased(t *testing.T, newest int, extension string, fn func(t *testing.T, left, found []byte)) {
	t.Helper()
	for schema := 1; schema <= newest; schema++ {
		file := ReleasedFile(schema, extension)
		if _, err := os.Stat(file); err != nil && schema == newest {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			left, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("the file of released schema %d is missing: make it with the program before the migration, see testdata/released/README.md: %v", schema, err)
			}
			found, err := os.ReadFile(file + ".json")
			if err != nil {
				t.Fatal(err)
			}
			fn(t, left, found)
		})
	}
}

// ReleasedFile returns the name of the file that the program of a schema wrote.
func ReleasedFile(schema int, extension string) string {
	return filepath.Join("testdata", "released", fmt.Sprintf("%03d%s", schema, extension))
}

// Released tests that a store that an earlier release wrote has the data that
// [Release] returned: every plant with its ETag and its times, and every token with
// its expiry. Then it reads, changes and deletes this data.
//
// The store is refused because of the plants with texts that are too long now, and
// opened if they are shortened. Those have a new ETag and time.
func Released(t *testing.T, open func(shorten func(plant.Plant)) (store.Store, error), found []byte) {
	t.Helper()
	var want released
	if err := json.Unmarshal(found, &want); err != nil {
		t.Fatal(err)
	}
	store := openShortened(t, want.Plants, open)
	wantPlants(t, store, want.Plants)
	verifier := token.NewVerifier(store, "")
	for _, w := range want.Tokens {
		got, err := verifier.Verify(t.Context(), w.Text)
		if w.Good && (err != nil || !slices.Equal(got.Scopes, w.Scopes)) {
			t.Errorf("Verify = %q, %v, want %q", got.Scopes, err, w.Scopes)
		}
		if !w.Good && !errors.Is(err, token.ErrInvalid) {
			t.Errorf("Verify of a revoked or expired token = %v, want %v", err, token.ErrInvalid)
		}
	}
	if err := verifier.Close(); err != nil { // writes the times of last use
		t.Errorf("TouchTokens = %v", err)
	}
	changeTokens(t, store)
	changePlants(t, store, want.Plants)
}

// openShortened opens a store that is refused before its long texts are shortened. It
// replaces the plants with such texts by what is stored then.
func openShortened(t *testing.T, plants []plant.Plant, open func(shorten func(plant.Plant)) (store.Store, error)) store.Store {
	t.Helper()
	var long []int64
	for _, p := range plants {
		if !p.Shortened().Same(p) {
			long = append(long, p.ID)
		}
	}
	s, err := open(nil)
	if len(long) > 0 {
		if refused, ok := errors.AsType[store.LongTextsError](err); !ok || !slices.Equal(refused.IDs, long) {
			t.Fatalf("Open = %v, want an error about the plants %d", err, long)
		}
		var got []plant.Plant
		s, err = open(func(p plant.Plant) { got = append(got, p) })
		if diff := cmp.Diff(got, slices.DeleteFunc(slices.Clone(plants), func(p plant.Plant) bool { return p.Shortened().Same(p) })); diff != "" {
			t.Errorf("the shortened plants (-got +want):\n%s", diff)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for i, p := range plants {
		if !slices.Contains(long, p.ID) {
			continue
		}
		plants[i], err = s.Get(t.Context(), p.ID)
		if got := plants[i]; err != nil || !got.Same(p.Shortened()) || got.ETag == p.ETag || !got.CreatedAt.Equal(p.CreatedAt) {
			t.Errorf("Get(%d) = %+v, %v, want the beginnings of its texts, a new ETag and the time of its creation", p.ID, got, err)
		}
	}
	return s
}

// wantPlants fails unless the store has exactly these plants.
func wantPlants(t *testing.T, store store.Store, want []plant.Plant) {
	t.Helper()
	var got []plant.Plant
	for page := (plant.Page{Limit: 7}); ; page.After = &got[len(got)-1].ID {
		plants, more, err := store.List(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, plants...); !more || len(plants) == 0 {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Fatalf("List (-want +got):\n%s", diff)
	}
	for _, w := range want {
		wantStored(t, store, w)
		if w.Tag == nil {
			continue
		}
		same, _, err := store.List(t.Context(), plant.Page{Tag: w.Tag, Limit: 100})
		if err != nil || !slices.ContainsFunc(same, w.Same) {
			t.Errorf("List with the tag of plant %d lacks it, %v", w.ID, err)
		}
	}
}

// changePlants creates each plant again, and then puts, patches or deletes it with
// the ETag that the earlier release gave it.
func changePlants(t *testing.T, store store.Store, plants []plant.Plant) {
	t.Helper()
	mustCreate(t, store, plant.Plant{ID: 123_456, Name: "new", Tag: new("new")})
	for i, p := range plants {
		mustCreate(t, store, p)
		if err := store.Create(t.Context(), plant.Plant{ID: p.ID, Name: "another"}); !errors.Is(err, plant.ErrExists) {
			t.Errorf("Create(another %d) = %v, want %v", p.ID, err, plant.ErrExists)
		}
		condition := plant.Precondition{IfMatch: etags(p.ETag)}
		var after plant.Plant
		var err error
		switch i % 3 {
		case 0:
			after, _, err = store.Put(t.Context(), plant.Plant{ID: p.ID, Name: "put", Tag: new("put")}, condition)
		case 1:
			after, err = store.Patch(t.Context(), p.ID, plant.Patch{Name: new("patched")}, condition)
		case 2:
			if err = store.Delete(t.Context(), p.ID, condition); err == nil {
				if _, err := store.Get(t.Context(), p.ID); !errors.Is(err, plant.ErrNotFound) {
					t.Errorf("Get(%d) after Delete = %v, want %v", p.ID, err, plant.ErrNotFound)
				}
				continue
			}
		}
		if err != nil {
			t.Errorf("a write to plant %d with its ETag = %v", p.ID, err)
			continue
		}
		if after.ETag == p.ETag || !after.CreatedAt.Equal(p.CreatedAt) {
			t.Errorf("plant %d changed from %+v to %+v, want another ETag and the same CreatedAt", p.ID, p, after)
		}
		wantStored(t, store, after)
	}
}

// changeTokens rotates and revokes each token in force, as `plantstore token` does.
func changeTokens(t *testing.T, store store.Store) {
	t.Helper()
	tokens, err := store.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stored, _ := token.New("new", []token.Scope{token.Read}, time.Hour)
	mustCreateToken(t, store, stored)
	for _, tok := range tokens {
		if !tok.InForce(time.Now()) {
			continue
		}
		if tok.LastUsedAt.IsZero() {
			t.Errorf("token %q has no time of last use", tok.Name)
		}
		err := store.UpdateToken(t.Context(), tok.ID, func(tok *token.Token) error {
			mustRotate(t, tok, 0)
			tok.Revoke(time.Now())
			return nil
		})
		if after, getErr := store.Token(t.Context(), tok.ID); err != nil || getErr != nil || after.InForce(time.Now()) {
			t.Errorf("rotating and revoking token %q = %v, then Token = %+v, %v", tok.Name, err, after, getErr)
		}
	}
}
