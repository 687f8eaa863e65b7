package postgres

import (
	"context"
	"errors"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/token"
)

// A user that only reads and writes rows can run the service on the current schema.
// The test runs the SQL of the operator's manual.
func TestLeastPrivilege(t *testing.T) {
	r := newRoles(t)
	r.run(t, r.statements[0])

	wantRefused(t, r.user, "has no tables of plantstore, and user "+r.name+" may not create them: run plantstore migrate")
	owned := open(t, r.owner)
	if found, now := owned.Schema(); found != 0 || now == 0 {
		t.Errorf("Schema of a new store = %d, %d", found, now)
	}
	target, err := OpenTarget(t.Context(), r.user)
	if err == nil {
		copied := store.PlantRow{Plant: plant.Plant{ID: 1}}
		err = errors.Join(target.AddPlants(t.Context(), []plant.Plant{copied.Stored()}), target.Close())
	}
	expect.Error(t, "a target of a user that does not own the tables", err, nil)
	r.run(t, `REVOKE INSERT, UPDATE, DELETE ON plantstore_schema FROM `+r.name) // not needed either
	useEveryTable(t, open(t, r.user))

	back := nextRelease(t, madeUpMigration)
	wantRefused(t, r.user, "has schema 1, this program needs schema 2, and user "+r.name+" may not change it: "+
		"run plantstore migrate as the owner of the tables: ")
	back()

	r.run(t, `REVOKE INSERT, DELETE ON marks FROM `+r.name)
	const want = "run GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "
	wantRefused(t, r.user, want+r.name+": missing privileges: INSERT on marks, DELETE on marks")
	r.run(t, `REVOKE ALL ON plantstore_schema FROM `+r.name)
	wantRefused(t, r.user, want+r.name)
}

// The tables of a service that has created them get another owner.
func TestLeastPrivilegeOfAnOldStore(t *testing.T) {
	r := newRoles(t)
	r.run(t, r.statements[0])
	r.run(t, `GRANT CREATE ON SCHEMA `+r.schema+` TO `+r.name)
	s := open(t, r.user)
	r.run(t, `REVOKE CREATE ON SCHEMA `+r.schema+` FROM `+r.name)
	r.run(t, r.statements[1])
	useEveryTable(t, s)
	useEveryTable(t, open(t, r.user))
	owned := open(t, r.owner)
	if found, now := owned.Schema(); found != now {
		t.Errorf("Schema = %d, %d, want the same", found, now)
	}
}

// roles are the two users of the operator's manual.
type roles struct {
	schema, name string
	statements   []string // the SQL of the manual
	user, owner  string   // URLs
	dsn          string   // of the administrator
}

func newRoles(t *testing.T) roles {
	t.Helper()
	dsn := pgtest.DSN(t)
	schema := schemaOf(t, dsn)
	r := roles{dsn: dsn, schema: schema, name: strings.Replace(schema, "test", "role", 1)}
	manual, err := os.ReadFile("../../../cmd/plantstore/manual/postgresql.md")
	must.NoError(t, err)
	for _, block := range regexp.MustCompile("(?ms)^```sql\n(.*?)^```$").FindAllSubmatch(manual, -1) {
		text := regexp.MustCompile(`\bplantstore(_owner)?\b`).ReplaceAllString(string(block[1]), r.name+"$1")
		r.statements = append(r.statements, strings.ReplaceAll(text, "SCHEMA public", "SCHEMA "+schema))
	}
	if len(r.statements) != 2 {
		t.Fatalf("the manual has %d blocks of SQL, want 2", len(r.statements))
	}
	as := func(name string) string {
		u, err := url.Parse(dsn)
		must.NoError(t, err)
		u.User = url.UserPassword(name, "SECRET")
		return u.String()
	}
	r.user, r.owner = as(r.name), as(r.name+"_owner")
	t.Cleanup(func() {
		both := r.name + ", " + r.name + "_owner"
		conn, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close(context.Background())
		if _, err := conn.PgConn().Exec(context.Background(), "DROP OWNED BY "+both+" CASCADE; DROP ROLE "+both).ReadAll(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// run runs statements as the administrator.
func (r roles) run(t *testing.T, statements string) {
	t.Helper()
	execute(t, pgtest.Connect(t, r.dsn), statements)
}

// useEveryTable reads and writes every table in every way.
func useEveryTable(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	createErr := s.Create(ctx, plant.Plant{ID: 1, Name: "n"})
	_, batchErr := s.CreateAll(ctx, []plant.Plant{{ID: 2}, {ID: 3}})
	_, _, putErr := s.Put(ctx, plant.Plant{ID: 1, Name: "m"}, plant.Precondition{})
	_, _, listErr := s.List(ctx, plant.Page{Limit: 10})
	stored, _ := token.New("n", nil, time.Hour)
	err := errors.Join(
		s.Ready(ctx), createErr, batchErr, putErr, listErr, s.Delete(ctx, 1, "", plant.Precondition{}),
		s.CreateToken(ctx, stored),
		s.UpdateToken(ctx, stored.ID, func(*token.Token) error { return nil }),
		s.TouchTokens(ctx, map[string]time.Time{stored.ID: time.Now()}),
	)
	if err != nil {
		t.Fatalf("a user that may read and write rows: %v", err)
	}
}
