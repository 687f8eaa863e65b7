package system_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// A store and its servers are upgraded to the next release, which this test builds once.
func TestUpgrade(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	next := buildNextRelease(t)
	t.Run("of a file", func(t *testing.T) { testUpgradeOfFile(t, next) })
	t.Run("rolling", func(t *testing.T) { testRollingUpgrade(t, next) })
}

// Servers of the previous release are replaced by servers of this program, one
// by one, while clients send requests. Old and new servers are one service at
// every moment and read each other's writes, as the history of the clients shows. An old
// server is started again on the new schema.
func testRollingUpgrade(t *testing.T, next string) {
	dsn := pgtest.DSN(t)
	before, current := releases(t, next)
	reader := strings.TrimSpace(program.Finish(t, program.Command(t, before, "token", "create", "--name", "n", "--scope", "read",
		"--store", dsn)))
	start := func(path string) *program.Server {
		r, err := program.LaunchPath(path, t.TempDir(),
			[]string{"PLANTSTORE_TOKEN=" + program.Token, "PLANTSTORE_STORE=" + dsn}, "--addr", "127.0.0.1:0")
		must.NoError(t, err)
		t.Cleanup(r.Kill)
		r.Token = program.Token
		return r
	}
	servers := []*program.Server{start(before), start(before)}
	balancer := &balancer{}
	service := &program.Server{URL: balancer.start(t, servers...), Token: program.Token}

	const awkward = "/plants/1000"
	service.Want(t, http.StatusCreated, http.MethodPut, awkward, `{"name":"\u0000é","tag":""}`)
	get := func() (body string) {
		t.Helper()
		_, body, err := service.Send(http.DefaultClient, http.MethodGet, awkward, "")
		must.NoError(t, err)
		return body
	}
	written := get()
	const clients, plants = 4, 8
	h := &histories{
		t: t, servers: [2]*program.Server{service, service}, web: http.DefaultClient, began: time.Now(),
		last: map[int64]version{}, final: map[int64]plantState{},
	}
	stop := sync.OnceFunc(wait.Repeat(clients, func(client int) bool {
		if !h.operate(client, 0, h.next(rand.Int64N(plants))) {
			t.Error("a request fails")
		}
		return !t.Failed()
	}))
	defer stop()
	replace := func(i int, path string) {
		t.Helper()
		h.waitForMore(100)
		old := servers[i]
		servers[i] = start(path)
		balancer.use(servers...)
		old.End(t, syscall.SIGTERM)
	}

	replace(0, current)
	// A token of the old program, revoked with the new one.
	for _, r := range servers {
		r.With(r.URL, reader).Want(t, http.StatusOK, http.MethodGet, "/plants", "")
	}
	program.Output(t, "token", "revoke", "--store", dsn, reader[4:16]) // what follows pst_
	for _, r := range servers {
		wait.Until(t, "the token is refused", func() bool {
			status, _ := r.With(r.URL, reader).Call(t, http.MethodGet, "/plants", "")
			return status == http.StatusUnauthorized
		})
	}
	replace(1, current)
	replace(0, before)
	replace(0, current)
	h.waitForMore(100)
	stop()

	if read := get(); read != written {
		t.Errorf("a plant was %s and is %s", written, read)
	}
	for id := range int64(plants) {
		h.operate(historyClients, 0, historyInput{Operation: "get", ID: id})
	}
	h.check("an upgrade")
	if h.undecided > 0 {
		t.Error("the history has no result in time")
	}
	t.Logf("figures: %d operations of clients during an upgrade", len(h.history))
}

// releases returns the programs of two releases, one after the other: the last one and this
// program or, before the first release, this program and the next release.
func releases(t *testing.T, next string) (before, after string) {
	t.Helper()
	this, err := exec.LookPath("plantstore")
	must.NoError(t, err)
	// A tag on HEAD itself is this release.
	tag, err := program.Command(t, "git", "describe", "--tags", "--abbrev=0", "HEAD^").Output()
	if err != nil {
		return this, next
	}
	return buildRelease(t, strings.TrimSpace(string(tag))), this
}

// buildRelease builds the program of a tag and returns its path.
func buildRelease(t *testing.T, tag string) string {
	t.Helper()
	folder := t.TempDir()
	archive := filepath.Join(folder, "source.tar")
	runIn(t, "../..", "git", "archive", "--output", archive, tag)
	runIn(t, folder, "tar", "-xf", archive)
	runIn(t, folder, "go", "build", "-buildvcs=false", "-o", "before", "./cmd/plantstore")
	return filepath.Join(folder, "before")
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

// A SQLite file is migrated by the next release, and then this one refuses it. Neither copy nor
// serve --read-only migrates it.
func testUpgradeOfFile(t *testing.T, next string) {
	dir := t.TempDir()
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
