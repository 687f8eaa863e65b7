package oidc_test

import (
	"bytes"
	"compress/flate"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-jose/go-jose/v4"

	"github.com/plantstore/plantstore/internal/oidc"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/oidctest"
)

// The tests below go through the best practices for JSON Web Tokens, RFC 8725, section by
// section: TestSection3_1 to TestSection3_12.

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
	s := section{T: t, es: newKey(t, "es"), rs: oidctest.Key{ID: "rs", Algorithm: jose.RS256, Private: private}}
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
	// The public key as the secret of an HMAC.
	der, err := x509.MarshalPKIXPublicKey(s.rs.Public())
	must.NoError(t, err)
	for _, secret := range [][]byte{der, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})} {
		text := encode([]byte(`{"alg":"HS256","kid":"rs"}`)) + "." + encode(claims(t))
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(text))
		s.refuses(text+"."+encode(mac.Sum(nil)), `algorithm "HS256"`)
	}
	// A key without an algorithm: RSA is any of RS and PS.
	s.provider.Rotate(oidctest.Key{ID: "es", Private: s.es.Private}, oidctest.Key{ID: "rs", Private: s.rs.Private})
	s.issuer = newIssuer(t, s.provider)
	for _, algorithm := range []jose.SignatureAlgorithm{jose.RS256, jose.PS512} {
		key := oidctest.Key{ID: "rs", Algorithm: algorithm, Private: s.rs.Private}
		wantAccepted(t, s.issuer, key.Sign(t, oidctest.Claims(nil), nil), string(algorithm))
	}
}

// Use appropriate algorithms: an asymmetric signature, and no encryption.
func TestSection3_2(t *testing.T) {
	s := newSection(t)
	for _, algorithm := range []string{
		"none", "None", "NONE", "", "HS256", "HS384", "HS512", "RS1", "rs256", "Ed25519", "ES256K", "RSA1_5", "RSA-OAEP", "dir", "A128KW", "PBES2-HS256+A128KW",
	} {
		header := encode(fmt.Appendf(nil, `{"alg":%q,"kid":"rs"}`, algorithm))
		s.refuses(header+"."+encode(claims(t))+".", "not a signed JWT")
		s.refuses(header+"."+encode(claims(t))+"."+encode(make([]byte, 64)), "not a signed JWT")
	}
	for _, header := range []string{"none", "[1]", `{"kid":"es"}`, `{"alg":256,"kid":"es"}`} {
		s.refuses(signed(t, s.es, []byte(header), claims(t)), "not a signed JWT")
	}
	s.refuses(signed(t, s.es, []byte(`{"alg":"ES256","kid":7}`), claims(t)), "")
}

// Validate all cryptographic operations: every bit of a token counts, and has one spelling.
func TestSection3_3(t *testing.T) {
	synctest.Test(t, testSpellings) // a token with another key ID waits for a fetch
}

func testSpellings(t *testing.T) {
	s := newSection(t)
	for _, key := range []oidctest.Key{s.es, s.rs} {
		good := key.Sign(t, oidctest.Claims(nil), nil)
		parts := strings.Split(good, ".")
		for i, part := range parts {
			bytes, err := base64.RawURLEncoding.DecodeString(part)
			must.NoError(t, err)
			for at := range bytes {
				bytes[at] ^= 1 << (at % 8)
				changed := append([]string(nil), parts...)
				changed[i] = encode(bytes)
				s.refuses(strings.Join(changed, "."), "")
				bytes[at] ^= 1 << (at % 8)
			}
			for name, spelling := range map[string]string{
				"padding": part + "=", "padding of two": part + "==", "a line break": part + "\n", "CR": part[:4] + "\r" + part[4:],
				"a space": part + " ", "a character more": part + "A", "the other alphabet": "+/" + part[2:],
			} {
				changed := append([]string(nil), parts...)
				changed[i] = spelling
				s.refuses(strings.Join(changed, "."), "")
				if t.Failed() {
					t.Fatalf("%s: part %d with %s", key.Algorithm, i, name)
				}
			}
		}
		s.refuses(good+".", "")
		s.refuses("."+good, "")
		s.refuses(parts[0]+".."+parts[2], "")
		s.refuses(parts[0]+"."+parts[1], "")
	}
	// The bits behind the last byte: a signature of 64 or 256 bytes has four of them.
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for _, key := range []oidctest.Key{s.es, s.rs} {
		good := key.Sign(t, oidctest.Claims(nil), nil)
		last := strings.IndexByte(alphabet, good[len(good)-1])
		for bits := 1; bits < 16; bits++ {
			s.refuses(good[:len(good)-1]+alphabet[last|bits:last|bits+1], "base64url")
		}
	}
	// The other forms of a JWS, and several signatures.
	parts := strings.Split(s.es.Sign(t, oidctest.Claims(nil), nil), ".")
	one := fmt.Sprintf(`"protected":%q,"signature":%q`, parts[0], parts[2])
	s.refuses(fmt.Sprintf(`{"payload":%q,%s}`, parts[1], one), "not a signed JWT")
	s.refuses(fmt.Sprintf(`{"payload":%q,"signatures":[{%s},{%s}]}`, parts[1], one, one), "not a signed JWT")
}

// Validate cryptographic inputs: a point that is not on its curve is no key, and a signature
// has no zeros.
func TestSection3_4(t *testing.T) {
	key := newKey(t, "es")
	p := oidctest.New(t, key, newKey(t, "other"))
	p.Change = func(path string, w *httptest.ResponseRecorder) {
		if strings.HasSuffix(path, "/keys") {
			point, err := key.Public().(*ecdsa.PublicKey).Bytes()
			must.NoError(t, err)
			half := point[len(point)-32:] // the coordinate y
			y := encode(half)
			half[31] ^= 1
			off := encode(half)
			text := strings.Replace(w.Body.String(), y, off, 1)
			w.Body.Reset()
			w.Body.WriteString(text)
		}
	}
	wantRefused(t, newIssuer(t, p), key.Sign(t, oidctest.Claims(nil), nil), "no key")
	s := newSection(t)
	order := elliptic.P256().Params().N.FillBytes(make([]byte, 32))
	text := encode([]byte(`{"alg":"ES256","kid":"es"}`)) + "." + encode(claims(t)) + "."
	for _, half := range [][]byte{make([]byte, 32), order, bytes.Repeat([]byte{0xff}, 32)} {
		s.refuses(text+encode(append(half, half...)), "signature")
	}
	for _, length := range []int{0, 1, 63, 65, 96} {
		s.refuses(text+encode(make([]byte, length)), "")
	}
}

// Ensure cryptographic keys have sufficient entropy: RSA has 2,048 bits, and secrets are not
// keys.
func TestSection3_5(t *testing.T) {
	for bits, accepted := range map[int]bool{1024: false, 1536: false, 2047: false, 2048: true} {
		private, err := rsa.GenerateKey(rand.Reader, bits)
		must.NoError(t, err)
		key := oidctest.Key{ID: "rs", Algorithm: jose.RS256, Private: private}
		issuer := newIssuer(t, oidctest.New(t, key, newKey(t, "other")))
		if accepted {
			wantAccepted(t, issuer, key.Sign(t, oidctest.Claims(nil), nil), "a key of 2,048 bits")
		} else {
			wantRefused(t, issuer, key.Sign(t, oidctest.Claims(nil), nil), "no key")
		}
	}
	p := oidctest.New(t, newKey(t, "other"))
	p.Change = func(_ string, w *httptest.ResponseRecorder) {
		text := strings.Replace(w.Body.String(), `{"keys":[`, `{"keys":[{"kty":"oct","kid":"s","alg":"HS256","k":"c2VjcmV0"},`, 1)
		w.Body.Reset()
		w.Body.WriteString(text)
	}
	wantRefused(t, newIssuer(t, p), unsigned(t, "s"), "no key")
}

// Avoid compression of encryption inputs: nothing is decrypted, and nothing is decompressed.
func TestSection3_6(t *testing.T) {
	s := newSection(t)
	encrypter, err := jose.NewEncrypter(jose.A128GCM, jose.Recipient{Algorithm: jose.RSA_OAEP, Key: s.rs.Public()},
		&jose.EncrypterOptions{Compression: jose.DEFLATE})
	must.NoError(t, err)
	encrypted, err := encrypter.Encrypt(claims(t))
	must.NoError(t, err)
	text, err := encrypted.CompactSerialize()
	must.NoError(t, err)
	s.refuses(text, "not a signed JWT")
	var deflated bytes.Buffer
	w, err := flate.NewWriter(&deflated, flate.BestCompression)
	must.NoError(t, err)
	_, err = w.Write(claims(t))
	must.NoError(t, err)
	must.NoError(t, w.Close())
	s.refuses(signed(t, s.es, []byte(`{"alg":"ES256","kid":"es","zip":"DEF"}`), deflated.Bytes()), "JSON")
}

// Use UTF-8.
func TestSection3_7(t *testing.T) {
	s := newSection(t)
	header := []byte(`{"alg":"ES256","kid":"es"}`)
	wantAccepted(t, s.issuer, signed(t, s.es, header, claims(t)), "a good token")
	for _, other := range []func([]byte) []byte{
		func(text []byte) []byte { return append([]byte("\xef\xbb\xbf"), text...) }, // a byte order mark
		func(text []byte) (utf16 []byte) {
			for _, b := range text {
				utf16 = append(utf16, 0, b)
			}
			return utf16
		},
	} {
		s.refuses(signed(t, s.es, header, other(claims(t))), "")
		s.refuses(signed(t, s.es, other(header), claims(t)), "")
	}
	for _, invalid := range []string{"\xe9", "\xc0\xaf"} {
		payload := bytes.Replace(claims(t), []byte("{"), []byte(`{"x":"`+invalid+`",`), 1)
		s.refuses(signed(t, s.es, header, payload), "")
	}
	for _, twice := range []string{`{"alg":"ES256","kid":"es","kid":"es"}`, `{"alg":"none","alg":"ES256","kid":"es"}`} {
		s.refuses(signed(t, s.es, []byte(twice), claims(t)), "")
	}
}

// Validate issuer and subject: the keys are those of the issuer, and a token names a client.
func TestSection3_8(t *testing.T) {
	s := newSection(t)
	for _, issuer := range []any{
		nil, "", strings.Repeat("€", 1000), oidctest.Issuer + "/", strings.ToUpper(oidctest.Issuer), "https://evil.example", []string{oidctest.Issuer},
	} {
		s.refuses(s.es.Sign(t, oidctest.Claims(map[string]any{"iss": issuer}), nil), "issuer")
	}
	s.refuses(s.es.Sign(t, oidctest.Claims(map[string]any{"iss": nil, "ISS": oidctest.Issuer}), nil), "issuer")
	for _, subject := range []any{nil, "", 7, []string{"robot"}, strings.Repeat("x", 257)} {
		s.refuses(s.es.Sign(t, oidctest.Claims(map[string]any{"client_id": nil, "sub": subject}), nil), "sub")
	}
	otherKey := newKey(t, "es") // a key of another issuer
	for _, otherKey.ID = range []string{"es", "rs", ""} {
		s.refuses(otherKey.Sign(t, oidctest.Claims(nil), nil), "signature")
	}
}

// Use and validate audience.
func TestSection3_9(t *testing.T) {
	s := newSection(t)
	for _, audience := range []any{
		nil, "", oidctest.Audience + "/", oidctest.Audience + ".evil", strings.ToUpper(oidctest.Audience),
		[]string{},
		[]string{"https://other.example"},
		map[string]bool{oidctest.Audience: true},
	} {
		s.refuses(s.es.Sign(t, oidctest.Claims(map[string]any{"aud": audience}), nil), "audience")
	}
	s.refuses(s.es.Sign(t, oidctest.Claims(map[string]any{"aud": "other", "Aud": oidctest.Audience}), nil), "audience")
}

// Do not trust received claims: the header of a token leads to no file, no request and no key.
func TestSection3_10(t *testing.T) {
	s := newSection(t)
	before := s.provider.Requests()
	attacker := newKey(t, "es")
	public := jose.JSONWebKey{Key: attacker.Public(), KeyID: "es", Algorithm: "ES256", Use: "sig"}
	for name, value := range map[jose.HeaderKey]any{
		"jwk": public, "jku": "https://evil.example/keys", "x5u": "https://evil.example/chain",
		"x5c": []string{"AAAA"}, "x5t": "AAAA",
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

// Use explicit typing: a token that says that it is of another kind is refused.
func TestSection3_11(t *testing.T) {
	s := newSection(t)
	with := func(typ any) string {
		return s.es.Sign(t, oidctest.Claims(nil), map[jose.HeaderKey]any{jose.HeaderType: typ})
	}
	for _, typ := range []string{"at+jwt", "AT+JWT", "application/at+jwt", "JWT", "jwt", "application/jwt", ""} {
		wantAccepted(t, s.issuer, with(typ), typ)
	}
	for _, typ := range []any{"logout+jwt", "dpop+jwt", "secevent+jwt", "id_token+jwt", "client-authentication+jwt", "JOSE", 7} {
		s.refuses(with(typ), "type")
	}
}

// Use mutually exclusive validation rules for different kinds of JWTs: ID tokens and logout
// tokens of the same provider, with the same keys, give no access.
func TestSection3_12(t *testing.T) {
	s := newSection(t)
	s.refuses(s.es.Sign(t, oidctest.Claims(map[string]any{"at_hash": "x", "nonce": "n"}), nil), "ID token")
	s.refuses(s.es.Sign(t, oidctest.Claims(map[string]any{"aud": "robot", "nonce": "n"}), nil), "audience")
	logout := map[string]any{"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": struct{}{}}}
	s.refuses(s.es.Sign(t, oidctest.Claims(logout), map[jose.HeaderKey]any{jose.HeaderType: "logout+jwt"}), "type")
	delete(logout, "events")
	logout["scope"] = nil
	got, err := verify(t, s.issuer, s.es.Sign(t, oidctest.Claims(logout), nil))
	if err != nil || len(got.Scopes) != 0 {
		t.Errorf("a token without scopes has %v, %v", got.Scopes, err)
	}
}
