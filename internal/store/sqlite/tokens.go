package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/token"
)

// CreateToken implements [token.Store].
func (s *Store) CreateToken(ctx context.Context, t token.Token) error {
	return s.write(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`
			INSERT INTO tokens (id, name, scopes, secret_hash, created_at, expires_at, revoked_at)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`)
		if err != nil {
			return err
		}
		stmt.BindText(1, t.ID)
		stmt.BindText(2, t.Name)
		stmt.BindText(3, joinScopes(t.Scopes))
		stmt.BindBytes(4, t.SecretHash[:])
		stmt.BindInt64(5, t.CreatedAt.UnixMicro())
		bindTime(stmt, 6, t.ExpiresAt)
		bindTime(stmt, 7, t.RevokedAt)
		return run(stmt)
	})
}

// Token implements [token.Store].
func (s *Store) Token(ctx context.Context, id string) (t token.Token, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`
			SELECT id, name, scopes, secret_hash, created_at, expires_at, revoked_at
			FROM tokens WHERE id = ?`)
		if err != nil {
			return err
		}
		defer stmt.Reset()
		stmt.BindText(1, id)
		switch found, err := stmt.Step(); {
		case err != nil:
			return err
		case !found:
			return token.ErrNotFound
		}
		t, err = scanToken(stmt)
		return err
	})
	return t, err
}

func scanToken(stmt *sqlite.Stmt) (token.Token, error) {
	t := token.Token{
		ID:        stmt.ColumnText(0),
		Name:      stmt.ColumnText(1),
		Scopes:    splitScopes(stmt.ColumnText(2)),
		CreatedAt: columnTime(stmt, 4),
		ExpiresAt: columnTime(stmt, 5),
		RevokedAt: columnTime(stmt, 6),
	}
	if n := stmt.ColumnLen(3); n != len(t.SecretHash) {
		return token.Token{}, fmt.Errorf("sqlite: token %s has a hash of %d bytes", t.ID, n)
	}
	stmt.ColumnBytes(3, t.SecretHash[:])
	return t, nil
}

func joinScopes(scopes []token.Scope) string {
	texts := make([]string, len(scopes))
	for i, s := range scopes {
		texts[i] = string(s)
	}
	return strings.Join(texts, " ")
}

func splitScopes(text string) []token.Scope {
	var scopes []token.Scope
	for _, s := range strings.Fields(text) {
		scopes = append(scopes, token.Scope(s))
	}
	return scopes
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
