package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// The line says how far a run has come, and is gone when the report is written.
func TestProgress(t *testing.T) {
	t.Parallel()
	var terminal bytes.Buffer
	hide := showProgress(&terminal, func() contracttest.Progress {
		return contracttest.Progress{Operations: 12, Requests: 5230, Causes: 4}
	})
	hide()
	const want = clearLine + "operations: 12, requests: 5230, causes: 4, 0s" + clearLine
	if got := terminal.String(); got != want {
		t.Errorf("the terminal got %q, want %q", got, want)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	must.NoError(t, err)
	defer file.Close()
	if isTerminal(file) {
		t.Error("a file is taken for a terminal")
	}
}
