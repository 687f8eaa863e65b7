package oidc

import (
	"strings"
	"sync"
	"time"

	"github.com/plantstore/plantstore/internal/token"
)

// maxBytes is half of what the tokens in a cache take at most, and entrySize what one
// takes beside its text.
const (
	maxBytes  = 8 << 20
	entrySize = 512
)

// cache has tokens that were verified, until they expire. Clients without a valid token
// add nothing to it. When the young ones take maxBytes, they become the old ones, and
// the old ones are dropped.
//
// The hash is that of a Go map, which is keyed and compares the whole text. A SHA-256 of
// the text, so that it is not kept, would cost 11 % of the CPU of a request.
type cache struct {
	mu         sync.RWMutex
	young, old map[string]token.Token
	bytes      int // of young
}

func (c *cache) get(text string, now time.Time) (token.Token, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	t, ok := c.young[text]
	if !ok {
		t, ok = c.old[text]
	}
	return t, ok && t.InForce(now)
}

func (c *cache) put(text string, t token.Token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.young == nil || c.bytes >= maxBytes {
		c.young, c.old, c.bytes = map[string]token.Token{}, c.young, 0
	}
	c.young[strings.Clone(text)] = t
	c.bytes += len(text) + entrySize
}
