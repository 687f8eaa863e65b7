package system_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/oidctest"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// Each setting of an identity provider reaches the service.
func TestIdentityProviderSettings(t *testing.T) {
	t.Parallel()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.NoError(t, err)
	key := oidctest.Key{ID: "a", Algorithm: jose.ES256, Private: private}
	p := oidctest.New(t, key)
	p.Serve()
	atJWT := map[jose.HeaderKey]any{jose.HeaderType: "at+jwt"}
	token := func(header map[jose.HeaderKey]any, changes map[string]any) string {
		claims := oidctest.Claims(map[string]any{"iss": p.Issuer, "roles": "plants:read plants:write"})
		maps.Copy(claims, changes)
		return key.Sign(t, claims, header)
	}
	tokens := []string{
		token(atJWT, nil),
		token(nil, nil),
		token(atJWT, map[string]any{"roles": "read write"}),
		token(atJWT, map[string]any{"exp": time.Now().Add(90 * time.Minute).Unix()}),
		token(atJWT, map[string]any{"aud": "https://other.example"}),
		token(atJWT, map[string]any{"roles": nil, "scope": "plants:write"}),
	}
	for _, c := range []struct {
		args []string
		want [6]int
	}{
		{nil, [6]int{200, 200, 200, 401, 401, 403}},
		{[]string{"--oidc-scope-claim", "roles", "--oidc-scope-prefix", "plants:", "--oidc-require-at-jwt", "--oidc-max-lifetime", "2h"}, [6]int{200, 401, 403, 200, 401, 403}},
	} {
		r := program.Serve(t, "sqlite::memory:", append(c.args, "--oidc-issuer", p.Issuer, "--oidc-audience",
			oidctest.Audience)...)
		for i, text := range tokens {
			if got, _ := r.With(r.URL, text).Call(t, http.MethodPost, "/plants",
				`{"id":1,"name":"n"}`); got != c.want[i] {
				t.Errorf("with %q the token %d gets %d, want %d", c.args, i, got, c.want[i])
			}
		}
	}
}
