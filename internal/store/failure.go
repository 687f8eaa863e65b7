package store

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// Unavailable returns err as [plant.ErrUnavailable] and [token.ErrUnavailable]: one
// store has both the plants and the tokens.
func Unavailable(err error) error { return unavailableError{err} }

type unavailableError struct{ error }

func (e unavailableError) Error() string {
	return plant.ErrUnavailable.Error() + ": " + e.error.Error()
}

func (e unavailableError) Is(target error) bool {
	return target == plant.ErrUnavailable || target == token.ErrUnavailable
}

func (e unavailableError) Unwrap() error { return e.error }

// WriteFailure is the reason why the writes of a store fail. A write that succeeds
// does not end it: on a full disk a small write may succeed between two that fail.
type WriteFailure struct{ err atomic.Pointer[error] }

// Err returns nil if writes work.
func (f *WriteFailure) Err() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Note records the error of a write if it is [plant.ErrUnavailable]. It returns err.
func (f *WriteFailure) Note(err error) error {
	if errors.Is(err, plant.ErrUnavailable) {
		f.err.Store(&err)
	}
	return err
}

// End records that a trial has succeeded; see TryWrite of [Store].
func (f *WriteFailure) End() { f.err.Store(nil) }

// TrialPlants returns n plants of 1 KB for TryWrite of [Store]. Their IDs begin at a
// random one, so that no client has them. The names are random, because a file system
// may compress its files.
func TrialPlants(n int) []plant.Plant {
	plants := make([]plant.Plant, n)
	var name [1000]byte
	for i := range plants {
		rand.Read(name[:]) // never fails
		plants[i] = plant.Plant{ID: int64(binary.NativeEndian.Uint64(name[:])), Name: string(name[:])}
		if i > 0 {
			plants[i].ID = plants[0].ID + int64(i)
		}
	}
	return plants
}
