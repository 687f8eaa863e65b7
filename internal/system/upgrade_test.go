package system_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// A SQLite file is migrated by the next release, and then this one refuses it. Neither copy nor
// serve --read-only migrates it.
func TestUpgradeOfFile(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	next, dir := buildNextRelease(t), t.TempDir()
	store := filepath.Join(dir, "plants.db")
	r := program.ServeIn(t, dir, store)
	r.Want(t, http.StatusOK, http.MethodPost, "/plants", `{"id":1,"name":"n"}`)
	r.End(t, syscall.SIGTERM)
	before := sums(t, store)

	const unchanged = "this store has schema 1 and this program needs schema 2; " +
		"neither copy nor serve --read-only changes it: run plantstore migrate on it first"
	program.FailsAs(t, next, unchanged, "copy", "--from", store, "--to", filepath.Join(dir, "copy.db"))
	program.FailsAs(t, next, unchanged, "serve", "--read-only", "--addr", "127.0.0.1:0", "--store", store)
	if sums(t, store) != before {
		t.Error("copy or serve --read-only has changed the store")
	}
	want := store + " was updated from schema 1 to schema 2\n"
	if got := program.Finish(t, program.Command(t, next, "migrate", "--store", store)); got != want {
		t.Errorf("migrate of the next release prints %q, want %q", got, want)
	}
	if got := program.Finish(t, program.Command(t, next, "copy", "--from", store, "--to", filepath.Join(dir, "copy.db"))); !strings.HasPrefix(got, "copied 1 plant ") {
		t.Errorf("copy of the next release prints %q", got)
	}
	program.Fails(t, "the file has schema 2 of a newer plantstore, this program supports up to 1; use a newer plantstore, "+
		"or restore an older backup", "serve", "--addr", "127.0.0.1:0", "--store", store)
}

// buildNextRelease builds this program with a made-up second migration of each engine, and
// returns its path.
func buildNextRelease(t *testing.T) string {
	t.Helper()
	folder, overlay := t.TempDir(), struct{ Replace map[string]string }{map[string]string{}}
	for engine, migration := range map[string]string{
		"sqlite":   "ALTER TABLE plants ADD COLUMN watered_at INTEGER;\n",
		"postgres": "ALTER TABLE plants ADD COLUMN watered_at BIGINT;\n",
	} {
		file := filepath.Join(folder, engine+".sql")
		must.NoError(t, os.WriteFile(file, []byte(migration), 0o600))
		added, err := filepath.Abs("../store/" + engine + "/migrations/002.sql")
		must.NoError(t, err)
		overlay.Replace[added] = file
	}
	text, err := json.Marshal(overlay)
	must.NoError(t, err)
	list := filepath.Join(folder, "overlay.json")
	must.NoError(t, os.WriteFile(list, text, 0o600))
	runIn(t, "../..", "go", "build", "-buildvcs=false", "-overlay", list, "-o", filepath.Join(folder, "next"), "./cmd/plantstore")
	return filepath.Join(folder, "next")
}

// runIn runs a command in a folder.
func runIn(t *testing.T, folder, name string, args ...string) {
	t.Helper()
	cmd := program.Command(t, name, args...)
	cmd.Dir = folder
	program.Finish(t, cmd)
}
