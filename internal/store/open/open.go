// Package open opens the store that a setting names. It is the one place that
// knows every engine.
package open

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/postgres"
	"github.com/plantstore/plantstore/internal/store/sqlite"
)

// Default is the default of --store.
const Default = "plantstore.db"

// Open opens the store that name describes: a path, sqlite: and a path,
// sqlite::memory:, or the URL of a PostgreSQL database. A store that does not
// exist yet is created.
func Open(ctx context.Context, name string) (store.Store, error) {
	if err := check(name); err != nil {
		return nil, err
	}
	if postgres.IsDSN(name) {
		s, err := postgres.Open(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("--store %s: %w", Redacted(name), err)
		}
		return s, nil
	}
	path, err := sqlitePath(name)
	if err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, path)
}

// sqlitePath returns the path in the name of a store that is not PostgreSQL.
func sqlitePath(name string) (string, error) {
	path, explicit := strings.CutPrefix(name, "sqlite:")
	if IsURL(name) {
		return "", fmt.Errorf("--store %s: unknown kind of store: give a path, sqlite:PATH, postgres://…, or sqlite::memory: (keeps nothing)", Redacted(name))
	}
	if path == "" {
		return "", errors.New("--store is empty: give a path, sqlite:PATH, postgres://…, or sqlite::memory: (keeps nothing)")
	}
	if path == sqlite.Memory && !explicit {
		path = "./" + path // a file of that name; a store in memory is sqlite::memory:
	}
	return path, nil
}

// Target opens the store that name describes as the target of a copy. A store that
// does not exist yet is created. It cannot be in memory.
func Target(ctx context.Context, name string) (store.Target, error) {
	if err := check(name); err != nil {
		return nil, err
	}
	if postgres.IsDSN(name) {
		t, err := postgres.OpenTarget(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("--store %s: %w", Redacted(name), err)
		}
		return t, nil
	}
	path, err := sqlitePath(name)
	if err != nil {
		return nil, err
	}
	return sqlite.OpenTarget(ctx, path)
}

// EnableChanges gives the feed of changes to a store that an earlier release
// created. Programs of that release cannot write to it afterwards. It does nothing if
// the store has the feed.
func EnableChanges(ctx context.Context, name string) error {
	if err := check(name); err != nil {
		return err
	}
	if postgres.IsDSN(name) {
		if err := postgres.EnableChanges(ctx, name); err != nil {
			return fmt.Errorf("--store %s: %w", Redacted(name), err)
		}
		return nil
	}
	path, err := File(name)
	if err != nil {
		return err
	}
	return sqlite.EnableChanges(ctx, path)
}

// InMemory reports whether name describes a store in memory, which ends with its
// process.
func InMemory(name string) bool { return name == "sqlite:"+sqlite.Memory }

// File returns the path of the file of the store. It fails for a store that is
// not a file.
func File(name string) (string, error) {
	if err := check(name); err != nil {
		return "", err
	}
	path := strings.TrimPrefix(name, "sqlite:")
	if path == "" || InMemory(name) || IsURL(name) {
		return "", fmt.Errorf("--store %s is not a SQLite file: give a path or sqlite:PATH; for PostgreSQL use pg_dump and pg_restore", Redacted(name))
	}
	return path, nil
}

// IsURL reports whether name describes a server rather than a file.
func IsURL(name string) bool {
	return strings.Contains(name, "://") && !strings.HasPrefix(name, "sqlite:")
}
