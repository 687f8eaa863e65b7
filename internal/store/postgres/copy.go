package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// stepTime is how long one step of a copy may take, such as a page of plants. Without
// it, a copy would wait for ever for a server that does not respond.
const stepTime = time.Minute

// Snapshot implements [store.Store].
func (s *Store) Snapshot(ctx context.Context, read func(store.Snapshot) error) error {
	var failed error // of read
	err := s.withConnection(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if s.sharded {
			if err := waitForPrepared(ctx, conn); err != nil {
				return err
			}
		}
		if err := beginSnapshot(ctx, conn); err != nil {
			return err
		}
		failed = read(snapshot{conn})
		err := failed
		limited, cancel := context.WithTimeout(ctx, stepTime)
		defer cancel()
		if _, rollbackErr := conn.Exec(limited, `ROLLBACK`); err == nil {
			err = rollbackErr
		}
		return err
	})
	if err != nil && failed == nil {
		err = fmt.Errorf("postgres: %w", err)
	}
	return err
}

// beginSnapshot begins the transaction of a snapshot.
func beginSnapshot(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	var batch pgx.Batch
	batch.Queue(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
	// The copy may take longer than a write between two reads.
	batch.Queue(`SET LOCAL idle_in_transaction_session_timeout = '10min'`)
	batch.Queue(`SELECT FROM epochs LIMIT 1`) // the first read decides what the transaction sees
	return conn.SendBatch(ctx, &batch).Close()
}

// snapshot implements [store.Snapshot] on a connection.
type snapshot struct{ conn *pgx.Conn }

func (s snapshot) List(ctx context.Context, page plant.Page) ([]plant.Plant, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	plants, more, err := listPlants(ctx, s.conn, page)
	return plants, more, stepError(err)
}

func (s snapshot) History(ctx context.Context, after int64, limit int) ([]plant.HistoryEntry, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	entries, more, err := listHistory(ctx, s.conn, allHistory, limit, after)
	return entries, more, stepError(err)
}

func (s snapshot) Tokens(ctx context.Context) ([]token.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	tokens, err := listTokens(ctx, s.conn, selectTokens)
	return tokens, stepError(err)
}

func (s snapshot) State(ctx context.Context) (state store.State, err error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	const feed = `
		SELECT coalesce((SELECT id FROM epochs ORDER BY number DESC LIMIT 1), 0),
			coalesce((SELECT max(position) FROM changes), 0)`
	var batch pgx.Batch
	batch.Queue(`SELECT count(*) FROM plants`).QueryRow(func(row pgx.Row) error { return row.Scan(&state.Plants) })
	batch.Queue(feed).QueryRow(func(row pgx.Row) error { return row.Scan(&state.Epoch, &state.LastChange) })
	err = s.conn.SendBatch(ctx, &batch).Close()
	return state, stepError(err)
}

// stepError describes an error of a step of a copy.
func stepError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if fateOf(err) == unknown {
		return fmt.Errorf("the connection to PostgreSQL is lost: %w", err)
	}
	return fmt.Errorf("postgres: %w", err)
}

// OpenSource opens the database with the given URL as the source of a copy. It writes
// nothing.
func OpenSource(ctx context.Context, dsn string) (store.Source, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	return connect(ctx, config, checkSource)
}

// checkSource returns an error unless the database has a store with the schema
// of this program.
func checkSource(ctx context.Context, conn *pgx.Conn) error {
	have, err := number(ctx, conn, versionRow, "")
	switch {
	case code(err) == undefinedTable, errors.Is(err, pgx.ErrNoRows), err == nil && have == 0:
		return fmt.Errorf("database %s has no tables of plantstore: check the name of the database",
			conn.Config().Database)
	case err != nil:
		return err
	case have < len(schema):
		return store.OldSchema(have, len(schema))
	}
	return checkOldest(ctx, conn, have)
}

// Same reports whether two URLs lead to the same tables: to one schema of one database of
// one server or of its replicas. If the server does not tell, Same reports false.
func Same(ctx context.Context, one, other string) (bool, error) {
	first, err := tablesID(ctx, one)
	if err != nil || first == "" {
		return false, err
	}
	second, err := tablesID(ctx, other)
	return first == second, err
}

// tablesID returns a text that identifies the tables of a URL in the world. It is empty if the server does
// not tell, or not this user.
func tablesID(ctx context.Context, dsn string) (text string, err error) {
	config, err := parse(dsn)
	if err != nil {
		return "", err
	}
	s, err := connect(ctx, config, func(ctx context.Context, conn *pgx.Conn) error {
		err := conn.QueryRow(ctx, `
			SELECT concat_ws(' ', system_identifier, oid, current_schema())
			FROM pg_control_system(), pg_database WHERE datname = current_database()`).Scan(&text)
		if code(err) == undefinedFunction || code(err) == undefinedTable || code(err) == notAllowed {
			return nil // compatible with PostgreSQL, or without the privilege
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return text, s.Close()
}
