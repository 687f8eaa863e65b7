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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// released is what an earlier release has left in a store.
type released struct {
	Plants []plant.Plant // as that release read them, by ID
	Tokens []releasedToken
}

type releasedToken struct {
	Text   string // what its bearer sends
	Scopes []token.Scope
	Good   bool // false: revoked, or expired long ago
}

// Release fills an empty store with what a later release must be able to read,
// and returns what it should find.
func Release(t *testing.T, store store.Store) (found []byte) {
	t.Helper()
	var want released
	for _, p := range odd() {
		if len(p.Name) < 10_000 { // the file is to stay small
			mustCreate(t, store, p)
		}
	}
	long := strings.Repeat("long ", 1_000) // more than a page, and than an entry of an index
	mustCreate(t, store, plant.Plant{ID: 1000, Name: long, Tag: &long})
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

// Migrations holds the numbered files of a schema to the sums (SHA-256) of
// those that are part of a release: stores have run them, and never will again.
// Every file but the newest is.
func Migrations(t *testing.T, files fs.FS, sums map[string]string) {
	t.Helper()
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(text))
		switch want, released := sums[path.Base(name)]; {
		case released && sum != want:
			t.Errorf("%s has been edited, which changes no store that exists: add a migration instead", name)
		case !released && i < len(names)-1:
			t.Errorf("%s is released: list it with its sum, %s", name, sum)
		}
	}
	for name := range sums {
		if !slices.Contains(names, "migrations/"+name) {
			t.Errorf("%s is gone", name)
		}
	}
}

// EachReleased runs fn with what the program of each earlier schema has left in
// testdata/released, and what it should find there. That of the newest schema
// may be missing: it is not released yet.
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
				t.Fatalf("schema %d was released, and what it left is not here: see testdata/released/README.md: %v", schema, err)
			}
			found, err := os.ReadFile(file + ".json")
			if err != nil {
				t.Fatal(err)
			}
			fn(t, left, found)
		})
	}
}

// ReleasedFile is where tests keep what the program of a schema has left.
func ReleasedFile(schema int, extension string) string {
	return filepath.Join("testdata", "released", fmt.Sprintf("%03d%s", schema, extension))
}

// Released holds a store that an earlier release has left to what [Release]
// said of it: every plant byte for byte and with its version and its times,
// every token with its end, and that all of it can be worked with.
func Released(t *testing.T, store store.Store, found []byte) {
	t.Helper()
	var want released
	if err := json.Unmarshal(found, &want); err != nil {
		t.Fatal(err)
	}
	holdPlants(t, store, want.Plants)
	verifier, err := token.NewVerifier(store, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range want.Tokens {
		got, err := verifier.Verify(t.Context(), w.Text)
		if w.Good && (err != nil || !slices.Equal(got.Scopes, w.Scopes)) {
			t.Errorf("Verify = %q, %v, want %q", got.Scopes, err, w.Scopes)
		}
		if !w.Good && !errors.Is(err, token.ErrInvalid) {
			t.Errorf("Verify of a token that has ended = %v, want %v", err, token.ErrInvalid)
		}
	}
	if err := verifier.Close(); err != nil { // writes when they were last used
		t.Errorf("TouchTokens = %v", err)
	}
	changeTokens(t, store)
	changePlants(t, store, want.Plants)
}

// holdPlants fails unless the store has these plants and no other.
func holdPlants(t *testing.T, store store.Store, want []plant.Plant) {
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
		mustBe(t, store, w)
		if w.Tag == nil {
			continue
		}
		same, _, err := store.List(t.Context(), plant.Page{Tag: w.Tag, Limit: 100})
		if err != nil || !slices.ContainsFunc(same, w.Same) {
			t.Errorf("plant %d is not among those with its tag, %v", w.ID, err)
		}
	}
}

// changePlants repeats each create, and replaces, changes and deletes by the
// versions that the earlier release gave.
func changePlants(t *testing.T, store store.Store, plants []plant.Plant) {
	t.Helper()
	mustCreate(t, store, plant.Plant{ID: 123_456, Name: "new", Tag: new("new")})
	for i, p := range plants {
		mustCreate(t, store, p)
		if err := store.Create(t.Context(), plant.Plant{ID: p.ID, Name: "another"}); !errors.Is(err, plant.ErrExists) {
			t.Errorf("Create(another %d) = %v, want %v", p.ID, err, plant.ErrExists)
		}
		condition := plant.Precondition{IfMatch: is(p.ETag)}
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
					t.Errorf("Get(%d) once it is deleted = %v, want %v", p.ID, err, plant.ErrNotFound)
				}
				continue
			}
		}
		if err != nil {
			t.Errorf("a write to plant %d with its version = %v", p.ID, err)
			continue
		}
		if after.ETag == p.ETag || !after.CreatedAt.Equal(p.CreatedAt) {
			t.Errorf("plant %d has changed from %+v to %+v", p.ID, p, after)
		}
		mustBe(t, store, after)
	}
}

// changeTokens does with each token in force what `plantstore token` does.
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
			t.Errorf("it is not known when token %q was last used", tok.Name)
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
