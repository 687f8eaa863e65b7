// Package oidctest has an identity provider for tests. It is not a real one: it signs
// whatever a test wants, as only an attacker or a broken provider would.
package oidctest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	Issuer   = "https://login.example.com/garden"
	Audience = "https://plants.example.com"
)

// Provider is an identity provider. It is an [http.RoundTripper], so that it needs no
// network, and works in the bubble of a synctest.
type Provider struct {
	Issuer string

	t testing.TB

	// Change changes each response, and Delay is how long it is on its way, or until the
	// client gives up. Set them while there is no request.
	Change func(path string, w *httptest.ResponseRecorder)
	Delay  time.Duration

	mu       sync.Mutex
	keys     []Key // the first one signs
	requests int
	fetches  []time.Time // of keys
	down     error
}

// Key is a key of a provider.
type Key struct {
	ID        string
	Algorithm jose.SignatureAlgorithm
	Private   any // a [crypto.Signer], or a []byte for HS256, HS384 and HS512
}

// NewKey returns a new key for ES256.
func NewKey(t testing.TB, id string) Key {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Key{ID: id, Algorithm: jose.ES256, Private: private}
}

// Public returns the public key.
func (k Key) Public() crypto.PublicKey { return k.Private.(crypto.Signer).Public() }

// New returns the provider [Issuer] with the given keys.
func New(t testing.TB, keys ...Key) *Provider {
	return &Provider{Issuer: Issuer, t: t, keys: keys}
}

// Serve makes p listen on a loopback address, which is then its Issuer, until the end
// of the test.
func (p *Provider) Serve() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Scheme, r.URL.Host = "http", r.Host
		resp, err := p.RoundTrip(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_, _ = io.Copy(w, resp.Body)
	}))
	p.t.Cleanup(server.Close)
	p.Issuer = server.URL
}

// Rotate replaces the keys.
func (p *Provider) Rotate(keys ...Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = keys
}

// Stop makes every request fail with an error, until Stop(nil).
func (p *Provider) Stop(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = err
}

// Fetches returns the times when the keys were fetched.
func (p *Provider) Fetches() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Time(nil), p.fetches...)
}

// Requests returns the number of requests, also of those that failed.
func (p *Provider) Requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// RoundTrip makes p an [http.RoundTripper].
func (p *Provider) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.respond(r)
	select {
	case <-time.After(p.Delay):
		return resp, err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func (p *Provider) respond(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	w := httptest.NewRecorder()
	if p.down != nil {
		return nil, p.down
	}
	var body any
	switch strings.TrimPrefix(r.URL.String(), p.Issuer) {
	case "/.well-known/openid-configuration":
		body = map[string]string{
			"issuer": p.Issuer, "jwks_uri": p.Issuer + "/keys",
			"authorization_endpoint": p.Issuer + "/authorize", "token_endpoint": p.Issuer + "/token",
		}
	case "/keys":
		p.fetches = append(p.fetches, time.Now())
		var set jose.JSONWebKeySet
		for _, k := range p.keys {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.Public(), KeyID: k.ID, Algorithm: string(k.Algorithm), Use: "sig"})
		}
		body = set
	default:
		p.t.Errorf("the provider got a request for %s", r.URL)
	}
	w.Header().Set("Content-Type", "application/json")
	// To the body, because a write to w itself would fix the header before Change.
	if err := json.NewEncoder(w.Body).Encode(body); err != nil {
		p.t.Error(err)
	}
	if p.Change != nil {
		p.Change(r.URL.Path, w)
	}
	return w.Result(), nil
}

// Claims returns the claims of a valid token for a client, after the given changes: a
// nil value removes a claim.
func Claims(changes map[string]any) map[string]any {
	now := time.Now()
	claims := map[string]any{
		"iss": Issuer, "aud": Audience, "sub": "someone", "client_id": "robot", "scope": "read write", "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
	}
	for name, value := range changes {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	return claims
}

// Token returns a token with the given claims, signed with the first key.
func (p *Provider) Token(claims any) string {
	p.mu.Lock()
	key := p.keys[0]
	p.mu.Unlock()
	return key.Sign(p.t, claims, map[jose.HeaderKey]any{jose.HeaderType: "at+jwt"})
}

// Sign returns a token signed with the key, with further members of its header.
func (k Key) Sign(t testing.TB, claims any, header map[jose.HeaderKey]any) string {
	t.Helper()
	payload, ok := claims.([]byte)
	if !ok {
		var err error
		if payload, err = json.Marshal(claims); err != nil {
			t.Fatal(err)
		}
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: k.Algorithm, Key: jose.JSONWebKey{Key: k.Private, KeyID: k.ID}}, &jose.SignerOptions{ExtraHeaders: header})
	if err != nil {
		t.Fatal(err)
	}
	jws, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
