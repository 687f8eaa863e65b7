package oidc

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/semaphore"

	"github.com/plantstore/plantstore/internal/token"
)

const (
	// fetchPause is the time between the starts of two fetches, however many tokens
	// have an unknown key ID.
	fetchPause = 10 * time.Second

	// maxWaiting is how many tokens with unknown key IDs wait for a fetch at the same
	// time. Others are refused at once.
	maxWaiting = 512

	// maxAbsent is how many key IDs are remembered that the provider does not have,
	// and maxKeyID the length of the longest key ID.
	maxAbsent = 1024
	maxKeyID  = 256
)

// keySet has the keys of the provider. It fetches them when a token has a key ID that
// it does not know, because the provider may have a new key, but only once in
// fetchPause. Until then such a token waits, so that none is refused because its key
// is newer than the last fetch. The RemoteKeySet of go-oidc has no pause, and fetches
// also when a signature is wrong.
type keySet struct {
	fetcher fetcher
	log     *slog.Logger
	waiting *semaphore.Weighted

	mu      sync.Mutex
	known   map[string]keys     // by key ID; nil: no fetch has succeeded yet
	fetched time.Time           // the start of the fetch that known is from
	absent  map[string]struct{} // key IDs that this fetch did not find
	next    time.Time           // the earliest start of the next fetch
	running chan struct{}       // closed at the end of the running fetch; nil: none is running
	err     error               // of the last fetch
}

// keys are the keys with the same ID, usually one.
type keys []jose.JSONWebKey

// VerifySignature makes keys an [oidc.KeySet].
func (ks keys) VerifySignature(_ context.Context, text string) (payload []byte, err error) {
	jws, err := jose.ParseSignedCompact(text, algorithms)
	if err != nil {
		return nil, err
	}
	for _, key := range ks {
		if payload, err := jws.Verify(key); err == nil {
			return payload, nil
		}
	}
	return nil, errors.New("the signature is wrong")
}

// unavailableError is a [token.ErrUnverified]: the keys cannot be fetched.
type unavailableError struct{ cause error }

func (e unavailableError) Error() string {
	return "the keys of the identity provider cannot be fetched: " + e.cause.Error()
}

func (unavailableError) Unwrap() error { return token.ErrUnverified }

func newKeySet(config Config) *keySet {
	return &keySet{fetcher: newFetcher(config), log: config.Log, waiting: semaphore.NewWeighted(maxWaiting)}
}

// of returns the keys with an ID. The empty ID, which a token without one has, means
// all keys.
func (k *keySet) of(ctx context.Context, id string) (keys, error) {
	if len(id) > maxKeyID {
		return nil, refused("the key ID is longer than %d bytes", maxKeyID)
	}
	for arrived := time.Now(); ; {
		found, running, pause, err := k.look(id, arrived)
		if found != nil || err != nil {
			return found, err
		}
		if !k.waiting.TryAcquire(1) {
			return nil, unavailableError{errors.New("too many tokens with unknown key IDs wait for them")}
		}
		timer := time.NewTimer(pause)
		select {
		case <-running:
		case <-timer.C:
		case <-ctx.Done():
			err = unavailableError{ctx.Err()}
		}
		timer.Stop()
		k.waiting.Release(1)
		if err != nil {
			return nil, err
		}
	}
}

// look returns the keys with an ID for a token that arrived at the given time. If it
// returns neither keys nor an error, the token waits for the running fetch, or for so
// long until another one may start.
func (k *keySet) look(id string, arrived time.Time) (found keys, running <-chan struct{}, pause time.Duration, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if found := k.known[id]; found != nil {
		return found, nil, 0, nil
	}
	now := time.Now()
	if k.running == nil && !now.Before(k.next) {
		k.running, k.next = make(chan struct{}), now.Add(fetchPause)
		go k.fetch(now)
	}
	_, absent := k.absent[id]
	switch {
	case k.running != nil:
		return nil, k.running, fetchPause, nil
	case k.err != nil:
		return nil, nil, 0, unavailableError{k.err}
	case k.fetched.Before(arrived) && !absent: // the key may be newer than the fetch
		return nil, nil, k.next.Sub(now), nil
	}
	if len(k.absent) < maxAbsent {
		k.absent[id] = struct{}{}
	}
	return nil, nil, 0, refused("the provider has no key %q", id)
}

// fetch fetches the keys. If it fails, the old ones stay.
func (k *keySet) fetch(now time.Time) {
	found, err := k.fetcher.fetch()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err = err; err == nil {
		k.known, k.fetched, k.absent = found, now, map[string]struct{}{}
		k.log.Info("fetched the keys of the identity provider", "issuer", k.fetcher.issuer, "keys", len(found[""]))
	} else {
		k.log.Warn("cannot fetch the keys of the identity provider", "issuer", k.fetcher.issuer, "err", err.Error())
	}
	close(k.running)
	k.running = nil
}
