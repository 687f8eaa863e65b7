package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/atomicfile"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// Snapshot implements [store.Store].
func (s *Store) Snapshot(ctx context.Context, read func(store.Snapshot) error) error {
	var failed error // of read, which may use other stores, too
	err := s.read(ctx, func(conn *sqlite.Conn) error {
		if err := execute(conn, "BEGIN"); err != nil {
			return err
		}
		_, err := number(conn, "SELECT max(number) FROM epochs") // the first read decides what the transaction sees
		if err == nil {
			failed = read(snapshot{conn})
		}
		return errors.Join(err, execute(conn, "ROLLBACK"))
	})
	return errors.Join(failed, err)
}

// snapshot implements [store.Snapshot] on a connection.
type snapshot struct{ conn *sqlite.Conn }

func (s snapshot) List(ctx context.Context, page plant.Page) (plants []plant.Plant, more bool, err error) {
	plants, err = step(ctx, func() (_ []plant.Plant, err error) {
		plants, more, err = listPlants(s.conn, page)
		return plants, err
	})
	return plants, more, err
}

func (s snapshot) History(ctx context.Context, after int64, limit int) (entries []plant.HistoryEntry, more bool, err error) {
	entries, err = step(ctx, func() (_ []plant.HistoryEntry, err error) {
		entries, more, err = listHistory(s.conn, allHistoryQuery, limit, after)
		return entries, err
	})
	return entries, more, err
}

func (s snapshot) Tokens(ctx context.Context) ([]token.Token, error) {
	return step(ctx, func() ([]token.Token, error) { return listTokens(s.conn) })
}

func (s snapshot) State(ctx context.Context) (store.State, error) {
	return step(ctx, func() (state store.State, err error) {
		err = query(s.conn, `
			SELECT (SELECT count(*) FROM plants), (SELECT id FROM epochs ORDER BY number DESC LIMIT 1),
				coalesce((SELECT max(position) FROM changes), 0)`,
			func(row *sqlite.Stmt) error {
				state = store.State{Plants: row.ColumnInt64(0), Epoch: row.ColumnInt64(1), LastChange: row.ColumnInt64(2)}
				return nil
			})
		return state, err
	})
}

// step reads a part of a snapshot.
func step[T any](ctx context.Context, read func() (T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}
	result, err = read()
	return result, advise(err)
}

// copySuffix is the suffix of the file that a copy fills until it is complete.
const copySuffix = "-unfinished-copy"

// Target implements [store.Target] with one transaction, in a file that has another name until
// Publish. (With a transaction for each page of plants, the pages of the indexes are written
// again and again.)
type Target struct {
	snapshot
	path string
	file *atomicfile.File
}

var _ store.Target = (*Target)(nil)

// forTarget are the pragmas of the connection that fills a target. A crash leaves nothing
// that is used, so nothing must be durable before the file is complete.
var forTarget = []string{
	// The journal has only the pages that the file has before the transaction, which are few.
	"PRAGMA journal_mode = MEMORY",
	"PRAGMA synchronous = OFF",

	// Names and tags come in no order, so each plant changes other pages of their indexes. In
	// KiB.
	"PRAGMA cache_size = -65536",
}

// OpenTarget opens a new store, which gets the given path when it is published, as the target
// of a copy.
func OpenTarget(ctx context.Context, path string) (t *Target, err error) {
	defer describeOpen(path, &err)
	if err := checkTarget("", path, false); err != nil {
		return nil, err
	}
	file, err := atomicfile.CreateLocked(path, copySuffix, 0o600)
	if errors.Is(err, atomicfile.ErrLocked) {
		return nil, errors.New("another plantstore copy fills this store: wait until it ends")
	}
	if err != nil {
		return nil, err
	}
	t = &Target{path: path, file: file}
	if err := t.open(ctx); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// open opens the file, creates the schema, and begins the transaction.
func (t *Target) open(ctx context.Context) (err error) {
	if t.conn, err = openConn(t.file.Name(), forTarget, sqlite.OpenReadWrite); err != nil {
		return err
	}
	if _, err := migrate(ctx, t.conn); err != nil {
		return err
	}
	return execute(t.conn, "BEGIN IMMEDIATE")
}

// AddPlants implements [store.Target].
func (t *Target) AddPlants(ctx context.Context, plants []plant.Plant) error {
	rows, err := store.RowsOf(plants)
	if err != nil {
		return err
	}
	return t.add(ctx, func() error { return writePlants(t.conn, store.Effect{Insert: rows}) })
}

// AddHistory implements [store.Target].
func (t *Target) AddHistory(ctx context.Context, entries []plant.HistoryEntry) error {
	return t.add(ctx, func() error {
		_, err := storeHistory(t.conn, entries, 0)
		return err
	})
}

// AddTokens implements [store.Target].
func (t *Target) AddTokens(ctx context.Context, tokens []token.Token) error {
	for _, each := range tokens {
		err := t.add(ctx, func() error { return writeToken(t.conn, insertTokenQuery, each) })
		if err != nil {
			return err
		}
	}
	return nil
}

// add runs a part of the transaction.
func (t *Target) add(ctx context.Context, run func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := run(); err != nil {
		return fmt.Errorf("%s: %w", t.file.Name(), advise(err))
	}
	return nil
}

// Publish implements [store.Target].
func (t *Target) Publish(ctx context.Context) error {
	if err := t.add(ctx, func() error { return executeAll(t.conn, append(chainCopied, "COMMIT")...) }); err != nil {
		return err
	}
	if err := t.closeConn(); err != nil {
		return err
	}
	// Another program may have created a store there while this one was filled.
	if err := checkTarget("", t.path, false); err != nil {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	return t.file.Publish(false)
}

// Close implements [store.Target].
func (t *Target) Close() error {
	err := t.closeConn()
	t.file.Discard()
	return err
}

// closeConn closes the connection, unless it is closed already.
func (t *Target) closeConn() (err error) {
	if t.conn != nil {
		err = t.conn.Close()
		t.conn = nil
	}
	return err
}
