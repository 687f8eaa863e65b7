package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Why a service takes no requests although nothing is broken.
var (
	ErrStarting = errors.New("starting")
	ErrDraining = errors.New("draining: requests in flight are being finished, then the service ends")
)

// Health knows whether the service takes requests. The zero Health belongs to a
// service that is starting. Its methods may be called from any number of
// goroutines.
type Health struct {
	mu       sync.Mutex
	ask      func(context.Context) error // nil: starting
	draining bool
}

// Started says that the service takes requests from now on, as long as ask,
// which asks the store, returns nil.
func (h *Health) Started(ask func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ask = ask
}

// Drain says that the service is about to end. It is called before the listener
// closes, so that nobody is sent here any more. The store is not asked again.
func (h *Health) Drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining = true
}

// Ready returns nil if the service takes requests, and otherwise why it does
// not: [ErrStarting], [ErrDraining], or what is wrong with the store. It returns
// when ctx ends, whatever the store does.
func (h *Health) Ready(ctx context.Context) error {
	h.mu.Lock()
	ask, draining := h.ask, h.draining
	h.mu.Unlock()
	switch {
	case draining:
		return ErrDraining
	case ask == nil:
		return ErrStarting
	}
	answer := make(chan error, 1)
	go func() { answer <- ask(ctx) }()
	var err error
	select {
	case err = <-answer:
	case <-ctx.Done(): // a disk that hangs is deaf to it
		err = ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the store does not answer in time")
	}
	if err != nil {
		return fmt.Errorf("the store fails: %w", err)
	}
	return nil
}
