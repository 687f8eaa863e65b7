package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/plantstore/plantstore/internal/store"
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
