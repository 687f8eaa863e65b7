package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

// A file of schema 1 keeps its tokens when it is migrated, and the program that
// created it can still insert tokens after that.
func TestTokensOfSchema1(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plants.db")
	old, err := sqlite.OpenConn(path)
	must.NoError(t, err)
	defer old.Close()
	schema, err := migrations.ReadFile("migrations/001_plants_and_tokens.sql")
	must.NoError(t, err)
	const insert = `
		INSERT INTO tokens (id, name, scopes, secret_hash, created_at, expires_at, revoked_at)
		VALUES (?, 'n', 'read write', zeroblob(32), 0, NULL, NULL)`
	script := fmt.Sprintf("%s; PRAGMA application_id = %d; PRAGMA user_version = 1", schema, applicationID)
	must.NoError(t, sqlitex.ExecuteScript(old, script, nil))
	must.NoError(t, sqlitex.Execute(old, insert, &sqlitex.ExecOptions{Args: []any{"before"}}))
	store := openStore(t, path)
	if err := sqlitex.Execute(old, insert, &sqlitex.ExecOptions{Args: []any{"after"}}); err != nil {
		t.Fatalf("INSERT of the old program after the migration: %v", err)
	}
	for _, id := range []string{"before", "after"} {
		got, err := store.Token(t.Context(), id)
		if err != nil || got.Name != "n" || !got.Allows(token.Write) || !got.LastUsedAt.IsZero() || !got.OldSecretUntil.IsZero() {
			t.Errorf("Token(%q) = %+v, %v", id, got, err)
		}
		if err := store.TouchTokens(t.Context(), map[string]time.Time{id: time.Now()}); err != nil {
			t.Errorf("TouchTokens(%q) = %v", id, err)
		}
	}
}
