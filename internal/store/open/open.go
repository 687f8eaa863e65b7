// Package open opens the store that a setting names. It is the one place that
// knows every engine.
package open

import (
	"context"
	"errors"
	"fmt"
	"os"
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
		func(dsn string) (store.Store, error) { return postgres.Open(ctx, dsn) },
		func(path string) (store.Store, error) { return sqlite.Open(ctx, path) })
}

// ReadOnly is [Open] for a store that is only read. It changes no SQLite file.
func ReadOnly(ctx context.Context, name string) (store.Store, error) {
	return choose(name,
		func(dsn string) (store.Store, error) { return postgres.Open(ctx, dsn) },
		func(path string) (store.Store, error) { return sqlite.OpenReadOnly(path) })
}

// choose opens the store that name describes with the function of its engine.
func choose[T any](name string, database, file func(place string) (T, error)) (opened T, err error) {
	if err := check(name); err != nil {
		return opened, err
	}
	if postgres.IsDSN(name) {
		opened, err = database(name)
		return opened, describe(name, err)
	}
	path, err := sqlitePath(name)
	if err != nil {
		return opened, err
	}
	return file(path)
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
		func(dsn string) (any, error) { return nil, postgres.Check(dsn) },
		func(path string) (any, error) { return nil, sqlite.Check(path) })
	return err
}

// sqlitePath returns the path in the name of a store that is not PostgreSQL.
func sqlitePath(name string) (string, error) {
	path, explicit := strings.CutPrefix(name, "sqlite:")
	if IsURL(name) {
		return "", fmt.Errorf("--store %s: unknown kind of store: "+
			"give a path, sqlite:PATH, postgres://…, or sqlite::memory: (keeps nothing)", Redacted(name))
	}
	if path == "" {
		return "", errors.New("--store is empty: " +
			"give a path, sqlite:PATH, postgres://…, or sqlite::memory: (keeps nothing)")
	}
	if path == sqlite.Memory && !explicit {
		path = "./" + path // a file of that name; a store in memory is sqlite::memory:
	}
	return path, nil
}

// Source opens the store that name describes as the source of a copy, and changes
// nothing. It cannot be in memory.
func Source(ctx context.Context, name string) (store.Source, error) {
	return choose(name,
		func(dsn string) (store.Source, error) { return postgres.OpenSource(ctx, dsn) },
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
	path, err := sqlitePath(name)
	if err != nil {
		return false, err
	}
	otherPath, err := sqlitePath(other)
	if err != nil {
		return false, err
	}
	return sameFile(path, otherPath), nil
}

// sameFile reports whether two paths lead to one file. If a file does not exist, they do not.
func sameFile(path, other string) bool {
	file, err := os.Stat(path)
	if err != nil {
		return false
	}
	otherFile, err := os.Stat(other)
	return err == nil && os.SameFile(file, otherFile)
}

// Target opens the store that name describes as the target of a copy. A SQLite file must
// not exist yet, a PostgreSQL database must be empty.
func Target(ctx context.Context, name string) (store.Target, error) {
	return choose(name,
		func(dsn string) (store.Target, error) { return postgres.OpenTarget(ctx, dsn) },
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
		return "", fmt.Errorf("--store %s is not a SQLite file: "+
			"give a path or sqlite:PATH; for PostgreSQL use pg_dump and pg_restore", Redacted(name))
	}
	return path, nil
}

// IsURL reports whether name describes a server rather than a file.
func IsURL(name string) bool {
	return strings.Contains(name, "://") && !strings.HasPrefix(name, "sqlite:")
}
