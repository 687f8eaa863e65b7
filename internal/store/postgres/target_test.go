package postgres

import (
	"context"
	"testing"

	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/pgtest"
	"github.com/plantstore/plantstore/internal/store/storetest"
)

func TestCopyTarget(t *testing.T) {
	t.Parallel()
	storetest.Copy(t, func(t *testing.T) storetest.Place {
		dsn := pgtest.DSN(t)
		return storetest.Place{
			Open:   func(ctx context.Context) (store.Store, error) { return Open(ctx, dsn) },
			Target: func(ctx context.Context) (store.Target, error) { return OpenTarget(ctx, dsn) },
		}
	})
}
