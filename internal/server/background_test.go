package server

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// Changes are kept for the given time, and not much longer.
func TestKeepChanges(t *testing.T) {
	const age = 10 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), sqlite.Memory)
		must.NoError(t, err)
		t.Cleanup(func() { expect.NoError(t, s.Close()) })
		position := func(id int64) plant.Position { // before the change of a plant
			_, next, err := s.Changes(t.Context(), nil, 1000)
			if err == nil {
				err = s.Create(t.Context(), plant.Plant{ID: id})
			}
			must.NoError(t, err)
			return next
		}
		defer keep(t.Context(), slog.New(slog.DiscardHandler), "changes", age, s.ForgetChanges)()
		old := position(1)
		time.Sleep(age / 2)
		young := position(2)
		_ = position(3) // the newest one need not be forgotten
		want := func(when string, p plant.Position, want error) {
			if _, _, err := s.Changes(t.Context(), &p, 10); !errors.Is(err, want) {
				t.Errorf("%s Changes = %v, want %v", when, err, want)
			}
		}
		time.Sleep(age/2 - time.Second)
		want("before a change has its age", old, nil)
		time.Sleep(forgetInterval + 2*time.Second)
		want("after a change had its age", old, plant.ErrPosition)
		want("before a later change has its age", young, nil)
		time.Sleep(age / 2)
		want("after a later change had its age", young, plant.ErrPosition)
	})
}
