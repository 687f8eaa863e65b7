package oidc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"

	"github.com/plantstore/plantstore/internal/oidc"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/oidctest"
	"github.com/plantstore/plantstore/internal/token"
)

// newIssuer returns an Issuer for the tokens of a provider.
func newIssuer(t testing.TB, p *oidctest.Provider, changes ...func(*oidc.Config)) *oidc.Issuer {
	t.Helper()
	config := oidc.Config{
		Issuer: oidctest.Issuer, Audience: oidctest.Audience, MaxLifetime: time.Hour,
		Log: slog.New(slog.DiscardHandler), Transport: p,
	}
	for _, change := range changes {
		change(&config)
	}
	issuer, err := oidc.New(config)
	must.NoError(t, err)
	return issuer
}

var rsaKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// verify verifies a token before a deadline.
func verify(t testing.TB, issuer *oidc.Issuer, text string) (token.Token, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return issuer.Verify(ctx, text)
}

// wantAccepted fails unless a token is accepted.
func wantAccepted(t testing.TB, issuer *oidc.Issuer, text, when string) {
	t.Helper()
	if _, err := verify(t, issuer, text); err != nil {
		t.Errorf("%s: %v", when, err)
	}
}

// wantRefused fails unless a token is refused for a reason that contains the words.
func wantRefused(t testing.TB, issuer *oidc.Issuer, text, words string) {
	t.Helper()
	_, err := verify(t, issuer, text)
	refused, ok := errors.AsType[*token.RefusedError](err)
	if !ok || !errors.Is(err, token.ErrInvalid) || len(refused.Reason) > 400 ||
		!utf8.ValidString(refused.Reason) || !strings.Contains(refused.Reason, words) {
		t.Errorf("the error is %v, want a refusal with %q", err, words)
	}
}

func TestAlgorithms(t *testing.T) {
	private, err := rsaKey()
	must.NoError(t, err)
	var keys []oidctest.Key
	for _, a := range []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	} {
		keys = append(keys, oidctest.Key{ID: string(a), Algorithm: a, Private: private})
	}
	for a, curve := range map[jose.SignatureAlgorithm]elliptic.Curve{
		jose.ES256: elliptic.P256(), jose.ES384: elliptic.P384(), jose.ES512: elliptic.P521(),
	} {
		private, err := ecdsa.GenerateKey(curve, rand.Reader)
		must.NoError(t, err)
		keys = append(keys, oidctest.Key{ID: string(a), Algorithm: a, Private: private})
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	must.NoError(t, err)
	keys = append(keys, oidctest.Key{ID: "EdDSA", Algorithm: jose.EdDSA, Private: edwards})
	p := oidctest.New(t, keys...)
	issuer := newIssuer(t, p)
	for _, key := range keys {
		wantAccepted(t, issuer, key.Sign(t, oidctest.Claims(nil), nil), string(key.Algorithm))
		// A token without a key ID may be of any key.
		key.ID = ""
		wantAccepted(t, issuer, key.Sign(t, oidctest.Claims(nil), nil), string(key.Algorithm)+" without a key ID")
	}
	if got := len(p.Fetches()); got != 1 {
		t.Errorf("the keys were fetched %d times", got)
	}
}

func TestAcceptedClaims(t *testing.T) {
	now := time.Now()
	after := func(d time.Duration) int64 { return now.Add(d).Unix() }
	p := oidctest.New(t, oidctest.NewKey(t, "a"))
	issuer := newIssuer(t, p)
	type claims = map[string]any
	for name, claims := range map[string]claims{
		"all of RFC 9068":                 nil,
		"several audiences":               {"aud": []string{"a", oidctest.Audience}},
		"expired within the leeway":       {"iat": after(-300 * time.Second), "exp": after(-50 * time.Second)},
		"not before, within the leeway":   {"nbf": after(50 * time.Second)},
		"issued later, within the leeway": {"iat": after(50 * time.Second)},
		"fractions of seconds":            {"iat": float64(after(0)) + 0.5, "exp": float64(after(time.Minute)) + 0.25},
		"the longest lifetime":            {"iat": after(0), "exp": after(time.Hour)},
	} {
		if got, err := verify(t, issuer, p.Token(oidctest.Claims(claims))); err != nil || got.ID != "robot" {
			t.Errorf("%s: the token is %+v, %v", name, got, err)
		}
	}
	got, err := verify(t, issuer, p.Token(oidctest.Claims(claims{"client_id": nil})))
	if err != nil || got.ID != "someone" {
		t.Errorf("without client_id the token is %+v, %v", got, err)
	}
	patient := newIssuer(t, p, func(c *oidc.Config) { c.MaxLifetime = 24 * time.Hour })
	wantAccepted(t, patient, p.Token(oidctest.Claims(claims{"exp": after(23 * time.Hour)})), "a longer lifetime, as it is allowed")
}

// The scopes of a token are those of the first claim that it has, or of the one that is set.
func TestScopes(t *testing.T) {
	p := oidctest.New(t, oidctest.NewKey(t, "a"))
	for _, c := range []struct {
		claim, prefix string // of the settings
		claims        map[string]any
		want          string
	}{
		{"", "", nil, "read write"},
		{"", "", map[string]any{"scope": "openid read reads plants:write Write"}, "read"},
		{"", "", map[string]any{"scope": nil, "scp": []string{"write"}}, "write"},
		{"", "", map[string]any{"scope": nil, "scp": "write  read write"}, "write read"},
		{"", "", map[string]any{"scope": nil, "permissions": []string{"read"}}, "read"},
		{"", "", map[string]any{"scope": "openid", "scp": "read", "permissions": []string{"read"}}, ""},
		{"", "", map[string]any{"scope": "openid\tread write\u00a0 write\n"}, ""},
		{"", "", map[string]any{"scope": nil}, ""},
		{"", "", map[string]any{"scope": 7, "scp": "read"}, ""},
		{"roles", "", map[string]any{"roles": []any{"read", 7, nil}}, "read"},
		{"", "plants:", map[string]any{"scope": "plants:write read"}, "write"},
	} {
		issuer := newIssuer(t, p, func(config *oidc.Config) { config.ScopeClaim, config.ScopePrefix = c.claim, c.prefix })
		got, err := verify(t, issuer, p.Token(oidctest.Claims(c.claims)))
		if scopes := token.JoinScopes(got.Scopes, " "); err != nil || scopes != c.want {
			t.Errorf("%v with the claim %q and the prefix %q has the scopes %q, %v, want %q", c.claims, c.claim, c.prefix, scopes, err, c.want)
		}
	}
}

func TestRefusedClaims(t *testing.T) {
	now := time.Now()
	after := func(d time.Duration) int64 { return now.Add(d).Unix() }
	p := oidctest.New(t, oidctest.NewKey(t, "a"))
	issuer := newIssuer(t, p)
	for name, c := range map[string]struct {
		claims map[string]any
		words  string
	}{
		"no time":              {map[string]any{"exp": nil}, "iat or exp"},
		"a text as time":       {map[string]any{"exp": "2030"}, "iat or exp"},
		"a huge time":          {map[string]any{"exp": 1e300}, "iat or exp"},
		"a time before time":   {map[string]any{"iat": -1}, "iat or exp"},
		"no time of issue":     {map[string]any{"iat": nil}, "iat or exp"},
		"expired":              {map[string]any{"iat": after(-300 * time.Second), "exp": after(-61 * time.Second)}, "expired"},
		"issued in the future": {map[string]any{"iat": after(70 * time.Second)}, "future"},
		"not valid yet":        {map[string]any{"nbf": after(70 * time.Second)}, "not valid yet"},
		"nbf is a text":        {map[string]any{"nbf": "now"}, "not valid yet"},
		"nbf is null":          {map[string]any{"nbf": jsonNull{}}, "not valid yet"},
		"too long":             {map[string]any{"iat": after(0), "exp": after(3601 * time.Second)}, "--oidc-max-lifetime"},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, issuer, p.Token(oidctest.Claims(c.claims)), c.words)
		})
	}
	for _, payload := range []string{"", "null", "7", "[]", "{", `{"iss":"a","iss":"b"}`, "{}{}", "{\"\xff\":1}", strings.Repeat("[", 10000)} {
		wantRefused(t, issuer, p.Token([]byte(payload)), "")
	}
	wantRefused(t, issuer, p.Token(oidctest.Claims(map[string]any{"x": strings.Repeat("x", 20000)})), "longer than")
	if got := p.Fetches(); len(got) != 0 {
		t.Errorf("tokens with wrong claims led to %d fetches", len(got))
	}
}

// A reason that is longer than 300 bytes is cut off there, and says so.
func TestLongReason(t *testing.T) {
	p := oidctest.New(t, oidctest.NewKey(t, "a"))
	issuer := newIssuer(t, p)
	const frame = `the issuer is "", not "` + oidctest.Issuer + `"`
	for _, length := range []int{300, 301} {
		sent := strings.Repeat("x", length-len(frame))
		want := strings.Replace(frame, `""`, `"`+sent+`"`, 1)
		if length > 300 {
			want = want[:300] + "…"
		}
		_, err := verify(t, issuer, p.Token(oidctest.Claims(map[string]any{"iss": sent})))
		if refused, ok := errors.AsType[*token.RefusedError](err); !ok || refused.Reason != want {
			t.Errorf("the error is %v, want the reason %q", err, want)
		}
	}
}

// jsonNull is null in JSON; a nil value removes a claim.
type jsonNull struct{}

func (jsonNull) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// A token with crit is refused. An empty list is not allowed (RFC 7515, section
// 4.1.11), and no extension is supported.
func TestCrit(t *testing.T) {
	key := oidctest.NewKey(t, "a")
	issuer := newIssuer(t, oidctest.New(t, key))
	for _, crit := range []any{[]string{}, []string{"exp"}, []string{"b64"}, "exp", 7, false} {
		wantRefused(t, issuer, key.Sign(t, oidctest.Claims(nil), map[jose.HeaderKey]any{"crit": crit}), "crit")
	}
}

// A token that was accepted needs no key any more, until it expires.
func TestCachedTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := oidctest.New(t, oidctest.NewKey(t, "a"))
		issuer := newIssuer(t, p)
		text := p.Token(oidctest.Claims(nil))
		got, err := verify(t, issuer, text)
		if want := time.Now().Add(6 * time.Minute); err != nil || !got.ExpiresAt.Equal(want) { // streams end then
			t.Errorf("the token ends at %v, %v, want %v", got.ExpiresAt, err, want)
		}
		p.Rotate(oidctest.NewKey(t, "b"))
		time.Sleep(10 * time.Second)
		wantAccepted(t, issuer, p.Token(oidctest.Claims(nil)), "a good token")
		time.Sleep(6*time.Minute - 11*time.Second)
		wantAccepted(t, issuer, text, "a second before its end")
		time.Sleep(time.Second)
		wantRefused(t, issuer, text, "expired")
	})
}

func TestNew(t *testing.T) {
	for name, change := range map[string]func(*oidc.Config){
		"no audience": func(c *oidc.Config) { c.Audience = "" },
		"no lifetime": func(c *oidc.Config) { c.MaxLifetime = 0 },
	} {
		config := oidc.Config{Issuer: oidctest.Issuer, Audience: "a", MaxLifetime: time.Hour}
		change(&config)
		if _, err := oidc.New(config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	const (
		good = "https://a https://a/b/ https://a:8443/realms/x http://127.0.0.1:8080/ http://localhost http://[::1]:80"
		bad  = "a http://a http://localhost.evil https:// https://u:p@a https://a?b https://a#b ftp://a HTTPS//a"
	)
	wantRefused := func(issuer string, want bool) {
		_, err := oidc.New(oidc.Config{Issuer: issuer, Audience: "a", MaxLifetime: time.Hour})
		if (err != nil) != want {
			t.Errorf("New with the issuer %q returns %v", issuer, err)
		}
	}
	for _, issuer := range strings.Fields(good) {
		wantRefused(issuer, false)
	}
	for _, issuer := range append(strings.Fields(bad), "") {
		wantRefused(issuer, true)
	}
}

// The name of a person is in the claim that the operator chooses. Without it the token still has a name.
func TestNameOfPerson(t *testing.T) {
	p := oidctest.New(t, oidctest.NewKey(t, "a"))
	person := map[string]any{"sub": "7", "email": "ann@example.com", "preferred_username": "Ann", "client_id": "page"}
	without := map[string]any{"sub": "7", "email": nil, "client_id": "page"}
	robot := map[string]any{"sub": nil, "client_id": "robot"}
	for claim, wants := range map[string][3]string{
		"sub":                {"7", "7", "robot"},
		"email":              {"ann@example.com", "7", "robot"},
		"preferred_username": {"Ann", "7", "robot"},
	} {
		issuer := newIssuer(t, p, func(c *oidc.Config) { c.NameClaim = claim })
		for i, claims := range []map[string]any{person, without, robot} {
			got, err := verify(t, issuer, p.Token(oidctest.Claims(claims)))
			if err != nil || got.Name != wants[i] {
				t.Errorf("with --oidc-name-claim %s a token with %v has the name %q, %v, want %q", claim, claims, got.Name, err, wants[i])
			}
		}
	}
}
