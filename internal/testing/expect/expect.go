// Package expect fails a test, which goes on, if an error is not the one that it should
// be. Package must ends the test.
package expect

import (
	"errors"
	"strings"
	"testing"
)

// NoError fails the test if there is an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// Error fails the test unless a call has returned an error that is want, or nil if want is.
func Error(t testing.TB, call string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s = %v, want %v", call, err, want)
	}
}

// Message fails the test unless a call has returned an error with a text.
func Message(t testing.TB, call string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s = %v, want an error with %q", call, err, want)
	}
}
