package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

// Members tests that each statement of a store keeps every member of a plant and of a token:
// those that the types have, so that a new member without a column fails. The store is empty.
func Members(t *testing.T, s store.Store) {
	t.Run("plant", func(t *testing.T) { plantMembers(t, s) })
	t.Run("token", func(t *testing.T) { tokenMembers(t, s) })
}

func plantMembers(t *testing.T, s store.Store) {
	created, many := filled[plant.Plant](1), filled[plant.Plant](2)
	must.NoError(t, s.Create(timeout(t), created))
	wantMembers(t, s, "Create", created)
	if at := mustGet(t, s, created.ID); at.CreatedAt != at.UpdatedAt || time.Since(at.CreatedAt) > time.Hour {
		t.Errorf("a new plant has CreatedAt %v and UpdatedAt %v, want now", at.CreatedAt, at.UpdatedAt)
	}

	batch := []plant.Plant{many}
	for id := range int64(100) { // engines store many plants in another way
		batch = append(batch, plant.Plant{ID: many.ID + id + 1})
	}
	_, err := s.CreateAll(timeout(t), batch)
	must.NoError(t, err)
	wantMembers(t, s, "CreateAll", many)

	replaced := filled[plant.Plant](3)
	replaced.ID = created.ID
	before := mustGet(t, s, created.ID)
	stored, _, err := s.Put(timeout(t), replaced, plant.Precondition{})
	must.NoError(t, err)
	if diff := cmp.Diff(stored, mustGet(t, s, created.ID)); diff != "" {
		t.Errorf("Get returns something else than Put (-Put +Get):\n%s", diff)
	}
	if !stored.CreatedAt.Equal(before.CreatedAt) || stored.UpdatedAt.Before(before.UpdatedAt) || stored.ETag == before.ETag {
		t.Errorf("Put of %v returns %v", before, stored)
	}
	wantMembers(t, s, "Put", replaced)

	patched := replaced // keeps what the write has read
	patched.Name, patched.ChangedBy = "patched", "patcher"
	patch := plant.Patch{Name: &patched.Name, ChangedBy: patched.ChangedBy}
	stored, err = s.Patch(timeout(t), created.ID, patch, plant.Precondition{})
	must.NoError(t, err)
	if !stored.CreatedAt.Equal(before.CreatedAt) {
		t.Errorf("Patch changes the time of creation from %v to %v", before.CreatedAt, stored.CreatedAt)
	}
	wantMembers(t, s, "Patch", patched)
}

// wantMembers fails unless each read of a store returns a plant as it was written.
func wantMembers(t *testing.T, s store.Store, write string, want plant.Plant) {
	t.Helper()
	got := map[string]plant.Plant{"Get": mustGet(t, s, want.ID)}
	after := want.ID - 1
	for read, page := range map[string]plant.Page{
		"List":            {Limit: 1, After: &after},
		"List with a tag": {Limit: 1, After: &after, Tag: want.Tag},
		"List by name":    {Limit: 1, ByName: &plant.ByName{Prefix: plant.NameKey(want.Name)}},
	} {
		plants, _, err := s.List(timeout(t), page)
		must.NoError(t, err)
		if len(plants) != 1 {
			t.Fatalf("%s after %s = %v, want one plant", read, write, plants)
		}
		got[read] = plants[0]
	}
	_, position, err := s.Changes(timeout(t), nil, 1)
	if !errors.Is(err, plant.ErrNoChanges) {
		must.NoError(t, err)
		got["the walk of Changes"] = lastChange(t, s, nil, want.ID)
		position.Walk, position.At = nil, 0
		got["Changes"] = lastChange(t, s, &position, want.ID)
	}
	for read, p := range got {
		if diff := cmp.Diff(want, p, cmpopts.IgnoreFields(plant.Plant{}, "ETag", "CreatedAt", "UpdatedAt")); diff != "" {
			t.Errorf("%s after %s (-want +got):\n%s", read, write, diff)
		}
		if diff := cmp.Diff(got["Get"], p); diff != "" {
			t.Errorf("%s after %s returns something else than Get (-Get +got):\n%s", read, write, diff)
		}
	}
}

// lastChange returns the state of a plant in the changes after a position.
func lastChange(t *testing.T, s store.Store, after *plant.Position, id int64) plant.Plant {
	t.Helper()
	changes, _, err := s.Changes(timeout(t), after, 1000)
	must.NoError(t, err)
	for _, change := range changes {
		if change.ID == id && change.Plant != nil {
			return *change.Plant
		}
	}
	t.Fatalf("the changes %v do not have plant %d", changes, id)
	return plant.Plant{}
}

func tokenMembers(t *testing.T, s store.Store) {
	created, changed := filled[token.Token](1), filled[token.Token](2)
	must.NoError(t, s.CreateToken(timeout(t), created))
	wantTokenMembers(t, s, "CreateToken", created)
	must.NoError(t, s.UpdateToken(timeout(t), created.ID, func(stored *token.Token) error {
		*stored = changed
		return nil
	}))
	changed.ID, changed.CreatedAt, changed.LastUsedAt = created.ID, created.CreatedAt, created.LastUsedAt
	wantTokenMembers(t, s, "UpdateToken", changed)
	none := token.Token{ID: "none", CreatedAt: time.UnixMicro(1).UTC(), SecretHash: created.SecretHash}
	must.NoError(t, s.CreateToken(timeout(t), none))
	wantTokenMembers(t, s, "CreateToken without optional members", none)
}

func wantTokenMembers(t *testing.T, s store.Store, write string, want token.Token) {
	t.Helper()
	got, err := s.Token(timeout(t), want.ID)
	must.NoError(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Token after %s (-want +got):\n%s", write, diff)
	}
	tokens, err := s.Tokens(timeout(t))
	must.NoError(t, err)
	for _, listed := range tokens {
		if listed.ID != want.ID {
			continue
		}
		if diff := cmp.Diff(want, listed); diff != "" {
			t.Errorf("Tokens after %s (-want +got):\n%s", write, diff)
		}
	}
}

// filled returns a struct whose members all have values that differ from each other and from
// those of another seed.
func filled[T any](seed int64) (result T) {
	members := reflect.ValueOf(&result).Elem()
	for i := range members.NumField() {
		member := members.Field(i)
		name := fmt.Sprint(members.Type().Field(i).Name, " ", seed)
		number := 1000*seed + int64(i)
		switch p := member.Addr().Interface().(type) {
		case *int64:
			*p = number
		case *string:
			*p = name
		case **string:
			*p = &name
		case *time.Time:
			*p = time.UnixMicro(number).UTC()
		case *[]token.Scope:
			*p = []token.Scope{token.Read, token.Scope(fmt.Sprint("scope", seed))}
		case *[sha256.Size]byte:
			*p = sha256.Sum256([]byte(name))
		default:
			panic("filled does not know the type of " + name)
		}
	}
	return result
}
