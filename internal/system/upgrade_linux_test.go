package system_test

import (
	"math/rand/v2"
	"net/http"
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

// Servers of the previous release are replaced by servers of this program, one
// by one, while clients send requests. Old and new servers are one service at
// every moment and read each other's writes, as the history of the clients shows. An old
// server is started again on the new schema.
func TestUpgrade(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	dsn := pgtest.DSN(t)
	before, current := releases(t, buildNextRelease(t))
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
	for client := range historyClients + 1 { // one more reads at the end
		text := program.Finish(t, program.Command(t, before, "token", "create", "--name", nameOfClient(client), "--store", dsn))
		h.tokens = append(h.tokens, strings.TrimSpace(text))
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
