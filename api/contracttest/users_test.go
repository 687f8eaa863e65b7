package contracttest

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// open is what a service of notes lets users do with a note of another one.
type open struct {
	lists, reads, changes, deletes bool
	toAnyone                       bool // also without credentials
	summary                        bool // the list leaves out members
	ignores                        bool // a deletion that is not allowed succeeds, and does nothing
	blanks                         bool // a read that is not allowed succeeds, and shows nothing but the id
}

// owned keeps notes. The token of a user is its name, and root is an administrator.
func owned(open open) http.Handler {
	mux, kept, owners := http.NewServeMux(), newShelf(), map[any]string{}
	handle := func(pattern string, do func(r *http.Request, user string) (int, any, error)) {
		mux.Handle(pattern, kept.locked(func(r *http.Request) (int, any, error) {
			user := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			if !open.toAnyone && !slices.Contains([]string{"ann", "bob", "root"}, user) {
				return 0, nil, refused{http.StatusUnauthorized, "who are you?"}
			}
			return do(r, user)
		}))
	}
	isAllowed := func(isOpen bool, user string, note object) bool {
		return isOpen || open.toAnyone || user == "root" || owners[note["id"]] == user
	}
	onOne := func(method string, isOpen bool, do func(r *http.Request, note object) (int, any, error)) {
		handle(method+" /notes/{id}", func(r *http.Request, user string) (int, any, error) {
			note, err := kept.find(r)
			if err == nil && !isAllowed(isOpen, user, note) {
				if open.ignores && method == http.MethodDelete {
					return http.StatusNoContent, nil, nil
				}
				if open.blanks && method == http.MethodGet {
					return http.StatusOK, object{"id": note["id"], "text": "blank", "secret": 0}, nil
				}
				err = refused{http.StatusNotFound, "there is none"}
			}
			if err != nil {
				return 0, nil, err
			}
			return do(r, note)
		})
	}
	members := map[string]member{"text": {true, ofLength(1, 200)}}
	handle("GET /notes", func(_ *http.Request, user string) (int, any, error) {
		listed := []object{}
		for _, note := range kept.all() {
			item := note
			if open.summary {
				item = object{"id": note["id"], "text": note["text"]}
			}
			if isAllowed(open.lists, user, note) {
				listed = append(listed, item)
			}
		}
		return http.StatusOK, listed, nil
	})
	handle("POST /notes", func(r *http.Request, user string) (int, any, error) {
		sent, err := readObject(r, members)
		if err != nil {
			return 0, nil, err
		}
		note := kept.add(object{"text": sent["text"]})
		note["secret"] = 1_000_000 + note["id"].(int)*7
		owners[note["id"]] = user
		return http.StatusCreated, note, nil
	})
	onOne("GET", open.reads, func(_ *http.Request, note object) (int, any, error) { return http.StatusOK, note, nil })
	onOne("PUT", open.changes, func(r *http.Request, note object) (int, any, error) {
		sent, err := readObject(r, members)
		if err == nil {
			note["text"] = sent["text"]
		}
		return http.StatusOK, note, err
	})
	onOne("DELETE", open.deletes, func(_ *http.Request, note object) (int, any, error) {
		delete(kept.kept, note["id"].(int))
		return http.StatusNoContent, nil, nil
	})
	return framed(mux)
}

// With two users, what one gets at that the other has created is broken only where the service shows that it has an owner.
func TestUsers(t *testing.T) {
	t.Parallel()
	asks := func(verbs string) string {
		return "addNote: bob " + verbs + " what it has not created: Private or Shared of the options?"
	}
	everything := open{lists: true, reads: true, changes: true, deletes: true}
	for name, c := range map[string]struct {
		open            open
		owner, other    string
		private, shared []string
		broken          []string // operations
		want            string   // why something is not tested
	}{
		"private":                  {},
		"deletes nothing":          {open: open{ignores: true}},
		"reads nothing":            {open: open{blanks: true}},
		"reads":                    {open: open{reads: true}, broken: []string{"getNote"}},
		"changes":                  {open: open{changes: true, deletes: true}, broken: []string{"deleteNote", "putNote"}},
		"lists":                    {open: open{lists: true}, want: asks("lists")},
		"lists the ids":            {open: open{lists: true, summary: true}, want: asks("lists")},
		"shows a secret":           {open: open{lists: true, reads: true, summary: true}, broken: []string{"getNote"}, want: asks("lists, reads")},
		"only authors change":      {open: open{lists: true, reads: true}, want: asks("lists, reads")},
		"only authors delete":      {open: open{lists: true, reads: true, changes: true}, broken: []string{"putNote"}, want: asks("lists, reads, changes")},
		"catalogue":                {open: everything, want: asks("lists, reads, changes, deletes")},
		"catalogue, shared":        {open: everything, shared: []string{"addNote"}},
		"catalogue, private":       {open: everything, private: []string{"addNote"}, broken: []string{"deleteNote", "getNote", "listNotes", "putNote"}},
		"other is administrator":   {other: "root"},
		"owner is administrator":   {owner: "root"},
		"public":                   {open: open{toAnyone: true}},
		"other may not do a thing": {other: "eve", want: "addNote does not succeed for both users"},
	} {
		document, err := os.ReadFile("testdata/believed/owned.yaml")
		must.NoError(t, err)
		text := string(document)
		if c.open.toAnyone {
			text = strings.Replace(text, "security: [{bearer: []}]", "security: [{}, {bearer: []}]", 1)
		}
		for seed := uint64(1); seed <= 5; seed++ {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				t.Parallel()
				token := func(given, usual string) http.Header {
					if given == "" {
						given = usual
					}
					return http.Header{"authorization": {"Bearer " + given}} // a name in any case
				}
				options := Options{Seed: seed, Header: token(c.owner, "ann"), Other: User{Name: "bob", Header: token(c.other, "bob")}}
				options.Other.Private, options.Other.Shared = c.private, c.shared
				tests, err := New([]byte(text), options)
				must.NoError(t, err)
				report, err := tests.Run(t.Context(), Target{URL: "http://users.example", Transport: inProcess{owned(c.open)}})
				must.NoError(t, err)
				var want []string
				for _, operation := range c.broken {
					want = append(want, operation+": one user gets at what another one has created")
				}
				if causes := causeTexts(report.Causes); !slices.Equal(causes, want) {
					t.Errorf("the causes are %q, want %q", causes, want)
				}
				var whys []string
				for _, promise := range report.Promises {
					isNew := !slices.Contains(whys, promise.Why)
					if isNew && promise.IsNotTested() && strings.Contains(promise.Name, "users, kept") {
						whys = append(whys, promise.Why)
					}
				}
				if got := strings.Join(whys, "; "); got != c.want {
					t.Errorf("not tested is %q, want %q", got, c.want)
				}
			})
		}
	}
}

// A second user has the header of the options but for what is its own, and a user without credentials has what is of no user.
func TestHeadersOfUsers(t *testing.T) {
	t.Parallel()
	options := Options{
		Header: http.Header{"Authorization": {"Bearer ann"}, "X-Team": {"red"}, "X-Region": {"north"}},
		Other:  User{Name: "bob", Header: http.Header{"Authorization": {"Bearer bob"}, "X-Team": {"blue"}}},
	}
	tests, err := New([]byte(ownSecretDocument), options)
	must.NoError(t, err)
	users := tests.runners()
	if got, want := fmt.Sprint(users[scenario.Other].Header), "map[Authorization:[Bearer bob] X-Region:[north] X-Team:[blue]]"; got != want {
		t.Errorf("the header of the other user is %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(users[scenario.Anonymous].Header), "map[X-Region:[north]]"; got != want {
		t.Errorf("the header without credentials is %s, want %s", got, want)
	}
}
