package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/store"
)

// Source implements [store.Source] on one connection.
type Source struct{ conn *sqlite.Conn }

var _ store.Source = (*Source)(nil)

// OpenSource opens the store in the file at path as the source of a copy. It does not
// change the file.
func OpenSource(path string) (*Source, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	conn, err := openCopied(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, advise(err))
	}
	s := &Source{conn}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, errors.Join(advise(err), conn.Close()))
	}
	return s, nil
}

// check ends the transaction of openCopied, and returns an error if the file has an old
// schema.
func (s *Source) check() error {
	_, err := checkCurrent(s.conn)
	return errors.Join(err, execute(s.conn, "ROLLBACK"))
}

// Snapshot implements [store.Source].
func (s *Source) Snapshot(ctx context.Context, read func(store.Snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	failed, err := readSnapshot(ctx, s.conn, read)
	return errors.Join(failed, translate(err))
}

// Close implements [store.Source].
func (s *Source) Close() error { return s.conn.Close() }
