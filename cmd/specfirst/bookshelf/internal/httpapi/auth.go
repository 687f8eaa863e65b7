package httpapi

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/plantstore/plantstore/api/contract"
)

var (
	errBadCredentials = errors.New("the credentials are not valid")
	errNoKeys         = errors.New("tokens cannot be verified now")
	errNoTokens       = errors.New("set BOOKSHELF_TOKEN or BOOKSHELF_KEYS_URL: the document has operations that need credentials")
)

// algorithms are the signatures that are accepted: those that need no shared secret.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.ES256, jose.ES384, jose.EdDSA}

// fetchPause is the time between fetches of the keys, however many tokens have an unknown key.
const fetchPause = 10 * time.Second

// Tokens accepts one secret, the tokens that an identity provider has signed, or both.
type Tokens struct {
	Secret           string // empty: none
	KeysURL          string // of the provider's JSON Web Key Set; empty: there is no provider
	Issuer, Audience string // what tokens of the provider must have in iss and aud

	mu      sync.Mutex
	keys    jose.JSONWebKeySet
	fetched time.Time
}

// needsCredentials reports whether no alternative of the document is without credentials.
func needsCredentials(operation *contract.Operation) bool {
	isOpen := func(alternative []contract.Scheme) bool { return len(alternative) == 0 }
	return len(operation.Security) > 0 && !slices.ContainsFunc(operation.Security, isOpen)
}

// authorize asks a request for one of the alternatives of credentials that the document has for its operation.
// It does not compare the scopes in the schemes with those of a token.
func (h *handler) authorize(_ http.ResponseWriter, r *http.Request, operation *contract.Operation) (context.Context, error) {
	var err error
	for _, alternative := range operation.Security {
		if err = h.verifyAll(r, alternative); err == nil {
			break
		}
	}
	return nil, err
}

func (h *handler) verifyAll(r *http.Request, schemes []contract.Scheme) error {
	for _, scheme := range schemes {
		text := credential(r, scheme)
		if text == "" {
			return fmt.Errorf("send the credentials, those of BOOKSHELF_TOKEN or of the identity provider: %s", usageOf(scheme))
		}
		if err := h.Tokens.verify(r.Context(), text); err != nil {
			return err
		}
	}
	return nil
}

// usageOf says where a request has the credentials of a scheme.
func usageOf(scheme contract.Scheme) string {
	switch {
	case scheme.In != "":
		return fmt.Sprintf("%s %s", scheme.In, scheme.Key)
	case strings.EqualFold(scheme.Scheme, "basic"):
		return "header Authorization: Basic, with the token as password"
	}
	return "header Authorization: Bearer TOKEN"
}

// challengeOf returns the value of WWW-Authenticate, or nothing: API keys have no registered scheme.
func challengeOf(operation *contract.Operation) string {
	for _, scheme := range slices.Concat(operation.Security...) {
		switch {
		case strings.EqualFold(scheme.Scheme, "basic"):
			return `Basic realm="bookshelf"`
		case scheme.Type != "apiKey":
			return "Bearer"
		}
	}
	return ""
}

// credential returns what a request has for a scheme of the document.
func credential(r *http.Request, scheme contract.Scheme) string {
	switch scheme.In {
	case "header":
		return r.Header.Get(scheme.Key)
	case "query":
		return r.URL.Query().Get(scheme.Key)
	case "cookie":
		if cookie, err := r.Cookie(scheme.Key); err == nil {
			return cookie.Value
		}
		return ""
	}
	if _, password, ok := r.BasicAuth(); ok && strings.EqualFold(scheme.Scheme, "basic") {
		return password
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") {
		return ""
	}
	return token
}

func (t *Tokens) verify(ctx context.Context, text string) error {
	if t.Secret != "" && subtle.ConstantTimeCompare([]byte(text), []byte(t.Secret)) == 1 {
		return nil
	}
	token, err := jwt.ParseSigned(text, algorithms)
	if err != nil || t.KeysURL == "" {
		return errBadCredentials
	}
	keys, err := t.keysOf(ctx, token.Headers[0].KeyID)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoKeys, err)
	}
	for _, key := range keys {
		var claims jwt.Claims
		expected := jwt.Expected{Issuer: t.Issuer, AnyAudience: jwt.Audience{t.Audience}, Time: time.Now()}
		if token.Claims(key, &claims) == nil && claims.Expiry != nil && claims.Validate(expected) == nil {
			return nil
		}
	}
	return errBadCredentials
}

// keysOf returns the keys with an id. If there is none, it fetches them: the provider may have a new one.
func (t *Tokens) keysOf(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.keys.Key(id)) > 0 || time.Since(t.fetched) < fetchPause {
		return t.keys.Key(id), nil
	}
	t.fetched = time.Now()
	keys, err := fetchKeys(ctx, t.KeysURL)
	if err != nil {
		return nil, err
	}
	t.keys = keys
	return t.keys.Key(id), nil
}

func fetchKeys(ctx context.Context, url string) (keys jose.JSONWebKeySet, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return keys, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return keys, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return keys, fmt.Errorf("%s: %s", url, response.Status)
	}
	err = json.NewDecoder(http.MaxBytesReader(nil, response.Body, 1<<20)).Decode(&keys)
	return keys, err
}
