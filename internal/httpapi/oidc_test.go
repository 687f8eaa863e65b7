package httpapi_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/oidc"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/oidctest"
	"github.com/plantstore/plantstore/internal/token"
)

// withIssuer accepts the tokens of a provider, beside those of the store and the static
// token.
func withIssuer(t testing.TB, p *oidctest.Provider, store token.Store, change func(*httpapi.Options)) option {
	t.Helper()
	issuer, err := oidc.New(oidc.Config{
		Issuer: oidctest.Issuer, Audience: oidctest.Audience, MaxLifetime: time.Hour,
		Log: slog.New(slog.DiscardHandler), Transport: p,
	})
	must.NoError(t, err)
	verifier := token.NewVerifier(store, staticToken)
	t.Cleanup(func() { expect.NoError(t, verifier.Close()) })
	verifier.Accept(issuer)
	return withOptions(func(o *httpapi.Options) {
		o.Tokens = verifier
		if change != nil {
			change(o)
		}
	})
}

// newES256 returns a key of a provider.
func newES256(t testing.TB, id string) oidctest.Key {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.NoError(t, err)
	return oidctest.Key{ID: id, Algorithm: jose.ES256, Private: private}
}

func TestTokenOfIdentityProvider(t *testing.T) {
	p, store, log := oidctest.New(t, newES256(t, "a")), openStore(t), &logged{}
	s := newService(t, withStore(store), withLog(log), withIssuer(t, p, store, func(o *httpapi.Options) { o.LogAll, o.RateLimit = true, httpapi.Rate{Limit: 4, Per: time.Hour} }))
	with := func(changes map[string]any) func(*http.Request) {
		return header("Authorization", "Bearer "+p.Token(oidctest.Claims(changes)))
	}
	s.post(`{"id":1,"name":"n"}`, with(nil)).wantStatus(t, http.StatusOK)
	s.call(http.MethodGet, "/plants/1", "", with(nil)).wantStatus(t, http.StatusOK)
	if got := log.lines(t)[0].Token; got != "robot" {
		t.Errorf("the token is logged as %q", got)
	}
	for scope, want := range map[string][2]int{"read": {200, 403}, "write": {403, 200}, "openid": {403, 403}} {
		by := with(map[string]any{"scope": scope, "client_id": "of " + scope})
		s.call(http.MethodGet, "/plants/1", "", by).wantStatus(t, want[0])
		s.post(`{"id":1,"name":"n"}`, by).wantStatus(t, want[1])
	}
	mine := s.call(http.MethodGet, "/plants/1", "", header("Authorization", "Bearer "+newToken(t, store, token.Write)))
	theirs := s.call(http.MethodGet, "/plants/1", "", with(map[string]any{"scope": "write", "client_id": nil}))
	mine.wantError(t, plantapi.CodeInsufficientScope)
	if alike(theirs) != alike(mine) {
		t.Errorf("a token without the scope gets %s, one of ours %s", alike(theirs), alike(mine))
	}
	// Tokens with the same client_id share a limit.
	for range 2 {
		s.call(http.MethodGet, "/plants/1", "", with(nil)).wantStatus(t, http.StatusOK)
	}
	s.call(http.MethodGet, "/plants/1", "", with(nil)).wantError(t, plantapi.CodeTooManyRequests)
	s.call(http.MethodGet, "/plants/1", "", with(map[string]any{"client_id": "other"})).wantStatus(t, http.StatusOK)
	// The others are accepted as before.
	s.call(http.MethodGet, "/plants/1", "").wantStatus(t, http.StatusOK)
	s.call(http.MethodGet, "/plants/1", "", header("Authorization", "Bearer "+newToken(t, store, token.Read))).wantStatus(t, http.StatusOK)
}

// alike is what must be equal in responses to bad credentials.
func alike(a response) string {
	h := a.Header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"} {
		h.Del(name)
	}
	return fmt.Sprint(a.Status, h, a.body)
}

// While the keys cannot be fetched, a token may be valid. Requests with such tokens are
// counted apart, whatever their operation: forged ones must not look like failures.
func TestIdentityProviderDown(t *testing.T) {
	p, store, log, registry := oidctest.New(t, newES256(t, "a")), openStore(t), &logged{}, prometheus.NewRegistry()
	s := newService(t, withStore(store), withLog(log), withIssuer(t, p, store, func(o *httpapi.Options) { o.Metrics, o.LogSlow = registry, time.Hour }))
	p.Stop(io.ErrUnexpectedEOF)
	a := s.post(`{"id":1,"name":"n"}`, header("Authorization", "Bearer "+p.Token(oidctest.Claims(nil))))
	if a.wantError(t, plantapi.CodeUnavailable); a.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", a.Header.Get("Retry-After"))
	}
	if l := log.lines(t); len(l) != 1 || !strings.Contains(l[0].Err, "identity provider") {
		t.Errorf("logged\n%s", log)
	}
	s.call(http.MethodGet, "/changes", "", header("Authorization", "Bearer "+p.Token(oidctest.Claims(nil)))).wantError(t, plantapi.CodeUnavailable)
	s.post(`{"id":1,"name":"n"}`).wantStatus(t, http.StatusOK)
	wantCounts(t, registry, map[string]float64{"unverified 503": 2, "createPlant 200": 1, "failure 50300": 2})
}

// Malformed and forged tokens get the response of a wrong token of ours, and the log has
// a reason for each.
func TestForgedTokens(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	must.NoError(t, err)
	good := oidctest.Key{ID: "rsa", Algorithm: jose.RS256, Private: private}
	ec, foreign := newES256(t, "ec"), newES256(t, "ec")
	p, store, log := oidctest.New(t, good, ec), openStore(t), &logged{}
	s := newService(t, withStore(store), withLog(log), withIssuer(t, p, store, func(o *httpapi.Options) { o.LogAll = true }))
	s.call(http.MethodGet, "/plants", "", header("Authorization", "Bearer "+p.Token(oidctest.Claims(nil)))).wantStatus(t, http.StatusOK)

	_, unknown := token.New("", nil, time.Hour)
	want := alike(s.call(http.MethodGet, "/plants", "", header("Authorization", "Bearer "+unknown)))
	forged := forgeries(t, good, ec, foreign)
	if len(forged) < 40 {
		t.Errorf("there are %d forged tokens, want at least 40", len(forged))
	}
	for _, name := range slices.Sorted(maps.Keys(forged)) {
		text := forged[name]
		a := s.call(http.MethodGet, "/plants", "", header("Authorization", "Bearer "+text))
		if got := alike(a); got != want {
			t.Errorf("%s: the response is\n%s, want\n%s", name, got, want)
		}
		lines := log.lines(t)
		l := lines[len(lines)-1]
		if reason, ok := strings.CutPrefix(l.Err, "credentials not valid: "); !ok || reason == "" ||
			l.Msg != "token refused" || l.Level != "WARN" || l.Error != 40101 || l.Token != "" || l.TraceID == "" ||
			len(l.Err) > 400 {
			t.Errorf("%s: logged %+v", name, l)
		} else {
			t.Logf("%s: %s", name, reason)
		}
	}
	if got := p.Fetches(); len(got) != 1 {
		t.Errorf("the keys were fetched %d times", len(got))
	}
}

// forgeries returns tokens that a provider with the keys good and ec has not issued for
// this service. The key foreign has the ID of ec.
func forgeries(t *testing.T, good, ec, foreign oidctest.Key) map[string]string {
	t.Helper()
	now := time.Now()
	after := func(d time.Duration) int64 { return now.Add(d).Unix() }
	encode := func(v any) string {
		text, err := json.Marshal(v)
		must.NoError(t, err)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	type header = map[string]any
	claims := encode(oidctest.Claims(nil))
	parts := strings.Split(good.Sign(t, oidctest.Claims(nil), nil), ".")
	signature := func(k oidctest.Key, h header) string {
		return encode(h) + "." + claims + "." + strings.Split(k.Sign(t, oidctest.Claims(nil), nil), ".")[2]
	}
	der, err := x509.MarshalPKIXPublicKey(good.Public())
	must.NoError(t, err)
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	hmac := func(a jose.SignatureAlgorithm, secret []byte) string {
		return oidctest.Key{ID: good.ID, Algorithm: a, Private: secret}.Sign(t, oidctest.Claims(nil), nil)
	}
	signed := func(changes map[string]any) string { return good.Sign(t, oidctest.Claims(changes), nil) }
	with := func(h map[jose.HeaderKey]any) string { return foreign.Sign(t, oidctest.Claims(nil), h) }
	anonymous := foreign
	anonymous.ID = ""
	other := oidctest.Key{ID: "rsa", Algorithm: jose.ES256, Private: foreign.Private}
	ps := good
	ps.ID, ps.Algorithm = "ec", jose.PS256
	return map[string]string{
		"no text":                            "",
		"a word":                             "garden",
		"dots":                               "..",
		"two parts":                          parts[0] + "." + parts[1],
		"four parts":                         strings.Join(parts, ".") + ".x",
		"five parts, as of encrypted tokens": "a.b.c.d.e",
		"not Base64":                         parts[0] + ".$$$." + parts[2],
		"padded Base64":                      parts[0] + "." + parts[1] + "." + parts[2] + "==",
		"the header is no JSON":              "bm9uZQ." + parts[1] + "." + parts[2],
		"the header is an array":             encode([]int{1}) + "." + parts[1] + "." + parts[2],
		"algorithm none":                     encode(header{"alg": "none"}) + "." + claims + ".",
		"algorithm None":                     encode(header{"alg": "None"}) + "." + claims + ".",
		"algorithm none, with a signature":   encode(header{"alg": "none", "kid": good.ID}) + "." + parts[1] + "." + parts[2],
		"no algorithm":                       encode(header{"kid": good.ID}) + "." + parts[1] + "." + parts[2],
		"an algorithm of another type":       encode(header{"alg": 256}) + "." + parts[1] + "." + parts[2],
		"an unknown algorithm":               encode(header{"alg": "RS1"}) + "." + parts[1] + "." + parts[2],
		"HS256 with the public key in PEM":   hmac(jose.HS256, public),
		"HS256 with the public key in DER":   hmac(jose.HS256, der),
		"HS512 with the public key in PEM":   hmac(jose.HS512, public),
		"no signature":                       parts[0] + "." + parts[1] + ".",
		"a signature that is cut":            strings.Join(parts, ".")[:len(strings.Join(parts, "."))-4],
		"the signature of another token":     signature(good, header{"alg": "RS256", "kid": good.ID}),
		"other claims":                       parts[0] + "." + encode(oidctest.Claims(map[string]any{"sub": "root"})) + "." + parts[2],
		"another algorithm in the header":    encode(header{"alg": "RS512", "kid": good.ID}) + "." + parts[1] + "." + parts[2],
		"a foreign key with a known ID":      foreign.Sign(t, oidctest.Claims(nil), nil),
		"a foreign key without an ID":        anonymous.Sign(t, oidctest.Claims(nil), nil),
		"a foreign key of another kind":      other.Sign(t, oidctest.Claims(nil), nil),
		"the ID of a key of another kind":    ps.Sign(t, oidctest.Claims(nil), nil),
		"an ID that is a path":               encode(header{"alg": "ES256", "kid": strings.Repeat("../", 90) + "dev/null"}) + "." + claims + "." + parts[2],
		"an ID that is SQL":                  encode(header{"alg": "RS256", "kid": "' UNION SELECT 'x"}) + ".e30." + parts[2],
		"an ID of another type":              encode(header{"alg": "ES256", "kid": 7}) + "." + claims + "." + parts[2],
		"a key in the header":                with(map[jose.HeaderKey]any{"jwk": jose.JSONWebKey{Key: foreign.Public()}}),
		"a URL of keys in the header":        with(map[jose.HeaderKey]any{"jku": "https://evil.example/keys"}),
		"a certificate URL in the header":    with(map[jose.HeaderKey]any{"x5u": "https://evil.example/cert"}),
		"a critical header":                  encode(header{"alg": "ES256", "kid": "ec", "crit": []string{"x"}, "x": 1}) + "." + claims + "." + parts[2],
		"as JSON":                            `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"another issuer":                     signed(map[string]any{"iss": "https://evil.example"}),
		"another audience":                   signed(map[string]any{"aud": "https://other.example"}),
		"no audience":                        signed(map[string]any{"aud": nil}),
		"expired":                            signed(map[string]any{"iat": after(-time.Hour), "exp": after(-2 * time.Minute)}),
		"from the future":                    signed(map[string]any{"iat": after(time.Hour), "exp": after(2 * time.Hour)}),
		"not valid yet":                      signed(map[string]any{"nbf": after(time.Hour)}),
		"valid for years":                    signed(map[string]any{"exp": after(10 * 365 * 24 * time.Hour)}),
		"without an end":                     signed(map[string]any{"exp": nil}),
		"an ID token":                        signed(map[string]any{"at_hash": "77QmUPtjPfzWtF2AnpK9RQ"}),
		"claims twice":                       good.Sign(t, []byte(`{"aud":"https://other.example","aud":"`+oidctest.Audience+`"}`), nil),
		"claims that are an array":           good.Sign(t, []byte(`[]`), nil),
		"claims that nest deeply":            good.Sign(t, []byte(strings.Repeat("[", 10000)), nil),
		"huge":                               signed(map[string]any{"x": strings.Repeat("x", 20000)}),
		"huge and empty":                     strings.Repeat(".", 25000),
	}
}

// A stream ends when the token of a provider has expired, with the leeway of a minute.
// TestStreamEndsWithinASecondOfToken tests how soon.
func TestStreamEndsWithTokenOfIdentityProvider(t *testing.T) {
	t.Parallel()
	p, store := oidctest.New(t, newES256(t, "a")), openStore(t)
	s := newService(t, withStore(store), withIssuer(t, p, store, nil))
	expires := time.Now().Add(-58 * time.Second).Truncate(time.Second)
	claims := oidctest.Claims(map[string]any{"iat": expires.Add(-5 * time.Minute).Unix(), "exp": expires.Unix()})
	f := s.follow("", header("Authorization", "Bearer "+p.Token(claims)))
	f.want("end 40101", "EOF")
	if early := time.Until(expires.Add(time.Minute)); early > 0 {
		t.Errorf("the stream ended %v before its token", early)
	}
}
