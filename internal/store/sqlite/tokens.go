package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/token"
)

// tokenColumns is what scanToken reads.
const tokenColumns = `id, name, scopes, secret_hash, created_at, expires_at, revoked_at,
	last_used_at, old_secret_hash, old_secret_until`

// CreateToken implements [token.Store].
func (s *Store) CreateToken(ctx context.Context, t token.Token) error {
	return s.write(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`
			INSERT INTO tokens (` + tokenColumns + `)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`)
		if err != nil {
			return err
		}
		bindToken(stmt, t)
		stmt.BindInt64(5, t.CreatedAt.UnixMicro())
		bindTime(stmt, 8, t.LastUsedAt)
		return run(stmt)
	})
}

// Token implements [token.Store].
func (s *Store) Token(ctx context.Context, id string) (t token.Token, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		t, err = getToken(conn, id)
		return err
	})
	return t, err
}

// Tokens implements [token.Store].
func (s *Store) Tokens(ctx context.Context) (all []token.Token, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`SELECT ` + tokenColumns + ` FROM tokens ORDER BY created_at, id`)
		if err != nil {
			return err
		}
		defer stmt.Reset()
		for {
			found, err := stmt.Step()
			if err != nil || !found {
				return err
			}
			t, err := scanToken(stmt)
			if err != nil {
				return err
			}
			all = append(all, t)
		}
	})
	return all, err
}

// UpdateToken implements [token.Store].
func (s *Store) UpdateToken(ctx context.Context, id string, change func(*token.Token) error) error {
	return s.write(ctx, func(conn *sqlite.Conn) error {
		t, err := getToken(conn, id)
		if err != nil {
			return err
		}
		if err := change(&t); err != nil {
			return err
		}
		stmt, err := conn.Prepare(`
			UPDATE tokens SET name = ?2, scopes = ?3, secret_hash = ?4, expires_at = ?6, revoked_at = ?7,
				old_secret_hash = ?9, old_secret_until = ?10
			WHERE id = ?1`)
		if err != nil {
			return err
		}
		t.ID = id
		bindToken(stmt, t)
		return run(stmt)
	})
}

// TouchTokens implements [token.Store]. Where there is nothing to write SQLite
// does not touch the disk either.
func (s *Store) TouchTokens(ctx context.Context, used map[string]time.Time) error {
	return s.write(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`
			UPDATE tokens SET last_used_at = ?2
			WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at + ?3 <= ?2)`)
		if err != nil {
			return err
		}
		for id, at := range used {
			stmt.BindText(1, id)
			stmt.BindInt64(2, at.UnixMicro())
			stmt.BindInt64(3, token.TouchInterval.Microseconds())
			if err := run(stmt); err != nil {
				return err
			}
		}
		return nil
	})
}

// getToken returns the token with the given ID, or [token.ErrNotFound].
func getToken(conn *sqlite.Conn, id string) (token.Token, error) {
	stmt, err := conn.Prepare(`SELECT ` + tokenColumns + ` FROM tokens WHERE id = ?`)
	if err != nil {
		return token.Token{}, err
	}
	defer stmt.Reset()
	stmt.BindText(1, id)
	switch found, err := stmt.Step(); {
	case err != nil:
		return token.Token{}, err
	case !found:
		return token.Token{}, token.ErrNotFound
	}
	return scanToken(stmt)
}

// bindToken binds what may change in a token, and its ID, each in the place
// that it has among tokenColumns.
func bindToken(stmt *sqlite.Stmt, t token.Token) {
	stmt.BindText(1, t.ID)
	stmt.BindText(2, t.Name)
	stmt.BindText(3, token.JoinScopes(t.Scopes, " "))
	stmt.BindBytes(4, t.SecretHash[:])
	bindTime(stmt, 6, t.ExpiresAt)
	bindTime(stmt, 7, t.RevokedAt)
	if t.OldSecretUntil.IsZero() {
		stmt.BindNull(9)
	} else {
		stmt.BindBytes(9, t.OldSecretHash[:])
	}
	bindTime(stmt, 10, t.OldSecretUntil)
}

// scanToken reads a row of tokenColumns.
func scanToken(stmt *sqlite.Stmt) (token.Token, error) {
	t := token.Token{
		ID:             stmt.ColumnText(0),
		Name:           stmt.ColumnText(1),
		Scopes:         token.SplitScopes(stmt.ColumnText(2)),
		CreatedAt:      columnTime(stmt, 4),
		ExpiresAt:      columnTime(stmt, 5),
		RevokedAt:      columnTime(stmt, 6),
		LastUsedAt:     columnTime(stmt, 7),
		OldSecretUntil: columnTime(stmt, 9),
	}
	if n := stmt.ColumnLen(3); n != len(t.SecretHash) {
		return token.Token{}, fmt.Errorf("sqlite: token %s has a hash of %d bytes", t.ID, n)
	}
	stmt.ColumnBytes(3, t.SecretHash[:])
	if n := stmt.ColumnLen(8); n != 0 && n != len(t.OldSecretHash) {
		return token.Token{}, fmt.Errorf("sqlite: token %s has an old hash of %d bytes", t.ID, n)
	}
	stmt.ColumnBytes(8, t.OldSecretHash[:])
	return t, nil
}

// bindTime binds a time, and the zero time as NULL.
func bindTime(stmt *sqlite.Stmt, param int, t time.Time) {
	if t.IsZero() {
		stmt.BindNull(param)
		return
	}
	stmt.BindInt64(param, t.UnixMicro())
}

func columnTime(stmt *sqlite.Stmt, col int) time.Time {
	if stmt.ColumnIsNull(col) {
		return time.Time{}
	}
	return time.UnixMicro(stmt.ColumnInt64(col)).UTC()
}
