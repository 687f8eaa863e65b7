package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// faultyPlants is a real store whose creates fail.
type faultyPlants struct {
	plant.Store
	fault func() error
}

func (s faultyPlants) Create(context.Context, plant.Plant) error { return s.fault() }

// faultyTokens is a real store whose look-ups fail.
type faultyTokens struct {
	token.Store
	err error
}

func (s faultyTokens) Token(context.Context, string) (token.Token, error) {
	return token.Token{}, s.err
}

func TestStoreErrors(t *testing.T) {
	const secret = "open /var/lib/plants.db: pq: relation missing"
	for name, c := range map[string]struct {
		fault      func() error
		want       plantapi.ErrorCode
		retryAfter string
		message    string
	}{
		"an unexpected error": {func() error { return errors.New(secret) }, plantapi.CodeInternal, "", "internal error"},
		"a panic":             {func() error { panic(secret) }, plantapi.CodeInternal, "", "internal error"},
		"store down":          {func() error { return errors.Join(plant.ErrUnavailable, errors.New(secret)) }, plantapi.CodeUnavailable, "1", "not available, try again later"},
		"disk full": {
			func() error { return fmt.Errorf("%w: %w: %s", plant.ErrUnavailable, plant.ErrDiskFull, secret) },
			plantapi.CodeUnavailable, "1", "the disk of the store is full, try again later",
		},
		"another version of Unicode": {
			func() error { return fmt.Errorf("%w: %w: %s", plant.ErrUnavailable, plant.ErrOtherUnicode, secret) },
			plantapi.CodeUnavailable, "1", plant.ErrOtherUnicode.Error(),
		},
		"too long in the queue": {func() error { return context.DeadlineExceeded }, plantapi.CodeUnavailable, "1", "not available, try again later"},
	} {
		s := newService(t, wrapPlants(func(real plant.Store) plant.Store { return faultyPlants{real, c.fault} }))
		a := s.post(`{"id":1,"name":"n"}`)
		if e := a.wantError(t, c.want); e.Message != c.message || strings.Contains(a.body, "plants.db") {
			t.Errorf("%s: the response is %s, want the message %q and not the cause", name, a.body, c.message)
		}
		if got := a.Header.Get("Retry-After"); got != c.retryAfter {
			t.Errorf("%s: Retry-After is %q, want %q", name, got, c.retryAfter)
		}
	}
}
