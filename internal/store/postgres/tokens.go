package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// tokenColumns are the columns of the table tokens.
var tokenColumns = columns[token.Token](store.TokenColumns)

var (
	selectToken = `SELECT ` + tokenColumns.names() + ` FROM tokens WHERE id = $1`

	selectTokens = `SELECT ` + tokenColumns.names() + ` FROM tokens ORDER BY created_at, id`

	updateToken = `UPDATE tokens SET ` +
		tokenColumns.without("id", "created_at", "last_used_at").each("NAME = new.NAME", ", ") + `
		FROM ` + tokenColumns.unnest() + ` WHERE tokens.id = new.id`
)

// CreateToken implements [token.Store].
func (s *Store) CreateToken(ctx context.Context, t token.Token) error {
	return s.change(ctx, func(_ context.Context, _ *pgx.Conn, b *pgx.Batch) error {
		insertRows(b, "tokens", tokenColumns, []token.Token{t})
		return nil
	})
}

// Token implements [token.Store].
func (s *Store) Token(ctx context.Context, id string) (t token.Token, err error) {
	defer s.durations.Since(time.Now(), "token")
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		t, err = tokenColumns.one(conn.QueryRow(ctx, selectToken, []byte(id)), token.ErrNotFound)
		return err
	})
	return t, err
}

// Tokens implements [token.Store].
func (s *Store) Tokens(ctx context.Context) (all []token.Token, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		all, err = listTokens(ctx, conn, selectTokens)
		return err
	})
	return all, err
}

func listTokens(ctx context.Context, conn *pgx.Conn, query string) (all []token.Token, err error) {
	rows, _ := conn.Query(ctx, query) // ForEachRow returns the error
	var t token.Token
	_, err = pgx.ForEachRow(rows, tokenColumns.targets(&t), func() error {
		all = append(all, t)
		return nil
	})
	return all, err
}

// UpdateToken implements [token.Store].
func (s *Store) UpdateToken(ctx context.Context, id string, change func(*token.Token) error) error {
	return s.change(ctx, func(ctx context.Context, conn *pgx.Conn, b *pgx.Batch) error {
		t, err := tokenColumns.one(conn.QueryRow(ctx, selectToken+` FOR UPDATE`, []byte(id)), token.ErrNotFound)
		if err != nil {
			return err
		}
		if err := change(&t); err != nil {
			return permanent{err}
		}
		t.ID = id
		b.Queue(updateToken, tokenColumns.args([]token.Token{t})...)
		return nil
	})
}

// TouchTokens implements [token.Store].
func (s *Store) TouchTokens(ctx context.Context, used map[string]time.Time) error {
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

// change runs the statements that fn queues in a transaction. Writes of tokens are
// too rare to share one with others.
func (s *Store) change(ctx context.Context, fn func(context.Context, *pgx.Conn, *pgx.Batch) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// A write that has begun is finished even if the client disconnects.
	end := time.Now().Add(callTime)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	err := s.transact(ctx, func(ctx context.Context, conn *pgx.Conn, id int64) error {
		var begin, b pgx.Batch
		beginWrite(&begin)
		if err := conn.SendBatch(ctx, &begin).Close(); err != nil {
			return err
		}
		if err := fn(ctx, conn, &b); err != nil {
			_, _ = conn.Exec(ctx, `ROLLBACK`)
			return err
		}
		b.Queue(mark, id, time.Now().UnixMicro(), !s.sharded)
		b.Queue(`COMMIT`)
		return conn.SendBatch(ctx, &b).Close()
	})
	return s.failure.Note(err)
}
