// Package open opens the store that a setting names. It is the one place that
// knows every engine.
package open

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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
	return choose(name,
		func(address string) (store.Store, error) { return postgres.Open(ctx, address) },
		func(path string) (store.Store, error) { return sqlite.Open(ctx, path) })
}

// ReadOnly is [Open] for a store that is only read. It changes no SQLite file.
func ReadOnly(ctx context.Context, name string) (store.Store, error) {
	return choose(name,
		func(address string) (store.Store, error) { return postgres.Open(ctx, address) },
		func(path string) (store.Store, error) { return sqlite.OpenReadOnly(path) })
}

// choose calls the function for the engine of the store that name describes.
func choose[Result any](name string, withAddress, withPath func(string) (Result, error)) (result Result, err error) {
	if err := check(name); err != nil {
		return result, err
	}
	if postgres.IsDSN(name) {
		result, err = withAddress(name)
		return result, describe(name, err)
	}
	path, err := sqlitePath(name)
	if err != nil {
		return result, err
	}
	return withPath(path)
}

// describe returns an error of a database with the name of the store.
func describe(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--store %s: %w", Redacted(name), err)
}

// Check returns an error if no store can have this name. It opens nothing.
func Check(name string) error {
	_, err := choose(name,
		func(address string) (any, error) { return nil, postgres.Check(address) },
		func(path string) (any, error) { return nil, sqlite.Check(path) })
	return err
}

// sqlitePath returns the path in the name of a store that is not PostgreSQL.
func sqlitePath(name string) (string, error) {
	if name == sqlite.Memory {
		return "./" + name, nil // a file of that name; a store in memory is sqlite::memory:
	}
	if IsURL(name) {
		return "", fmt.Errorf("--store %s: unknown kind of store: "+
			"give a path, sqlite:PATH, postgres://…, or sqlite::memory: (keeps nothing)", Redacted(name))
	}
	path := strings.TrimPrefix(name, "sqlite:")
	if path == "" {
		return "", errors.New("--store is empty: " +
			"give a path, sqlite:PATH, postgres://…, or sqlite::memory: (keeps nothing)")
	}
	return path, nil
}

// Source opens the store that name describes as the source of a copy, and changes
// nothing. It cannot be in memory.
func Source(ctx context.Context, name string) (store.Source, error) {
	return choose(name,
		func(address string) (store.Source, error) { return postgres.OpenSource(ctx, address) },
		func(path string) (store.Source, error) { return sqlite.OpenSource(path) })
}

// Same reports whether two names describe the same store, in another spelling, by a
// link, or by another host of a database. An error is about other.
func Same(ctx context.Context, name, other string) (bool, error) {
	if postgres.IsDSN(name) != postgres.IsDSN(other) {
		return false, nil
	}
	if postgres.IsDSN(name) {
		same, err := postgres.Same(ctx, name, other)
		return same, describe(other, err)
	}
	path, nameErr := sqlitePath(name)
	otherPath, otherErr := sqlitePath(other)
	if err := cmp.Or(nameErr, otherErr); err != nil {
		return false, err
	}
	return sameFile(path, otherPath), nil
}

// sameFile reports whether two paths lead to one file. If a file does not exist, they do not.
func sameFile(path, other string) bool {
	file, _ := os.Stat(path) // nil if there is an error, and then no file is the same
	otherFile, _ := os.Stat(other)
	return os.SameFile(file, otherFile)
}

// Target opens the store that name describes as the target of a copy. A SQLite file must
// not exist yet, a PostgreSQL database must be empty.
func Target(ctx context.Context, name string) (store.Target, error) {
	return choose(name,
		func(address string) (store.Target, error) { return postgres.OpenTarget(ctx, address) },
		func(path string) (store.Target, error) { return sqlite.OpenTarget(ctx, path) })
}

// Distribute spreads the plants of a PostgreSQL database that has the extension Citus
// over its workers. It does nothing if they are spread already, and completes what
// was interrupted. Call [CheckDistribute] first.
func Distribute(ctx context.Context, name string) error {
	return describe(name, postgres.Distribute(ctx, name))
}

// CheckDistribute returns an error if a store with this name cannot be distributed. It
// opens nothing.
func CheckDistribute(name string) error {
	if err := check(name); err != nil {
		return err
	}
	if !postgres.IsDSN(name) {
		return fmt.Errorf("--store %s is not a PostgreSQL database: "+
			"only one with the extension Citus can be distributed", Redacted(name))
	}
	return nil
}

// inMemory is the name of a store in memory.
const inMemory = "sqlite:" + sqlite.Memory

// InMemory reports whether name describes a store in memory, which ends with its
// process.
func InMemory(name string) bool { return name == inMemory }

// File returns the path of the file of the store. It fails for a store that is
// not a file.
func File(name string) (string, error) {
	if err := check(name); err != nil {
		return "", err
	}
	if IsURL(name) || slices.Contains(namesWithoutFile, name) {
		return "", fmt.Errorf("--store %s is not a SQLite file: "+
			"give a path or sqlite:PATH; for PostgreSQL use pg_dump and pg_restore", Redacted(name))
	}
	return strings.TrimPrefix(name, "sqlite:"), nil
}

// namesWithoutFile are the names of stores on this machine that are not a file.
var namesWithoutFile = []string{"", "sqlite:", inMemory}

// IsURL reports whether name describes a server rather than a file.
func IsURL(name string) bool {
	return strings.Contains(name, "://") && !strings.HasPrefix(name, "sqlite:")
}
