package system_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/api/client"
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
// every moment and read each other's writes. An old server is started again on
// the new schema.
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

	var clients [4]*upgradeClient
	for i := range clients {
		c := service.Dial(t, client.WithAttempts(1))
		clients[i] = &upgradeClient{t: t, service: c, base: int64(i) * 1000, plants: map[int64]*client.Plant{}}
	}
	var steps atomic.Int64
	stop := sync.OnceFunc(wait.Repeat(len(clients), func(i int) bool {
		clients[i].step()
		steps.Add(1)
		return !t.Failed()
	}))
	defer stop()
	waitForSteps := func() {
		t.Helper()
		enough := steps.Load() + 100
		wait.Until(t, "100 more steps", func() bool { return steps.Load() >= enough || t.Failed() })
	}
	replace := func(i int, path string) {
		t.Helper()
		waitForSteps()
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
	waitForSteps()
	stop()

	want := map[int64]client.Plant{}
	for _, c := range clients {
		for id, p := range c.plants {
			if p != nil {
				want[id] = *p
			}
		}
	}
	if diff := cmp.Diff(want, listAll(t, service.URL, service.Token)); diff != "" {
		t.Errorf("the acknowledged plants and the stored ones differ:\n%.2000s", diff)
	}
	t.Logf("figures: %d steps of clients during an upgrade", steps.Load())
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

// upgradeClient creates and changes plants that no other client uses, each time on
// any of the servers, and compares every response with the ones before.
type upgradeClient struct {
	t       *testing.T
	service *client.Client
	base    int64
	plants  map[int64]*client.Plant // nil: deleted
	steps   int
}

// step reads a plant and changes it, or creates it.
func (c *upgradeClient) step() {
	c.steps++
	id, ctx := c.base+rand.Int64N(20), c.t.Context()
	p := c.plants[id]
	if p == nil {
		c.race(id)
		return
	}
	if got := c.get(id); !cmp.Equal(got, p) {
		c.t.Errorf("a server has %+v, the last response was %+v", got, p)
	}
	text := fmt.Sprint("step ", c.steps)
	var want, got client.Plant
	var err error
	match := client.IfMatch(p.ETag)
	switch rand.IntN(3) {
	case 0:
		want = client.Plant{ID: id, Name: text}
		got, err = c.service.Put(ctx, want, match)
	case 1:
		want = client.Plant{ID: id, Name: p.Name, Tag: &text}
		got, err = c.service.Patch(ctx, id, client.Patch{Tag: &text}, match)
	case 2:
		if err = c.service.Delete(ctx, id, match); err == nil {
			c.plants[id] = nil
			return
		}
	}
	c.plants[id] = &got
	want.ETag, want.CreatedAt, want.UpdatedAt = got.ETag, got.CreatedAt, got.UpdatedAt
	if err != nil || !cmp.Equal(got, want) {
		c.t.Errorf("a change of plant %d makes %+v of it, %v, want %+v", id, got, err, want)
	}
}

// race sends two creates of one plant at the same time: one of them is stored.
func (c *upgradeClient) race(id int64) {
	var errs [2]error
	var wg sync.WaitGroup
	name := func(i int) string { return fmt.Sprintf("\x00 %d of step %d", i, c.steps) }
	for i := range errs {
		wg.Go(func() {
			errs[i] = c.service.Create(c.t.Context(), client.Plant{ID: id, Name: name(i), Tag: new("")})
		})
	}
	wg.Wait()
	winner := slices.Index(errs[:], nil)
	if winner < 0 || !errors.Is(errs[1-winner], client.ErrIDTaken) {
		c.t.Errorf("two creates of plant %d have the responses %v, want one success", id, errs)
		return
	}
	c.plants[id] = c.get(id)
	if p := c.plants[id]; p.Name != name(winner) || p.Tag == nil {
		c.t.Errorf("plant %d was created as %q, and is %+v", id, name(winner), p)
	}
}

func (c *upgradeClient) get(id int64) *client.Plant {
	p, err := c.service.Get(c.t.Context(), id)
	if err != nil {
		c.t.Error(err)
	}
	return &p
}
