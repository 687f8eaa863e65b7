package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/token"
)

// tokenColumns is what scanToken reads.
const tokenColumns = `id, name, scopes, secret_hash, created_at, expires_at, revoked_at,
	last_used_at, old_secret_hash, old_secret_until`

// CreateToken implements [token.Store].
func (s *Store) CreateToken(ctx context.Context, t token.Token) error {
	return s.change(ctx, func(ctx context.Context, conn *pgx.Conn, b *pgx.Batch) error {
		b.Queue(`
			INSERT INTO tokens (`+tokenColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			[]byte(t.ID), []byte(t.Name), []byte(token.JoinScopes(t.Scopes, " ")), t.SecretHash[:], t.CreatedAt.UnixMicro(),
			micros(t.ExpiresAt), micros(t.RevokedAt), micros(t.LastUsedAt), oldHash(t), micros(t.OldSecretUntil))
		return nil
	})
}

// Token implements [token.Store].
func (s *Store) Token(ctx context.Context, id string) (t token.Token, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		t, err = getToken(ctx, conn, `SELECT `+tokenColumns+` FROM tokens WHERE id = $1`, id)
		return err
	})
	return t, err
}

// Tokens implements [token.Store].
func (s *Store) Tokens(ctx context.Context) (all []token.Token, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT `+tokenColumns+` FROM tokens ORDER BY created_at, id`)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanToken)
		return err
	})
	return all, err
}

// UpdateToken implements [token.Store].
func (s *Store) UpdateToken(ctx context.Context, id string, change func(*token.Token) error) error {
	return s.change(ctx, func(ctx context.Context, conn *pgx.Conn, b *pgx.Batch) error {
		t, err := getToken(ctx, conn, `SELECT `+tokenColumns+` FROM tokens WHERE id = $1 FOR UPDATE`, id)
		if err != nil {
			return err
		}
		if err := change(&t); err != nil {
			return answer{err}
		}
		b.Queue(`
			UPDATE tokens SET name = $2, scopes = $3, secret_hash = $4, expires_at = $5, revoked_at = $6,
				old_secret_hash = $7, old_secret_until = $8
			WHERE id = $1`,
			[]byte(id), []byte(t.Name), []byte(token.JoinScopes(t.Scopes, " ")), t.SecretHash[:], micros(t.ExpiresAt),
			micros(t.RevokedAt), oldHash(t), micros(t.OldSecretUntil))
		return nil
	})
}

// TouchTokens implements [token.Store]. Where there is nothing to write, which
// is most of the time with many servers, it only reads.
func (s *Store) TouchTokens(ctx context.Context, used map[string]time.Time) error {
	if len(used) == 0 {
		return ctx.Err()
	}
	var ids [][]byte
	var times []int64
	for id, at := range used {
		ids = append(ids, []byte(id))
		times = append(times, at.UnixMicro())
	}
	return s.change(ctx, func(ctx context.Context, conn *pgx.Conn, b *pgx.Batch) error {
		b.Queue(`
			UPDATE tokens SET last_used_at = used.at
			FROM unnest($1::BYTEA[], $2::BIGINT[]) AS used (id, at)
			WHERE tokens.id = used.id AND (last_used_at IS NULL OR last_used_at + $3 <= used.at)`,
			ids, times, token.TouchInterval.Microseconds())
		return nil
	})
}

// change carries out in a transaction what fn queues. It does not wait for the
// plants: tokens change once a minute.
func (s *Store) change(ctx context.Context, fn func(context.Context, *pgx.Conn, *pgx.Batch) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// What has begun is finished even if the caller goes.
	end := time.Now().Add(callTime)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	return s.transact(ctx, func(ctx context.Context, conn *pgx.Conn, id int64) error {
		if _, err := conn.Exec(ctx, `BEGIN`); err != nil {
			return err
		}
		var b pgx.Batch
		if err := fn(ctx, conn, &b); err != nil {
			_, _ = conn.Exec(ctx, `ROLLBACK`)
			return err
		}
		b.Queue(mark, id, time.Now().UnixMicro())
		b.Queue(`COMMIT`)
		return conn.SendBatch(ctx, &b).Close()
	}, nil)
}

// getToken returns the token with the given ID, or [token.ErrNotFound].
func getToken(ctx context.Context, conn *pgx.Conn, query, id string) (token.Token, error) {
	rows, err := conn.Query(ctx, query, []byte(id))
	if err != nil {
		return token.Token{}, err
	}
	t, err := pgx.CollectExactlyOneRow(rows, scanToken)
	if errors.Is(err, pgx.ErrNoRows) {
		return t, answer{token.ErrNotFound}
	}
	return t, err
}

// scanToken reads a row of tokenColumns.
func scanToken(row pgx.CollectableRow) (t token.Token, err error) {
	var id, name, scopes, hash, oldHash []byte
	var created, expires, revoked, used, oldUntil *int64
	if err := row.Scan(&id, &name, &scopes, &hash, &created, &expires, &revoked, &used, &oldHash, &oldUntil); err != nil {
		return t, err
	}
	t = token.Token{
		ID:             string(id),
		Name:           string(name),
		Scopes:         token.SplitScopes(string(scopes)),
		CreatedAt:      timeOf(created),
		ExpiresAt:      timeOf(expires),
		RevokedAt:      timeOf(revoked),
		LastUsedAt:     timeOf(used),
		OldSecretUntil: timeOf(oldUntil),
	}
	if len(hash) != len(t.SecretHash) {
		return token.Token{}, answer{fmt.Errorf("postgres: token %s has a hash of %d bytes", id, len(hash))}
	}
	copy(t.SecretHash[:], hash)
	if oldHash != nil && len(oldHash) != len(t.OldSecretHash) {
		return token.Token{}, answer{fmt.Errorf("postgres: token %s has an old hash of %d bytes", id, len(oldHash))}
	}
	copy(t.OldSecretHash[:], oldHash)
	return t, nil
}

// oldHash is the hash of the secret before, or NULL.
func oldHash(t token.Token) []byte {
	if t.OldSecretUntil.IsZero() {
		return nil
	}
	return t.OldSecretHash[:]
}

// micros is a time as it is stored, and the zero time NULL.
func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.UnixMicro())
}

func timeOf(at *int64) time.Time {
	if at == nil {
		return time.Time{}
	}
	return time.UnixMicro(*at).UTC()
}
