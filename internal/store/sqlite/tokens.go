package sqlite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/token"
)

const insertTokenQuery = `
	INSERT INTO tokens (
		id, name, scopes, secret_hash, created_at, expires_at, revoked_at, last_used_at,
		old_secret_hash, old_secret_until)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// CreateToken implements [token.Store].
func (s *Store) CreateToken(ctx context.Context, created token.Token) error {
	return s.runWrite(ctx, func(conn *sqlite.Conn) error { return writeToken(conn, insertTokenQuery, created) })
}

// writeToken runs a statement whose parameters are the ten columns of a token, in the order of insertTokenQuery.
func writeToken(conn *sqlite.Conn, statement string, written token.Token) error {
	stmt, err := conn.Prepare(statement) // with NULL as each parameter
	if err != nil {
		return err
	}
	stmt.BindText(1, written.ID)
	stmt.BindText(2, written.Name)
	stmt.BindText(3, token.JoinScopes(written.Scopes, " "))
	stmt.BindBytes(4, written.SecretHash[:])
	bindTime(stmt, 5, written.CreatedAt)
	bindTime(stmt, 6, written.ExpiresAt)
	bindTime(stmt, 7, written.RevokedAt)
	bindTime(stmt, 8, written.LastUsedAt)
	if written.OldSecretHash != [sha256.Size]byte{} {
		stmt.BindBytes(9, written.OldSecretHash[:])
	}
	bindTime(stmt, 10, written.OldSecretUntil)
	_, err = stmt.Step()
	return cmp.Or(err, stmt.Reset())
}

const getTokenQuery = `
	SELECT id, name, scopes, secret_hash, created_at, expires_at, revoked_at, last_used_at,
		old_secret_hash, old_secret_until
	FROM tokens WHERE id = ?`

// Token implements [token.Store].
func (s *Store) Token(ctx context.Context, id string) (found token.Token, err error) {
	defer s.durations.Since(time.Now(), "token")
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		found, err = getToken(conn, id)
		return err
	})
	return found, err
}

func getToken(conn *sqlite.Conn, id string) (token.Token, error) {
	stmt, err := conn.Prepare(getTokenQuery)
	if err != nil {
		return token.Token{}, err
	}
	stmt.BindText(1, id)
	if err := stepToRow(stmt, token.ErrNotFound); err != nil {
		return token.Token{}, err
	}
	found, err := tokenFromRow(stmt)
	return found, cmp.Or(err, stmt.Reset())
}

const listTokensQuery = `
	SELECT id, name, scopes, secret_hash, created_at, expires_at, revoked_at, last_used_at,
		old_secret_hash, old_secret_until
	FROM tokens ORDER BY created_at, id`

// Tokens implements [token.Store].
func (s *Store) Tokens(ctx context.Context) (tokens []token.Token, err error) {
	err = s.readMany(ctx, func(conn *sqlite.Conn) error {
		tokens, err = listTokens(conn)
		return err
	})
	return tokens, err
}

func listTokens(conn *sqlite.Conn) (tokens []token.Token, err error) {
	err = query(conn, listTokensQuery, func(stmt *sqlite.Stmt) error {
		found, err := tokenFromRow(stmt)
		tokens = append(tokens, found)
		return err
	})
	return tokens, err
}

// tokenFromRow returns the token in the columns of getTokenQuery.
func tokenFromRow(stmt *sqlite.Stmt) (token.Token, error) {
	found := token.Token{
		ID:             stmt.ColumnText(0),
		Name:           stmt.ColumnText(1),
		Scopes:         token.SplitScopes(stmt.ColumnText(2)),
		CreatedAt:      columnTime(stmt, 4),
		ExpiresAt:      columnTime(stmt, 5),
		RevokedAt:      columnTime(stmt, 6),
		LastUsedAt:     columnTime(stmt, 7),
		OldSecretUntil: columnTime(stmt, 9),
	}
	if length := stmt.ColumnLen(3); length != sha256.Size {
		return token.Token{}, fmt.Errorf("sqlite: the hash of token %s has %d bytes, want %d", found.ID, length, sha256.Size)
	}
	stmt.ColumnBytes(3, found.SecretHash[:])
	stmt.ColumnBytes(8, found.OldSecretHash[:])
	return found, nil
}

const updateTokenQuery = `
	UPDATE tokens
	SET name = ?2, scopes = ?3, secret_hash = ?4, created_at = ?5, expires_at = ?6, revoked_at = ?7,
		last_used_at = ?8, old_secret_hash = ?9, old_secret_until = ?10
	WHERE id = ?1`

// UpdateToken implements [token.Store].
func (s *Store) UpdateToken(ctx context.Context, id string, change func(*token.Token) error) error {
	return s.runWrite(ctx, func(conn *sqlite.Conn) error {
		stored, err := getToken(conn, id)
		if err != nil {
			return err
		}
		changed := stored
		if err := change(&changed); err != nil {
			return err
		}
		changed.ID, changed.CreatedAt, changed.LastUsedAt = stored.ID, stored.CreatedAt, stored.LastUsedAt
		return writeToken(conn, updateTokenQuery, changed)
	})
}

// TouchTokens implements [token.Store]. If it changes no row, SQLite does not
// write to the disk.
func (s *Store) TouchTokens(ctx context.Context, used map[string]time.Time) error {
	return s.runWrite(ctx, func(conn *sqlite.Conn) error {
		for id, usedAt := range used {
			err := execute(conn, `
				UPDATE tokens SET last_used_at = ?2
				WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at + ?3 <= ?2)`,
				id, usedAt.UnixMicro(), token.TouchInterval.Microseconds())
			if err != nil {
				return err
			}
		}
		return nil
	})
}
