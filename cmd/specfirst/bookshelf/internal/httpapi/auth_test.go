package httpapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/plantstore/plantstore/api/contract"
)

// A service starts without tokens if the document asks for none.
func TestNeedsCredentials(t *testing.T) {
	bearer := []contract.Scheme{{Name: "bearer"}}
	for _, test := range []struct {
		name     string
		security [][]contract.Scheme
		want     bool
	}{
		{"no security", nil, false},
		{"a token", [][]contract.Scheme{bearer}, true},
		{"a token or nothing", [][]contract.Scheme{bearer, {}}, false},
	} {
		if got := needsCredentials(&contract.Operation{Security: test.security}); got != test.want {
			t.Errorf("%s: needsCredentials returns %v", test.name, got)
		}
	}
}

// Tokens of the identity provider are accepted while they are for this service and in force.
func TestSignedTokens(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: private.Public(), KeyID: "one"}}})
	}))
	defer provider.Close()
	tokens := &Tokens{KeysURL: provider.URL, Issuer: "https://login.example.com", Audience: "books"}
	soon, past := jwt.NewNumericDate(time.Now().Add(time.Minute)), jwt.NewNumericDate(time.Now().Add(-time.Hour))
	for _, test := range []struct {
		name, keyID, issuer, audience string
		expiry                        *jwt.NumericDate
		want                          error
	}{
		{"right", "one", tokens.Issuer, "books", soon, nil},
		{"unknown key", "two", tokens.Issuer, "books", soon, errBadCredentials},
		{"another issuer", "one", "https://example.org", "books", soon, errBadCredentials},
		{"another audience", "one", tokens.Issuer, "another-service", soon, errBadCredentials},
		{"expired", "one", tokens.Issuer, "books", past, errBadCredentials},
		{"without end", "one", tokens.Issuer, "books", nil, errBadCredentials},
	} {
		key := jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: private, KeyID: test.keyID}}
		signer, err := jose.NewSigner(key, nil)
		if err != nil {
			t.Fatal(err)
		}
		claims := jwt.Claims{Issuer: test.issuer, Audience: jwt.Audience{test.audience}, Expiry: test.expiry}
		token, err := jwt.Signed(signer).Claims(claims).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		if err := tokens.verify(t.Context(), token); err != test.want {
			t.Errorf("%s: the error is %v, want %v", test.name, err, test.want)
		}
	}
}
