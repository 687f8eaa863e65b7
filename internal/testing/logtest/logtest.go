// Package logtest has a log for tests.
package logtest

import (
	"strings"
	"sync"
)

// Log keeps what is logged. Several goroutines may write and read it at the same time.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *Log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// String returns what was logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
