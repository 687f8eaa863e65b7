package oidc_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-jose/go-jose/v4"

	"github.com/plantstore/plantstore/internal/oidc"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/oidctest"
)

// The tests below go through the best practices for JSON Web Tokens, RFC 8725, section by
// section: TestSection3_1 to TestSection3_12. Nothing is decrypted or decompressed (3.6): TestSection3_2.

// section is a provider with a key for ES256 and one for RS256, and the issuer of its tokens.
type section struct {
	*testing.T
	es, rs   oidctest.Key
	provider *oidctest.Provider
	issuer   *oidc.Issuer
}

func newSection(t *testing.T) section {
	private, err := rsaKey()
	must.NoError(t, err)
	s := section{T: t, es: oidctest.NewKey(t, "es"), rs: oidctest.Key{ID: "rs", Algorithm: jose.RS256, Private: private}}
	s.provider = oidctest.New(t, s.es, s.rs)
	s.issuer = newIssuer(t, s.provider)
	for _, key := range []oidctest.Key{s.es, s.rs} {
		wantAccepted(t, s.issuer, key.Sign(t, oidctest.Claims(nil), nil), "a good token")
	}
	return s
}

func (s section) refuses(text, words string) {
	s.Helper()
	wantRefused(s.T, s.issuer, text, words)
}

// refusesClaims fails unless a token with changed claims is refused.
func (s section) refusesClaims(changes map[string]any, words string) {
	s.Helper()
	s.refuses(s.es.Sign(s, oidctest.Claims(changes), nil), words)
}

// claims are those of a valid token, as JSON.
func claims(t testing.TB) []byte {
	text, err := json.Marshal(oidctest.Claims(nil))
	must.NoError(t, err)
	return text
}

func encode(part []byte) string { return base64.RawURLEncoding.EncodeToString(part) }

// signed returns a token with any header and payload, and the signature of its key for ES256.
func signed(t testing.TB, key oidctest.Key, header, payload []byte) string {
	t.Helper()
	text := encode(header) + "." + encode(payload)
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key.Private.(*ecdsa.PrivateKey), digest[:])
	must.NoError(t, err)
	return text + "." + encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

// Perform algorithm verification: the algorithm of a token is the one of its key.
func TestSection3_1(t *testing.T) {
	s := newSection(t)
	for _, algorithm := range []jose.SignatureAlgorithm{jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512} {
		other := s.rs
		other.Algorithm = algorithm
		for _, other.ID = range []string{"rs", ""} {
			s.refuses(other.Sign(t, oidctest.Claims(nil), nil), "algorithm")
		}
	}
	// A key without an algorithm: RSA is any of RS and PS.
	s.provider.Rotate(oidctest.Key{ID: "es", Private: s.es.Private}, oidctest.Key{ID: "rs", Private: s.rs.Private})
	s.issuer = newIssuer(t, s.provider)
	for _, algorithm := range []jose.SignatureAlgorithm{jose.RS256, jose.PS512} {
		key := oidctest.Key{ID: "rs", Algorithm: algorithm, Private: s.rs.Private}
		wantAccepted(t, s.issuer, key.Sign(t, oidctest.Claims(nil), nil), string(algorithm))
	}
}

// Use appropriate algorithms: an asymmetric signature, so that no public key is taken for a secret, and no
// encryption.
func TestSection3_2(t *testing.T) {
	s := newSection(t)
	for _, algorithm := range []string{
		"none", "None", "", "HS256", "HS384", "HS512", "RS1", "rs256", "Ed25519", "ES256K", "RSA-OAEP", "dir", "PBES2-HS256+A128KW",
	} {
		token := encode(fmt.Appendf(nil, `{"alg":%q,"kid":"rs"}`, algorithm)) + "." + encode(claims(t)) + "."
		for _, rest := range []string{"", encode(make([]byte, 64)), "AA.AA.AA"} {
			s.refuses(token+rest, "not a signed JWT")
		}
	}
	for _, header := range []string{"none", "[1]", `{"kid":"es"}`, `{"alg":256,"kid":"es"}`} {
		s.refuses(signed(t, s.es, []byte(header), claims(t)), "not a signed JWT")
	}
	s.refuses(signed(t, s.es, []byte(`{"alg":"ES256","kid":7}`), claims(t)), "")
}

// Validate all cryptographic operations: every bit of a token counts, and has one spelling.
func TestSection3_3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a token with another key ID waits for a fetch
		s := newSection(t)
		for _, key := range []oidctest.Key{s.es, s.rs} {
			testSpellings(s, key)
		}
		// The other forms of a JWS, and several signatures.
		parts := strings.Split(s.es.Sign(t, oidctest.Claims(nil), nil), ".")
		one := fmt.Sprintf(`"protected":%q,"signature":%q`, parts[0], parts[2])
		s.refuses(fmt.Sprintf(`{"payload":%q,%s}`, parts[1], one), "not a signed JWT")
		s.refuses(fmt.Sprintf(`{"payload":%q,"signatures":[{%s},{%s}]}`, parts[1], one, one), "not a signed JWT")
	})
}

func testSpellings(s section, key oidctest.Key) {
	good := key.Sign(s, oidctest.Claims(nil), nil)
	parts := strings.Split(good, ".")
	for i, part := range parts {
		refuses := func(spelling string) {
			changed := slices.Clone(parts)
			changed[i] = spelling
			s.refuses(strings.Join(changed, "."), "")
		}
		bytes, err := base64.RawURLEncoding.DecodeString(part)
		must.NoError(s, err)
		for at := range bytes {
			bytes[at] ^= 1 << (at % 8)
			refuses(encode(bytes))
			bytes[at] ^= 1 << (at % 8)
		}
		for _, spelling := range []string{
			"", part + "=", part + "==", part + "\n", part[:4] + "\r" + part[4:], part + " ", part + "A", "+/" + part[2:],
		} {
			refuses(spelling)
		}
		if s.Failed() {
			s.Fatalf("%s: part %d", key.Algorithm, i)
		}
	}
	for _, text := range []string{good + ".", "." + good, parts[0] + "." + parts[1]} {
		s.refuses(text, "")
	}
	// The bits behind the last byte: a signature of 64 or 256 bytes has four of them.
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, good[len(good)-1])
	for bits := 1; bits < 16; bits++ {
		s.refuses(good[:len(good)-1]+alphabet[last|bits:last|bits+1], "base64url")
	}
}

// Validate cryptographic inputs: a signature has no zeros. TestOtherKeys has a key that is no point of its curve.
func TestSection3_4(t *testing.T) {
	s := newSection(t)
	text := encode([]byte(`{"alg":"ES256","kid":"es"}`)) + "." + encode(claims(t)) + "."
	for _, signature := range [][]byte{nil, make([]byte, 63), make([]byte, 64), make([]byte, 65), bytes.Repeat([]byte{0xff}, 64)} {
		s.refuses(text+encode(signature), "")
	}
}

// Ensure cryptographic keys have sufficient entropy: RSA has 2,048 bits. TestOtherKeys has a secret.
func TestSection3_5(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2047)
	must.NoError(t, err)
	key := oidctest.Key{ID: "rs", Algorithm: jose.RS256, Private: private}
	issuer := newIssuer(t, oidctest.New(t, key, oidctest.NewKey(t, "other")))
	wantRefused(t, issuer, key.Sign(t, oidctest.Claims(nil), nil), "no key")
}

// Use UTF-8, without a byte order mark, and each name once. TestRefusedClaims has claims that are neither.
func TestSection3_7(t *testing.T) {
	s := newSection(t)
	const header = `{"alg":"ES256","kid":"es"}`
	wantAccepted(t, s.issuer, signed(t, s.es, []byte(header), claims(t)), "a good token")
	for _, other := range []string{
		"\xef\xbb\xbf" + header, `{"alg":"ES256","kid":"es","kid":"es"}`, `{"alg":"none","alg":"ES256","kid":"es"}`,
	} {
		s.refuses(signed(t, s.es, []byte(other), claims(t)), "")
	}
	s.refuses(signed(t, s.es, []byte(header), append([]byte("\xef\xbb\xbf"), claims(t)...)), "")
}

// Validate issuer and subject: the keys are those of the issuer, and a token names a client.
func TestSection3_8(t *testing.T) {
	s := newSection(t)
	for _, issuer := range []any{
		nil, "", strings.Repeat("€", 1000), oidctest.Issuer + "/", strings.ToUpper(oidctest.Issuer), []string{oidctest.Issuer},
	} {
		s.refusesClaims(map[string]any{"iss": issuer, "ISS": oidctest.Issuer}, "issuer")
	}
	for _, subject := range []any{nil, "", 7, []string{"robot"}, strings.Repeat("x", 257)} {
		s.refusesClaims(map[string]any{"client_id": nil, "sub": subject}, "sub")
	}
	otherKey := oidctest.NewKey(t, "es") // a key of another issuer
	for _, otherKey.ID = range []string{"es", "rs", ""} {
		s.refuses(otherKey.Sign(t, oidctest.Claims(nil), nil), "signature")
	}
}

// Use and validate audience.
func TestSection3_9(t *testing.T) {
	s := newSection(t)
	for _, audience := range []any{
		nil, "", oidctest.Audience + "/", strings.ToUpper(oidctest.Audience),
		[]string{},
		[]string{"https://other.example"},
		map[string]bool{oidctest.Audience: true},
	} {
		s.refusesClaims(map[string]any{"aud": audience, "Aud": oidctest.Audience}, "audience")
	}
}

// Do not trust received claims: the header of a token leads to no file, no request and no key.
func TestSection3_10(t *testing.T) {
	s := newSection(t)
	before := s.provider.Requests()
	attacker := oidctest.NewKey(t, "es")
	public := jose.JSONWebKey{Key: attacker.Public(), KeyID: "es", Algorithm: "ES256", Use: "sig"}
	for name, value := range map[jose.HeaderKey]any{
		"jwk": public, "jku": "https://evil.example/keys", "x5u": "https://evil.example/chain", "x5c": []string{"AAAA"},
	} {
		s.refuses(attacker.Sign(t, oidctest.Claims(nil), map[jose.HeaderKey]any{name: value}), "")
	}
	if got := s.provider.Requests(); got != before {
		t.Errorf("the provider got %d requests", got-before)
	}
}

// The key ID is only compared.
func TestSection3_10KeyID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a token with an unknown key ID waits for a fetch
		s := newSection(t)
		key := s.es
		for _, key.ID = range []string{"../../../../dev/null", "es' OR '1'='1", "es\x00", "ES", "https://evil.example", " es"} {
			s.refuses(key.Sign(t, oidctest.Claims(nil), nil), "no key")
		}
	})
}

// Use explicit typing: a token that says that it is of another kind is refused, and one that does not say it can be.
func TestSection3_11(t *testing.T) {
	s := newSection(t)
	strict := newIssuer(t, s.provider, func(c *oidc.Config) { c.RequireATJWT = true })
	with := func(typ any) string {
		return s.es.Sign(t, oidctest.Claims(nil), map[jose.HeaderKey]any{jose.HeaderType: typ})
	}
	for _, typ := range []string{"at+jwt", "AT+JWT", "application/at+jwt"} {
		wantAccepted(t, s.issuer, with(typ), typ)
		wantAccepted(t, strict, with(typ), typ)
	}
	for _, typ := range []string{"JWT", "jwt", "application/jwt", ""} {
		wantAccepted(t, s.issuer, with(typ), typ)
		wantRefused(t, strict, with(typ), "at+jwt")
	}
	wantRefused(t, strict, s.es.Sign(t, oidctest.Claims(nil), nil), "at+jwt")
	for _, typ := range []any{"logout+jwt", "dpop+jwt", "id_token+jwt", "JOSE", 7} {
		s.refuses(with(typ), "type")
	}
}

// Use mutually exclusive validation rules for different kinds of JWTs: ID tokens and logout
// tokens of the same provider, with the same keys, give no access.
func TestSection3_12(t *testing.T) {
	s := newSection(t)
	s.refusesClaims(map[string]any{"at_hash": "x", "nonce": "n"}, "ID token")
	s.refusesClaims(map[string]any{"aud": "robot", "nonce": "n"}, "audience")
	got, err := verify(t, s.issuer, s.es.Sign(t, oidctest.Claims(map[string]any{"scope": nil}), nil))
	if err != nil || len(got.Scopes) != 0 {
		t.Errorf("a token without scopes has %v, %v", got.Scopes, err)
	}
}
