package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/oidctest"
	"github.com/plantstore/plantstore/internal/token"
)

// Each way to write has the name of the token, or of the person, at that time.
func TestNamesOfWriters(t *testing.T) {
	p, store := oidctest.New(t, oidctest.NewKey(t, "a")), openStore(t)
	s := newService(t, withStore(store), withIssuer(t, p, store, nil))
	stored, text := token.New("green laptop", []token.Scope{token.Read, token.Write}, time.Hour)
	must.NoError(t, store.CreateToken(t.Context(), stored))
	laptop := header("Authorization", "Bearer "+text)
	person := header("Authorization", "Bearer "+p.Token(oidctest.Claims(map[string]any{"sub": "ann", "client_id": "page"})))
	patch := header("Content-Type", "application/merge-patch+json")

	s.post(`{"id":1,"name":"n"}`, laptop).wantStatus(t, http.StatusOK)
	s.call(http.MethodPost, "/plants:batch", `{"plants":[{"id":2,"name":"n"}]}`, person).wantStatus(t, http.StatusOK)
	for path, want := range map[string]string{"/plants/1": "green laptop", "/plants/2": "ann"} {
		got := decode[plantapi.StoredPlant](t, s.call(http.MethodGet, path, "").body)
		if got.ChangedBy == nil || *got.ChangedBy != want {
			t.Errorf("%s is %+v, want the name %q", path, got, want)
		}
	}
	s.call(http.MethodPut, "/plants/1", `{"name":"put"}`, person).wantStatus(t, http.StatusOK)
	s.call(http.MethodPatch, "/plants/1", `{"name":"patched"}`, laptop, patch).wantStatus(t, http.StatusOK)
	s.call(http.MethodDelete, "/plants/1", "", person).wantStatus(t, http.StatusNoContent)
	history := s.call(http.MethodGet, "/plants/1/history", "")
	if engine() == "citus" {
		history.wantError(t, plantapi.CodeNoChanges)
		return
	}
	var got []string
	for _, entry := range decode[plantapi.History](t, history.body) {
		got = append(got, string(entry.Change)+" by "+*entry.ChangedBy+" what "+*entry.Plant.ChangedBy+" has stored")
	}
	const want = "deleted by ann what green laptop has stored, patched by green laptop what ann has stored, " +
		"replaced by ann what green laptop has stored"
	if have := strings.Join(got, ", "); have != want {
		t.Errorf("the history is %q, want %q", have, want)
	}
	if strings.Contains(history.body, text) {
		t.Error("the history has a token")
	}
}

// With NoNames no response has a name, also of what was written before.
func TestNoNames(t *testing.T) {
	store := openStore(t)
	named := newService(t, withStore(store))
	named.post(`{"id":1,"name":"n"}`).wantStatus(t, http.StatusOK)
	named.call(http.MethodPut, "/plants/1", `{"name":"put"}`).wantStatus(t, http.StatusOK)
	nameless := newService(t, withStore(store), withOptions(func(o *httpapi.Options) { o.NoNames = true }))
	paths := []string{"/plants/1", "/plants"}
	if engine() != "citus" {
		paths = append(paths, "/plants/1/history", "/changes")
	}
	for _, path := range paths {
		if body := named.call(http.MethodGet, path, "").body; !strings.Contains(body, `"changed_by":"static"`) {
			t.Errorf("%s has no name: %s", path, body)
		}
		if body := nameless.call(http.MethodGet, path, "").body; strings.Contains(body, "changed_by") {
			t.Errorf("%s has a name: %s", path, body)
		}
	}
}
