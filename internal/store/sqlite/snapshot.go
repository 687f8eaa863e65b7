package sqlite

import (
	"context"
	"errors"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// Snapshot implements [store.Store]. A checkpoint does not wait for it as it does
// for other reads of this program, because it may take minutes.
func (s *Store) Snapshot(ctx context.Context, read func(store.Snapshot) error) error {
	if err := s.files.whole(); err != nil {
		return err
	}
	var failed error // of read, which may use other stores, too
	err := with(ctx, s.readers, func(conn *sqlite.Conn) (err error) {
		failed, err = readSnapshot(ctx, conn, read)
		return err
	})
	s.files.note(err)
	return errors.Join(failed, err)
}

// readSnapshot calls read in a transaction. It returns the error of read and that of
// the transaction.
func readSnapshot(ctx context.Context, conn *sqlite.Conn, read func(store.Snapshot) error) (failed, err error) {
	if err := execute(conn, "BEGIN"); err != nil {
		return nil, err
	}
	snapshot := snapshot{conn}
	_, err = snapshot.Epochs(ctx) // the first read decides what the transaction sees
	if err == nil {
		failed = read(snapshot)
	}
	return failed, errors.Join(err, execute(conn, "ROLLBACK"))
}

// snapshot implements [store.Snapshot] on a connection.
type snapshot struct{ conn *sqlite.Conn }

func (s snapshot) Count(ctx context.Context) (n int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, err = number(s.conn, "SELECT count(*) FROM plants")
	return n, advise(err)
}

func (s snapshot) List(ctx context.Context, page plant.Page) ([]plant.Plant, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	plants, more, err := listPlants(s.conn, page)
	return plants, more, advise(err)
}

func (s snapshot) Tokens(ctx context.Context) ([]token.Token, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	tokens, err := listTokens(s.conn)
	return tokens, advise(err)
}

func (s snapshot) Epochs(ctx context.Context) (epochs []int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = sqlitex.ExecuteTransient(s.conn, "SELECT id FROM epochs ORDER BY number DESC", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			epochs = append(epochs, stmt.ColumnInt64(0))
			return nil
		},
	})
	return epochs, advise(err)
}

func (s snapshot) LastChange(ctx context.Context) (n int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, err = number(s.conn, "SELECT "+lastPosition)
	return n, advise(err)
}
