package httpapi_test

import (
	"context"
	"errors"
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
	}{
		"an unexpected error":   {func() error { return errors.New(secret) }, plantapi.CodeInternal, ""},
		"a panic":               {func() error { panic(secret) }, plantapi.CodeInternal, ""},
		"store down":            {func() error { return errors.Join(plant.ErrUnavailable, errors.New(secret)) }, plantapi.CodeUnavailable, "1"},
		"too long in the queue": {func() error { return context.DeadlineExceeded }, plantapi.CodeUnavailable, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, wrapPlants(func(real plant.Store) plant.Store { return faultyPlants{real, c.fault} }))
			a := s.post(`{"id":1,"name":"n"}`)
			e := a.wantError(t, c.want)
			if strings.Contains(a.body, "plants.db") {
				t.Errorf("the response contains the cause: %s", a.body)
			}
			if e.RequestID == nil || *e.RequestID == "" {
				t.Error("there is no request_id")
			}
			if got := a.Header.Get("Retry-After"); got != c.retryAfter {
				t.Errorf("Retry-After is %q, want %q", got, c.retryAfter)
			}
		})
	}
}
