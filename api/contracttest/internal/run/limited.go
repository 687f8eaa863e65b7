package run

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A service that limits how many requests it takes responds with 429 to the others (RFC 6585, section 4). Such a
// response shows nothing of what a test is about: the request is sent again when the service allows it. A request that
// tests the limit itself gets the 429.

const (
	// mostTries is how often a request is sent to a service that responds with 429.
	mostTries = 4
	// mostWait is how long one try waits for the next.
	mostWait = 5 * time.Second
	// usualWait is how long it waits if the service does not say.
	usualWait = time.Second
)

// limited is why a request shows nothing.
const limited scenario.NotTested = "the service limits requests (429): raise the limit for these tests"

// sendWhenAllowed sends a request, and again while the service responds that there are too many.
func (s *session) sendWhenAllowed(request scenario.Request) error {
	err := s.sendWhenBack(request)
	for try := 1; try < mostTries && err == limited; try++ {
		wait := retryAfter(s.last.Header)
		if wait > mostWait || !sleep(s.ctx, wait) {
			break
		}
		err = s.sendWhenBack(request)
	}
	return err
}

// retryAfter is how long a service asks to wait: seconds, of which there may be too many to count, or a date (RFC 9110,
// section 10.2.3).
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return time.Until(at)
	}
	return usualWait
}

// sleep waits, and reports whether the run goes on.
func sleep(ctx context.Context, wait time.Duration) bool {
	waited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	<-waited.Done()
	return ctx.Err() == nil
}
