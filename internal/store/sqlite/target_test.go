package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/storetest"
)

func TestCopyTarget(t *testing.T) {
	t.Parallel()
	place := func(t *testing.T) storetest.Place {
		path := filepath.Join(t.TempDir(), "plants.db")
		return storetest.Place{
			Open:   func(ctx context.Context) (store.Store, error) { return Open(ctx, path) },
			Target: func(ctx context.Context) (store.Target, error) { return OpenTarget(ctx, path) },
		}
	}
	storetest.Copy(t, place)
	storetest.CopyOfFeed(t, place)
}

// The next copy overwrites what a killed one has left, whatever it is, and follows no link.
func TestRestOfAKilledCopy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	rest := path + copySuffix
	must.NoError(t, os.WriteFile(rest, []byte("half of a page"), 0o600))
	_, err := Open(t.Context(), rest)
	expect.Message(t, "Open of the rest", err, "a file with this name belongs to the store "+path)
	target, err := OpenTarget(t.Context(), path)
	must.NoError(t, err)
	_, err = OpenTarget(t.Context(), path)
	expect.Message(t, "a second OpenTarget", err, "another plantstore copy fills this store: wait until it ends")
	must.NoError(t, target.Publish(t.Context()))
	must.NoError(t, target.Close())
	if _, err := os.Stat(rest); !os.IsNotExist(err) {
		t.Errorf("the rest is still there: %v", err)
	}
	_, err = OpenTarget(t.Context(), path)
	expect.Message(t, "OpenTarget of a store", err, "this file exists; give another path, or move the file with its -wal")
	openStore(t, path)

	other := filepath.Join(t.TempDir(), "other.db")
	must.NoError(t, os.Symlink(path, other+copySuffix))
	_, err = OpenTarget(t.Context(), other)
	expect.Message(t, "OpenTarget beside a link", err, "another plantstore copy fills this store")
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("the target of the link was changed: %v", err)
	}
}

// A copy is not published beside the files of a store that were created while it was filled.
func TestTargetCreatedMeanwhile(t *testing.T) {
	t.Parallel()
	for suffix, want := range map[string]string{
		"":     "this file exists; give another path, or move the file with its -wal",
		"-wal": "plants.db-wal belongs to an old store; move it to the directory of that store",
	} {
		path := filepath.Join(t.TempDir(), "plants.db")
		target, err := OpenTarget(t.Context(), path)
		must.NoError(t, err)
		must.NoError(t, os.WriteFile(path+suffix, []byte("of another program"), 0o600))
		expect.Message(t, "Publish", target.Publish(t.Context()), want)
		must.NoError(t, target.Close())
		wantFiles(t, filepath.Dir(path), "plants.db"+suffix)
	}
}
