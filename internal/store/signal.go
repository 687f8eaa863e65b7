package store

import "sync"

// Signal tells any number of goroutines that something has happened. The zero value
// is ready for use.
type Signal struct {
	mu sync.Mutex
	c  chan struct{} // nil: no goroutine waits
}

// Wait returns a channel that the next call of Send closes.
func (s *Signal) Wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

// Send closes the channels of Wait.
func (s *Signal) Send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
}
