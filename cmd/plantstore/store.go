package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/token"
)

// store is everything that a store of ours keeps.
type store interface {
	plant.Store
	token.Store
	Close() error
}

// openStore opens the store that --store names: a path, or sqlite: and a path.
func openStore(ctx context.Context, name string) (store, error) {
	path, explicit := strings.CutPrefix(name, "sqlite:")
	if scheme, _, ok := strings.Cut(name, "://"); ok && !explicit {
		return nil, fmt.Errorf("--store %s://…: no such kind of store: give a path, sqlite:PATH, or sqlite::memory: to keep nothing", scheme)
	}
	if path == "" {
		return nil, fmt.Errorf("--store is empty: give a path, sqlite:PATH, or sqlite::memory: to keep nothing")
	}
	if path == sqlite.Memory && !explicit {
		path = "./" + path // a file of that odd name; in memory is sqlite::memory:
	}
	return sqlite.Open(ctx, path)
}
