package httpapi_test

import (
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
	resp, err := s.clientWith(text).GetTokenWithResponse(t.Context())
	must.NoError(t, err)
	want := &plantapi.Token{Name: "laptop", Scopes: []string{"read"}, ExpiresAt: new(stored.ExpiresAt.UTC().Truncate(time.Microsecond)), ReadOnly: true}
	if diff := cmp.Diff(want, resp.JSON200); diff != "" {
		t.Errorf("a token that expires (-want +got):\n%s", diff)
	}
	resp, err = s.client.GetTokenWithResponse(t.Context())
	must.NoError(t, err)
	if got := resp.JSON200; got == nil || got.ExpiresAt != nil || len(got.Scopes) != 2 {
		t.Errorf("the token of the operator = %+v, want both scopes for ever", got)
	}
}
