package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/metrics"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/postgres"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/token"
)

// store is everything that a store of ours keeps.
type store interface {
	plant.Store
	token.Store
	Ready(ctx context.Context) error
	Metrics(w *metrics.Writer)
	Close() error
}

const defaultStore = "plantstore.db"

// keepIn is what --store means to a command that works on a whole store.
const keepIn = "keep plants and tokens in `STORE`: a path, sqlite:PATH, sqlite::memory: (gone at the end), or postgres://…"

// storeFlag is --store, for every command that needs a store.
func storeFlag(usage string) cli.Flag {
	return &cli.StringFlag{
		Name:    "store",
		Usage:   usage,
		Value:   defaultStore,
		Sources: cli.EnvVars("PLANTSTORE_STORE"),
	}
}

// storePath returns the file that --store names, for commands that need one.
func storePath(name string) (string, error) {
	path, explicit := strings.CutPrefix(name, "sqlite:")
	if path == "" || path == sqlite.Memory && explicit || isURL(name) {
		return "", fmt.Errorf("--store %s is no file: give a path or sqlite:PATH", showStore(name))
	}
	return path, nil
}

// openStore opens the store that --store names: a path, sqlite: and a path, or
// the URL of a PostgreSQL database.
func openStore(ctx context.Context, name string) (store, error) {
	if postgres.IsDSN(name) {
		store, err := postgres.Open(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("--store %s: %w", showStore(name), err)
		}
		return store, nil
	}
	path, explicit := strings.CutPrefix(name, "sqlite:")
	if isURL(name) {
		return nil, fmt.Errorf("--store %s: no such kind of store: give a path, sqlite:PATH, postgres://…, or sqlite::memory: to keep nothing", showStore(name))
	}
	if path == "" {
		return nil, fmt.Errorf("--store is empty: give a path, sqlite:PATH, or sqlite::memory: to keep nothing")
	}
	if path == sqlite.Memory && !explicit {
		path = "./" + path // a file of that odd name; in memory is sqlite::memory:
	}
	return sqlite.Open(ctx, path)
}

// isURL reports whether the store is not a file but somewhere else.
func isURL(name string) bool {
	return strings.Contains(name, "://") && !strings.HasPrefix(name, "sqlite:")
}

// showStore names a store in a message. A URL may hold a password.
func showStore(name string) string {
	if scheme, _, _ := strings.Cut(name, "://"); isURL(name) {
		return scheme + "://…"
	}
	return name
}
