package httpapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

// A token can be asked what it allows, and until when.
func TestGetToken(t *testing.T) {
	s := newService(t, withOptions(readOnly))
	stored, text := token.New("laptop", []token.Scope{token.Read}, time.Hour)
	must.NoError(t, s.store.CreateToken(t.Context(), stored))
	got := decode[plantapi.Token](t, s.call(http.MethodGet, "/token", "", header("Authorization", "Bearer "+text)).body)
	expires := stored.ExpiresAt.UTC().Truncate(time.Microsecond)
	want := plantapi.Token{Name: "laptop", Scopes: []string{"read"}, ExpiresAt: &expires, ReadOnly: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a token that expires (-want +got):\n%s", diff)
	}
	got = decode[plantapi.Token](t, s.call(http.MethodGet, "/token", "").body)
	if got.ExpiresAt != nil || len(got.Scopes) != 2 {
		t.Errorf("the token of the operator = %+v, want both scopes for ever", got)
	}
}
