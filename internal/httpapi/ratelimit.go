package httpapi

import (
	"net/http"
	"sync"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/token"
)

var errTooManyRequests = fail(plantapi.CodeTooManyRequests, "too many requests with this token, try again later")

// rateLimit limits the requests of each token. Tokens are counted once their
// scope is known to be right, so a stranger has no quota and cannot use up
// anybody's, and there are never more quotas than tokens.
type rateLimit struct {
	quota quota

	mu sync.Mutex
	// When the quota of each token is whole again, by its id. What was not
	// touched for a window is whole and as good as forgotten, so the old ones
	// are dropped each time a window is over.
	young, old map[string]time.Duration
	turned     time.Duration
}

// newRateLimit returns nil, which limits nothing, for the zero Rate.
func newRateLimit(r Rate) *rateLimit {
	if r.Limit == 0 {
		return nil
	}
	return &rateLimit{quota: newQuota(r), young: map[string]time.Duration{}}
}

// count counts a request against the quota of its token, and says in the
// headers of the answer what is left.
func (l *rateLimit) count(h http.Header, caller token.Token) error {
	if l == nil {
		return nil
	}
	whole, now, ok := l.take(caller.ID)
	if !ok {
		l.quota.refuse(h, whole, now)
		return errTooManyRequests
	}
	l.quota.describe(h, whole, now)
	return nil
}

func (l *rateLimit) take(id string) (whole, now time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now = l.quota.now() // under the lock, or the clock of a quota could go back
	if now-l.turned >= l.quota.window {
		l.young, l.old, l.turned = make(map[string]time.Duration, len(l.young)), l.young, now
	}
	whole, known := l.young[id]
	if !known {
		whole = l.old[id]
	}
	whole, ok = l.quota.take(whole, now)
	l.young[id] = whole
	return whole, now, ok
}
