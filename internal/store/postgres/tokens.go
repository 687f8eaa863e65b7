package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/token"
)

// tokenTargets returns where Scan stores the columns of a token.
func tokenTargets(row *token.Token) []any {
	return []any{
		(*text)(&row.ID), (*text)(&row.Name), (*scopeList)(&row.Scopes), (*secretHash)(&row.SecretHash),
		(*timestamp)(&row.CreatedAt), (*timestamp)(&row.ExpiresAt), (*timestamp)(&row.RevokedAt),
		(*timestamp)(&row.LastUsedAt), (*secretHash)(&row.OldSecretHash), (*timestamp)(&row.OldSecretUntil),
	}
}

// scopeList scans scopes, which are separated by spaces.
type scopeList []token.Scope

// ScanBytes implements [pgtype.BytesScanner].
func (l *scopeList) ScanBytes(value []byte) error {
	*l = token.SplitScopes(string(value))
	return nil
}

// secretHash scans a hash, or NULL, which is a hash of zeros.
type secretHash [32]byte

// ScanBytes implements [pgtype.BytesScanner].
func (h *secretHash) ScanBytes(value []byte) error {
	*h = secretHash{}
	if value != nil && len(value) != len(h) {
		return fmt.Errorf("a hash has %d bytes, want %d", len(value), len(h))
	}
	copy(h[:], value)
	return nil
}

// bytes is the inverse of ScanBytes.
func (h secretHash) bytes() []byte {
	if h == (secretHash{}) {
		return nil
	}
	return h[:]
}

const insertToken = `
	INSERT INTO tokens (
		id, name, scopes, secret_hash, created_at, expires_at, revoked_at, last_used_at,
		old_secret_hash, old_secret_until)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

// CreateToken implements [token.Store].
func (s *Store) CreateToken(ctx context.Context, created token.Token) error {
	return s.change(ctx, func(_ context.Context, _ *pgx.Conn, batch *pgx.Batch) error {
		queueToken(batch, created)
		return nil
	})
}

// queueToken queues the statement that inserts a token.
func queueToken(batch *pgx.Batch, created token.Token) {
	batch.Queue(insertToken,
		[]byte(created.ID), []byte(created.Name), []byte(token.JoinScopes(created.Scopes, " ")), created.SecretHash[:],
		microseconds(created.CreatedAt), microseconds(created.ExpiresAt), microseconds(created.RevokedAt),
		microseconds(created.LastUsedAt), secretHash(created.OldSecretHash).bytes(), microseconds(created.OldSecretUntil))
}

const selectToken = `
	SELECT id, name, scopes, secret_hash, created_at, expires_at, revoked_at, last_used_at,
		old_secret_hash, old_secret_until
	FROM tokens WHERE id = $1`

// Token implements [token.Store].
func (s *Store) Token(ctx context.Context, id string) (found token.Token, err error) {
	defer s.durations.Since(time.Now(), "token")
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		found, err = scanToken(conn.QueryRow(ctx, selectToken, []byte(id)))
		return err
	})
	return found, err
}

// scanToken reads the only row of a statement.
func scanToken(row pgx.Row) (found token.Token, err error) {
	err = row.Scan(tokenTargets(&found)...)
	if errors.Is(err, pgx.ErrNoRows) {
		err = permanent{token.ErrNotFound}
	}
	return found, err
}

const selectTokens = `
	SELECT id, name, scopes, secret_hash, created_at, expires_at, revoked_at, last_used_at,
		old_secret_hash, old_secret_until
	FROM tokens ORDER BY created_at, id`

// Tokens implements [token.Store].
func (s *Store) Tokens(ctx context.Context) (tokens []token.Token, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		tokens, err = listTokens(ctx, conn, selectTokens)
		return err
	})
	return tokens, err
}

func listTokens(ctx context.Context, conn *pgx.Conn, query string) ([]token.Token, error) {
	rows, _ := conn.Query(ctx, query) // AppendRows returns the error
	return pgx.AppendRows([]token.Token(nil), rows, func(row pgx.CollectableRow) (found token.Token, err error) {
		err = row.Scan(tokenTargets(&found)...)
		return found, err
	})
}

const lockToken = `
	SELECT id, name, scopes, secret_hash, created_at, expires_at, revoked_at, last_used_at,
		old_secret_hash, old_secret_until
	FROM tokens WHERE id = $1 FOR UPDATE`

const updateToken = `
	UPDATE tokens
	SET name = $2, scopes = $3, secret_hash = $4, expires_at = $5, revoked_at = $6,
		old_secret_hash = $7, old_secret_until = $8
	WHERE id = $1`

// UpdateToken implements [token.Store].
func (s *Store) UpdateToken(ctx context.Context, id string, change func(*token.Token) error) error {
	return s.change(ctx, func(ctx context.Context, conn *pgx.Conn, batch *pgx.Batch) error {
		changed, err := scanToken(conn.QueryRow(ctx, lockToken, []byte(id)))
		if err != nil {
			return err
		}
		if err := change(&changed); err != nil {
			return permanent{err}
		}
		batch.Queue(updateToken,
			[]byte(id), []byte(changed.Name), []byte(token.JoinScopes(changed.Scopes, " ")), changed.SecretHash[:],
			microseconds(changed.ExpiresAt), microseconds(changed.RevokedAt),
			secretHash(changed.OldSecretHash).bytes(), microseconds(changed.OldSecretUntil))
		return nil
	})
}

const touchTokens = `
	UPDATE tokens SET last_used_at = used.at
	FROM unnest($1::BYTEA[], $2::BIGINT[]) AS used (id, at)
	WHERE tokens.id = used.id AND (last_used_at IS NULL OR last_used_at + $3 <= used.at)`

// TouchTokens implements [token.Store].
func (s *Store) TouchTokens(ctx context.Context, used map[string]time.Time) error {
	var ids [][]byte
	var times []int64
	for id, usedAt := range used {
		ids = append(ids, []byte(id))
		times = append(times, usedAt.UnixMicro())
	}
	return s.change(ctx, func(_ context.Context, _ *pgx.Conn, batch *pgx.Batch) error {
		batch.Queue(touchTokens, ids, times, token.TouchInterval.Microseconds())
		return nil
	})
}

// change runs the statements that queue adds to a batch in a transaction. Writes of tokens are
// too rare to share one with others.
func (s *Store) change(ctx context.Context, queue func(context.Context, *pgx.Conn, *pgx.Batch) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// A write that has begun is finished even if the client disconnects.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadlineOf(ctx))
	defer cancel()
	err := s.transact(ctx, func(ctx context.Context, conn *pgx.Conn, mark int64) error {
		var begin, batch pgx.Batch
		beginWrite(&begin)
		if err := conn.SendBatch(ctx, &begin).Close(); err != nil {
			return err
		}
		if err := queue(ctx, conn, &batch); err != nil {
			_, _ = conn.Exec(ctx, `ROLLBACK`)
			return err
		}
		batch.Queue(insertMark, mark, time.Now().UnixMicro(), !s.sharded)
		batch.Queue(`COMMIT`)
		return conn.SendBatch(ctx, &batch).Close()
	})
	return s.failure.Note(err)
}
