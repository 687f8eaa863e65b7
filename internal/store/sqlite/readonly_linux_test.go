package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// Every write to a store that is open for reading fails, and reads work.
func TestOpenReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path) // stays open, so that the log has the plant
	must(t, s.Create(t.Context(), plant.Plant{ID: 1}))
	r, err := OpenReadOnly(path)
	must(t, err)
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, err = r.Get(t.Context(), 1)
	wantErr(t, "Get", err, nil)
	wantErr(t, "Ready", r.Ready(t.Context()), nil)
	for name, write := range map[string]func() error{
		"Create":        func() error { return r.Create(t.Context(), plant.Plant{ID: 2}) },
		"Delete":        func() error { return r.Delete(t.Context(), 1, plant.Precondition{}) },
		"CreateToken":   func() error { return r.CreateToken(t.Context(), token.Token{ID: "a"}) },
		"BeginEpoch":    func() error { return r.BeginEpoch(t.Context()) },
		"ForgetChanges": func() error { return r.ForgetChanges(t.Context(), time.Now().Add(time.Hour)) },
	} {
		if err := write(); !errors.Is(err, plant.ErrUnavailable) {
			t.Errorf("%s = %v, want %v", name, err, plant.ErrUnavailable)
		}
	}
}

// SQLite cannot read a store without a log if it cannot create one, and the error says so.
func TestOpenReadOnlyInReadOnlyDirectory(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "plants.db")
	s, err := Open(t.Context(), path)
	must(t, err)
	must(t, s.Close())
	must(t, os.Chmod(folder, 0o555))
	t.Cleanup(func() { _ = os.Chmod(folder, 0o755) })
	readOnly(t, path)
	s, err = OpenReadOnly(path)
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "write permission for the directory") {
		t.Errorf("OpenReadOnly = %v, want the next step", err)
	}
}
