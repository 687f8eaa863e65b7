package sqlite

import (
	"context"
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
			Target: func(ctx context.Context, source []int64) (store.Target, error) { return OpenTarget(ctx, path, source) },
		}
	}
	storetest.Copy(t, place)
	storetest.CopyOfFeed(t, place)
}

// A copy that is stopped after it has created its file leaves no store that another program uses.
func TestTargetIsIncompleteAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plants.db")
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // ends it behind the transaction that makes the schema
	_, err := OpenTarget(ctx, path, []int64{7})
	expect.Message(t, "OpenTarget", err, "interrupted")
	_, err = Open(t.Context(), path)
	expect.Error(t, "Open", err, store.ErrIncomplete)
	target, err := OpenTarget(t.Context(), path, []int64{7})
	must.NoError(t, err)
	must.NoError(t, target.Close())
}
