package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// The reasons why a service without a fault takes no requests.
var (
	ErrStarting = errors.New("starting")
	ErrDraining = errors.New("stopping: the service finishes the requests in flight and then ends")

	errReadOnly = errors.New("the service is read-only")
)

// Health reports whether the service takes requests. The zero Health is that of
// a service that is starting. Its methods are safe for concurrent use.
type Health struct {
	mu       sync.Mutex
	check    func(context.Context) error // of the store; nil: starting
	writes   func() error                // why writes fail
	draining bool
}

// Started marks the service as ready, as long as check, which checks the store,
// returns nil, and as writable, as long as writes returns nil, too.
func (h *Health) Started(check func(context.Context) error, writes func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.check, h.writes = check, writes
}

// Drain marks the service as stopping. It is called before the listener closes,
// so that load balancers stop sending requests here. The store is not checked
// again.
func (h *Health) Drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining = true
}

// Ready returns nil if the service takes requests, and otherwise the reason:
// [ErrStarting], [ErrDraining], or the error of the store. It returns when ctx
// ends, even if the store does not.
func (h *Health) Ready(ctx context.Context) error {
	h.mu.Lock()
	check, draining := h.check, h.draining
	h.mu.Unlock()
	switch {
	case draining:
		return ErrDraining
	case check == nil:
		return ErrStarting
	}
	checked := make(chan error, 1)
	go func() { checked <- check(ctx) }()
	var err error
	select {
	case err = <-checked:
	case <-ctx.Done(): // a call to a disk that hangs does not return
		err = ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the store does not respond in time")
	}
	if err != nil {
		return fmt.Errorf("the store fails: %w", err)
	}
	return nil
}

// Writable returns nil if the service is ready and writes work, and otherwise the
// reason.
func (h *Health) Writable(ctx context.Context) error {
	if err := h.Ready(ctx); err != nil {
		return err
	}
	if err := h.writes(); err != nil {
		return fmt.Errorf("writes fail: %w", err)
	}
	return nil
}
