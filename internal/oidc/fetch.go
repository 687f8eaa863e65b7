package oidc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

const (
	// fetchTime is how long a request to the provider may take.
	fetchTime = 5 * time.Second

	// maxDocument is the size of the largest document that is read from the provider.
	maxDocument = 1 << 20
)

// fetcher fetches the keys of a provider. It is not safe for concurrent use.
type fetcher struct {
	issuer string
	client *http.Client
	url    string // of the keys; empty: the discovery document has to be read first
}

func newFetcher(config Config) fetcher {
	return fetcher{issuer: config.Issuer, client: &http.Client{
		Transport: guard{cmp.Or(config.Transport, http.DefaultTransport)},
		Timeout:   fetchTime,
	}}
}

// fetch returns the keys by their ID, and all of them by the empty ID. After a failure
// it reads the discovery document again, because the URL may have changed.
func (f *fetcher) fetch() (map[string]keys, error) {
	ctx := oidc.ClientContext(context.Background(), f.client) // the client has a timeout
	if f.url == "" {
		provider, err := oidc.NewProvider(ctx, f.issuer)
		if err != nil {
			return nil, errors.New(shorten(err.Error())) // it quotes the response
		}
		var document struct {
			URL string `json:"jwks_uri"`
		}
		if err := provider.Claims(&document); err != nil || document.URL == "" {
			return nil, errors.New("the discovery document has no jwks_uri")
		}
		f.url = document.URL
	}
	found, err := f.get(ctx, f.url)
	if err != nil {
		f.url = ""
		return nil, err
	}
	return found, nil
}

func (f *fetcher) get(ctx context.Context, url string) (map[string]keys, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&document); err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	found := map[string]keys{}
	for _, text := range document.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(text) != nil || !key.IsPublic() || key.Use == "enc" {
			continue // a provider may have keys for other purposes, and of kinds that are not supported
		}
		found[""] = append(found[""], key)
		if key.KeyID != "" {
			found[key.KeyID] = append(found[key.KeyID], key)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: there is no key that can verify a signature", url)
	}
	return found, nil
}

// guard keeps requests private, also after redirects and to a URL of the discovery
// document, and responses small.
type guard struct{ http.RoundTripper }

func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkURL(r.URL); err != nil {
		return nil, err
	}
	resp, err := g.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxDocument)
	}
	return resp, err
}
