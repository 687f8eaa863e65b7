package sqlite

import (
	"context"
	"errors"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// Snapshot implements [store.Store]. A checkpoint does not wait for it as it does
// for other reads of this program, because it may take minutes.
func (s *Store) Snapshot(ctx context.Context, read func(store.Snapshot) error) error {
	var failed error // of read, which may use other stores, too
	err := with(ctx, s.readers, func(conn *sqlite.Conn) error {
		if err := execute(conn, "BEGIN"); err != nil {
			return err
		}
		snapshot := snapshot{conn}
		_, err := snapshot.Count(ctx) // the first read decides what the transaction sees
		if err == nil {
			failed = read(snapshot)
		}
		return errors.Join(err, execute(conn, "ROLLBACK"))
	})
	s.files.note(err)
	return errors.Join(failed, err)
}

// snapshot implements [store.Snapshot] on a connection.
type snapshot struct{ conn *sqlite.Conn }

func (s snapshot) Count(ctx context.Context) (n int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	stmt, err := s.conn.Prepare("SELECT count(*) FROM plants")
	if err != nil {
		return 0, err
	}
	if _, err := stmt.Step(); err != nil {
		return 0, advise(err)
	}
	n = stmt.ColumnInt64(0)
	return n, stmt.Reset()
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
