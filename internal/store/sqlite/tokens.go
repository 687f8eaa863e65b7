package sqlite

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

var tokenColumns = columns[token.Token](store.TokenColumns)

var (
	insertTokenQuery = tokenColumns.insert("tokens", 1)
	updateTokenQuery = tokenColumns.update("tokens")
	getTokenQuery    = "SELECT " + tokenColumns.names("") + " FROM tokens WHERE id = ?"
	listTokensQuery  = "SELECT " + tokenColumns.names("") + " FROM tokens ORDER BY created_at, id"
)

// CreateToken implements [token.Store].
func (s *Store) CreateToken(ctx context.Context, t token.Token) error {
	return s.write(ctx, func(conn *sqlite.Conn) error { return tokenColumns.write(conn, insertTokenQuery, t) })
}

// Token implements [token.Store].
func (s *Store) Token(ctx context.Context, id string) (t token.Token, err error) {
	defer s.durations.Since(time.Now(), "token")
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		t, err = tokenColumns.one(conn, getTokenQuery, token.ErrNotFound, id)
		return err
	})
	return t, err
}

// Tokens implements [token.Store].
func (s *Store) Tokens(ctx context.Context) (all []token.Token, err error) {
	err = s.readMany(ctx, func(conn *sqlite.Conn) error {
		all, err = listTokens(conn)
		return err
	})
	return all, err
}

func listTokens(conn *sqlite.Conn) (all []token.Token, err error) {
	err = tokenColumns.query(conn, listTokensQuery, func(t *token.Token) { all = append(all, *t) })
	return all, err
}

// UpdateToken implements [token.Store].
func (s *Store) UpdateToken(ctx context.Context, id string, change func(*token.Token) error) error {
	return s.write(ctx, func(conn *sqlite.Conn) error {
		t, err := tokenColumns.one(conn, getTokenQuery, token.ErrNotFound, id)
		if err != nil {
			return err
		}
		changed := t
		if err := change(&changed); err != nil {
			return err
		}
		changed.ID, changed.CreatedAt, changed.LastUsedAt = t.ID, t.CreatedAt, t.LastUsedAt
		return tokenColumns.write(conn, updateTokenQuery, changed)
	})
}

// TouchTokens implements [token.Store]. If it changes no row, SQLite does not
// write to the disk.
func (s *Store) TouchTokens(ctx context.Context, used map[string]time.Time) error {
	return s.write(ctx, func(conn *sqlite.Conn) error {
		for id, at := range used {
			err := execute(conn, `
				UPDATE tokens SET last_used_at = ?2
				WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at + ?3 <= ?2)`,
				id, at.UnixMicro(), token.TouchInterval.Microseconds())
			if err != nil {
				return err
			}
		}
		return nil
	})
}
