//go:build unix

package postgres

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/token"
)

// A crash of the server loses no acknowledged write, whatever synchronous_commit is when it
// connects or becomes later, in the session of a pooler, too. What asks for more is kept.
func TestSynchronousCommit(t *testing.T) {
	for value, want := range map[string]string{
		"off": "on", "local": "local", "remote_write": "remote_write", "on": "on", "remote_apply": "remote_apply",
	} {
		for name, openWith := range map[string]func(t *testing.T, dsn string) *Store{
			"when it connects": func(t *testing.T, dsn string) *Store {
				return open(t, dsn+"&options="+url.QueryEscape("-csynchronous_commit="+value))
			},
			"later": func(t *testing.T, dsn string) *Store {
				s := open(t, dsn+"&pool_max_conns=1")
				must.NoError(t, s.withConnection(t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
					_, err := conn.Exec(ctx, `SET synchronous_commit = `+value)
					return err
				}))
				return s
			},
			"in a session of a pooler": func(t *testing.T, dsn string) *Store {
				dsn = pgtest.Pooler(t, dsn, 1) + "&default_query_exec_mode=exec"
				s := open(t, dsn)
				execute(t, pgtest.Connect(t, dsn), `SET synchronous_commit = `+value)
				return s
			},
		} {
			t.Run(value+" "+name, func(t *testing.T) {
				t.Parallel()
				dsn := pgtest.DSN(t)
				s := openWith(t, dsn)
				direct := pgtest.Connect(t, dsn)
				// Every transaction that is acknowledged inserts a mark, or begins an epoch.
				execute(t, direct, `
					CREATE TABLE commits (value TEXT);
					CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS $$
						BEGIN INSERT INTO commits VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
					CREATE TRIGGER note_commit BEFORE INSERT OR UPDATE ON marks FOR EACH ROW EXECUTE FUNCTION note_commit();
					CREATE TRIGGER note_commit BEFORE INSERT ON epochs FOR EACH ROW EXECUTE FUNCTION note_commit()`)
				ctx := t.Context()
				created, text := token.New("n", nil, time.Hour)
				for what, write := range map[string]func() error{
					"BeginEpoch": func() error { return s.BeginEpoch(ctx) },
					"Create":     func() error { return s.Create(ctx, plant.Plant{ID: 1, Name: "n"}) },
					"CreateAll":  func() error { _, err := s.CreateAll(ctx, []plant.Plant{{ID: 2}, {ID: 3}}); return err },
					"Put": func() error {
						_, _, err := s.Put(ctx, plant.Plant{ID: 4, Name: text}, plant.Precondition{})
						return err
					},
					"CreateToken": func() error { return s.CreateToken(ctx, created) },
					"settle":      func() error { _, err := s.settle(ctx, 7); return err },
					"a position that is not confirmed": func() error {
						s.confirmed.Store(nil)
						_, _, err := s.Changes(ctx, nil, 1)
						return err
					},
				} {
					execute(t, direct, `TRUNCATE commits`)
					must.NoError(t, write())
					if got := valuesOf(t, direct); got != want {
						t.Errorf("%s was committed with synchronous_commit = %q, want %q", what, got, want)
					}
				}
			})
		}
	}
}

// valuesOf returns the values of the table commits.
func valuesOf(t *testing.T, db database) string {
	return value[string](t, db, `SELECT coalesce(string_agg(DISTINCT value, ', '), '') FROM commits`)
}

// A write notices that the server was restarted or is another one, through a pooler, too.
func TestEpochAfterServerStart(t *testing.T) {
	dsn := pgtest.DSN(t)
	for name, dsn := range map[string]string{
		"direct": dsn, "through a pooler": pgtest.Pooler(t, dsn, 2) + "&default_query_exec_mode=exec",
	} {
		s := open(t, dsn)
		must.NoError(t, s.BeginEpoch(t.Context()))
		before := *s.content.Load()
		earlier := before
		earlier.started = earlier.started.Add(-time.Hour)
		s.content.Store(&earlier) // as if the server was restarted since
		must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1, Name: name}))
		after := *s.content.Load()
		if after.epoch == before.epoch || !after.started.Equal(before.started) {
			t.Errorf("%s: the content was %v and is %v, want a new epoch", name, before, after)
		}
		must.NoError(t, s.Delete(t.Context(), 1, "", plant.Precondition{}))
		if again := *s.content.Load(); again != after {
			t.Errorf("%s: the content was %v and is %v, want no second epoch", name, after, again)
		}
	}
}
