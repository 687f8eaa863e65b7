// Package must ends a test that cannot go on.
package must

import (
	"os"
	"strconv"
	"testing"
)

// NoError ends the test if there is an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Number returns the number in an environment variable, or another one if it is not set.
func Number(t testing.TB, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// HaveTime skips a test that takes seconds of processor time if -short is set, as in make test. make check runs it.
func HaveTime(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds: make check runs it")
	}
}
