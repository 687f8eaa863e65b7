package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/token"
)

// A mistake in a statement or in its arguments fails at the first attempt. With
// further attempts each call would take as long as callTime.
func TestWrongArgumentsFailAtOnce(t *testing.T) {
	dsn := pgtest.DSN(t)
	const two = `SELECT $1::BIGINT + $2::BIGINT`
	type attempt func(ctx context.Context, conn *pgx.Conn) error
	send := func(statement string, args ...any) attempt {
		return func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, statement, args...)
			return err
		}
	}
	batch := func(statement string, args ...any) attempt {
		return func(ctx context.Context, conn *pgx.Conn) error {
			var b pgx.Batch
			b.Queue(`BEGIN`)
			b.Queue(statement, args...)
			b.Queue(`COMMIT`)
			return conn.SendBatch(ctx, &b).Close()
		}
	}
	for mode, parameter := range map[string]string{"prepared": "", "not prepared": "&default_query_exec_mode=exec"} {
		store := open(t, dsn+parameter)
		for name, run := range map[string]attempt{
			"one argument too few":             send(two, 1),
			"one argument too many":            send(two, 1, 2, 3),
			"one argument too few in a batch":  batch(two, 1),
			"one argument too many in a batch": batch(two, 1, 2, 3),
			"an argument of another name":      batch(`SELECT @id::BIGINT`, pgx.StrictNamedArgs{"ID": 1}),
			"an argument of another type":      batch(two, 1, struct{}{}),
			"a result of another type": func(ctx context.Context, conn *pgx.Conn) error {
				return conn.QueryRow(ctx, two, 1, 2).Scan(new(bool))
			},
		} {
			t.Run(name+", "+mode, func(t *testing.T) {
				attempts := 0
				err := store.transact(t.Context(), func(ctx context.Context, conn *pgx.Conn, _ int64) error {
					if attempts++; attempts > 1 {
						return permanent{errors.New("a second attempt")}
					}
					return run(ctx, conn)
				})
				if err == nil || attempts != 1 || errors.Is(err, plant.ErrUnavailable) || errors.Is(err, token.ErrUnavailable) {
					t.Errorf("transact = %v after %d attempts, want a permanent error after 1", err, attempts)
				}
				if err != nil && !strings.HasPrefix(err.Error(), "postgres: ") {
					t.Errorf("transact = %q, want the prefix %q", err, "postgres: ")
				}
				expect.Error(t, "then Create", store.Create(t.Context(), plant.Plant{ID: 1}), nil)
			})
		}
	}
}
