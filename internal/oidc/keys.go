package oidc

import (
	"cmp"
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/plantstore/plantstore/internal/token"
)

const (
	// fetchPause is the time between the starts of two fetches, however many tokens
	// have an unknown key ID.
	fetchPause = 10 * time.Second

	// fetchTime is how long a request to the provider may take.
	fetchTime = 5 * time.Second

	// maxDocument is the size of the largest document that is read from the provider.
	maxDocument = 1 << 20

	// maxWaiting is how many tokens with unknown key IDs wait for a fetch at the same
	// time. Others are refused at once.
	maxWaiting = 512

	// maxAbsent is how many key IDs are remembered that the provider does not have,
	// and maxKeyID the length of the longest key ID.
	maxAbsent = 1024
	maxKeyID  = 256

	// minRSA is the number of bits of the shortest RSA key: RFC 7518, section 3.3.
	minRSA = 2048
)

// keySet has the keys of the provider. It fetches them when a token has a key ID that
// it does not know, because the provider may have a new key, but only once in
// fetchPause. Until then such a token waits, so that none is refused because its key
// is newer than the last fetch. Neither the RemoteKeySet of go-oidc nor jwkset joins
// tokens that wait, and bounds how many do.
type keySet struct {
	issuer  string
	client  *http.Client
	log     *slog.Logger
	waiting *semaphore.Weighted
	fetches singleflight.Group

	mu      sync.Mutex
	known   map[string][]jose.JSONWebKey // by key ID; all keys are also those of the empty ID
	fetched time.Time                    // start of the last fetch that succeeded
	next    time.Time                    // earliest start of the next fetch
	absent  map[string]struct{}          // key IDs that the last fetch did not find
	err     error                        // of the last fetch
}

// unavailableError is a [token.ErrUnverified]: the keys cannot be fetched.
type unavailableError struct{ cause error }

func (e unavailableError) Error() string {
	return "the keys of the identity provider cannot be fetched: " + e.cause.Error()
}

func (unavailableError) Unwrap() error { return token.ErrUnverified }

func newKeySet(config Config) *keySet {
	return &keySet{
		issuer: config.Issuer,
		client: &http.Client{
			Transport: private{cmp.Or(config.Transport, http.DefaultTransport)},
			Timeout:   fetchTime,
			CheckRedirect: func(r *http.Request, _ []*http.Request) error {
				return fmt.Errorf("it redirects to %s, and redirects are not followed", r.URL.Redacted())
			},
		},
		log:     config.Log,
		waiting: semaphore.NewWeighted(maxWaiting),
	}
}

// find returns the keys with an ID, usually one. The empty ID, which a token without one
// has, means all keys.
func (k *keySet) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	if len(id) > maxKeyID {
		return nil, refused("the key ID is longer than %d bytes", maxKeyID)
	}
	for arrived := time.Now(); ; {
		found, err := k.findKnown(id, arrived)
		if found != nil || err != nil {
			return found, err
		}
		if !k.waiting.TryAcquire(1) {
			return nil, unavailableError{errors.New("too many tokens with unknown key IDs wait for them")}
		}
		select {
		case <-k.fetches.DoChan("", func() (any, error) { k.update(id, arrived); return nil, nil }):
		case <-ctx.Done():
			err = unavailableError{ctx.Err()}
		}
		k.waiting.Release(1)
		if err != nil {
			return nil, err
		}
	}
}

// findKnown returns the keys with an ID for a token that arrived at the given time. If it
// returns neither keys nor an error, the token waits for the next fetch, or for the one
// that is running.
func (k *keySet) findKnown(id string, arrived time.Time) ([]jose.JSONWebKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, absent := k.absent[id]
	switch {
	case k.known[id] != nil:
		return k.known[id], nil
	case !time.Now().Before(k.next):
		return nil, nil
	case k.err != nil:
		return nil, unavailableError{k.err}
	case k.fetched.Before(arrived) && !absent: // the key may be newer than the fetch
		return nil, nil
	}
	if len(k.absent) < maxAbsent {
		k.absent[id] = struct{}{}
	}
	return nil, refused("the provider has no key %q", id)
}

// update fetches the keys as soon as it may, for a token that look has no result for. If
// that fails, the old keys stay.
func (k *keySet) update(id string, arrived time.Time) {
	if found, err := k.findKnown(id, arrived); found != nil || err != nil {
		return // another fetch has just ended
	}
	k.mu.Lock()
	pause := time.Until(k.next)
	k.mu.Unlock()
	time.Sleep(pause)
	began := time.Now()
	k.mu.Lock()
	k.next, k.absent, k.err = began.Add(fetchPause), map[string]struct{}{}, nil
	k.mu.Unlock()
	found, err := k.fetch()
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.err = errors.New(shorten(err.Error()))
		k.log.Warn("cannot fetch the keys of the identity provider", "issuer", k.issuer, "err", k.err)
		return
	}
	k.known, k.fetched = found, began
	k.log.Info("fetched the keys of the identity provider", "issuer", k.issuer, "keys", len(found[""]))
}

// discovery is what the discovery document of a provider says.
type discovery struct {
	Issuer        string `json:"issuer"`
	Keys          string `json:"jwks_uri"`
	Authorization string `json:"authorization_endpoint"`
	Token         string `json:"token_endpoint"`
}

// checkSignIn returns an error unless people can sign in, and in private.
func (d discovery) checkSignIn() error {
	for name, address := range map[string]string{"authorization_endpoint": d.Authorization, "token_endpoint": d.Token} {
		u, err := url.Parse(address)
		if err == nil {
			err = checkURL(u)
		}
		if err == nil {
			err = checkHost(u.Host)
		}
		if err != nil {
			return fmt.Errorf("the discovery document has no usable %s: %w", name, err)
		}
	}
	return nil
}

// checkHost returns an error unless a host can be a source in a Content-Security-Policy that
// means this host alone. The package net/url accepts "*", ",", ";" and blanks beyond ASCII.
func checkHost(host string) error {
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:[]"
	if host == "" || strings.Trim(host, characters) != "" {
		return fmt.Errorf("the host %q must consist of letters, digits, dots and hyphens", host)
	}
	return nil
}

func (k *keySet) discover(ctx context.Context) (found discovery, err error) {
	err = k.get(ctx, strings.TrimSuffix(k.issuer, "/")+"/.well-known/openid-configuration", &found)
	if err == nil && found.Issuer != k.issuer {
		err = fmt.Errorf("the discovery document is that of the issuer %q", found.Issuer)
	}
	return found, err
}

// fetch returns the keys by their ID, and all of them by the empty ID.
func (k *keySet) fetch() (map[string][]jose.JSONWebKey, error) {
	ctx := context.Background() // the tokens that wait share the fetch, so none of them can cancel it
	discovered, err := k.discover(ctx)
	switch {
	case err != nil:
		return nil, err
	case discovered.Keys == "":
		return nil, errors.New("the discovery document has no jwks_uri")
	}
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := k.get(ctx, discovered.Keys, &document); err != nil {
		return nil, err
	}
	found := map[string][]jose.JSONWebKey{}
	for _, text := range document.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(text) != nil || !key.IsPublic() || key.Use == "enc" {
			continue // a provider may have keys for other purposes, and of kinds that are not supported
		}
		if public, ok := key.Key.(*rsa.PublicKey); ok && public.N.BitLen() < minRSA {
			k.log.Warn("an RSA key of the identity provider is too short: its tokens are refused",
				"issuer", k.issuer, "key", shorten(key.KeyID), "bits", public.N.BitLen(), "min", minRSA)
			continue
		}
		found[""] = append(found[""], key)
		if key.KeyID != "" {
			found[key.KeyID] = append(found[key.KeyID], key)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: there is no key that can verify a signature", discovered.Keys)
	}
	return found, nil
}

// get reads a JSON document of the provider.
func (k *keySet) get(ctx context.Context, url string, document any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := k.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, maxDocument)).Decode(document); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}

// private keeps requests private, also to a URL of the discovery document.
type private struct{ http.RoundTripper }

func (p private) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkURL(r.URL); err != nil {
		return nil, err
	}
	return p.RoundTripper.RoundTrip(r)
}
