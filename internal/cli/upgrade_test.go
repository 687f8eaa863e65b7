package cli

import (
	"context"
	"maps"
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
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantclient"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// startsOnNewer is the first commit whose program can work on the present schema. It
// takes the place of the previous release until there is one. Programs before it do not
// bound texts, so they cannot write on the schema since; nothing had been published.
const startsOnNewer = "648bf1e"

// Servers of the previous release are replaced by servers of this program, one
// by one, while clients send requests. Old and new servers are one service at
// every moment and read each other's writes. An old server is started again on
// the new schema.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	current, err := exec.LookPath("plantstore")
	if err != nil {
		t.Fatal(err)
	}
	before := buildReleaseBefore(t)
	reader := createToken(t, before, dsn)

	r := &rotation{}
	defer r.killAll()
	oldOne := r.add(t, before, dsn, http.DefaultClient)
	oldTwo := r.add(t, before, dsn, http.DefaultClient)

	var clients sync.WaitGroup
	var stop atomic.Bool
	all := make([]map[int64]*plantapi.StoredPlant, 4)
	for i := range all {
		all[i] = map[int64]*plantapi.StoredPlant{}
		clients.Go(func() {
			c := upgradeClient{t: t, rotation: r, base: int64(i) * 1000, plants: all[i]}
			for !stop.Load() && !t.Failed() {
				c.step()
			}
		})
	}
	defer clients.Wait()
	defer stop.Store(true)

	r.wait(t)
	newOne := r.add(t, current, dsn, plantcontract.Plants().Client(t))
	r.wait(t)
	r.remove(t, oldOne)
	r.wait(t)
	oldOne = r.add(t, before, dsn, http.DefaultClient)
	r.wait(t)
	tokenOnBoth(t, current, dsn, reader, newOne, oldTwo)
	r.remove(t, oldTwo)
	r.add(t, current, dsn, plantcontract.Plants().Client(t))
	r.wait(t)
	r.remove(t, oldOne)
	r.wait(t)
	stop.Store(true)
	clients.Wait()

	want := map[int64]*plantapi.StoredPlant{}
	for _, plants := range all {
		maps.Copy(want, plants)
	}
	maps.DeleteFunc(want, func(_ int64, p *plantapi.StoredPlant) bool { return p == nil })
	resp, err := newOne.client.ListPlantsWithResponse(t.Context(), &plantapi.ListPlantsParams{Limit: new(int32(1000))})
	if err != nil {
		t.Fatal(err)
	}
	if resp.JSON200 == nil || resp.Headers200.Link != nil {
		t.Fatalf("GET /plants = %s: %s", resp.Status(), resp.Body)
	}
	for _, got := range *resp.JSON200 {
		mustEqual(t, &got, want[got.ID])
		delete(want, got.ID)
	}
	if len(want) > 0 {
		t.Errorf("acknowledged plants are missing: %v", slices.Sorted(maps.Keys(want)))
	}
	t.Logf("figures: %d calls during an upgrade from %s", r.calls.Load(), releaseBefore(t))
}

// releaseBefore returns the tag or commit of the previous release.
func releaseBefore(t *testing.T) string {
	t.Helper()
	// A tag on HEAD itself is this release.
	if tag, err := newCommand(t, "git", "describe", "--tags", "--abbrev=0", "HEAD^").Output(); err == nil {
		return strings.TrimSpace(string(tag))
	}
	return startsOnNewer
}

// buildReleaseBefore builds the program of the previous release and returns its
// path.
func buildReleaseBefore(t *testing.T) string {
	t.Helper()
	folder, commit := t.TempDir(), releaseBefore(t)
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	run := func(dir, name string, args ...string) {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s\nThis test builds the program of %s: it needs a clone with the history "+
				"(git fetch --unshallow --tags)", name, strings.Join(args, " "), err, out, commit)
		}
	}
	archive := filepath.Join(folder, "source.tar")
	run("../..", "git", "archive", "--output", archive, commit)
	run(folder, "tar", "-xf", archive)
	run(folder, "go", "build", "-buildvcs=false", "-o", "before", "./cmd/plantstore")
	return filepath.Join(folder, "before")
}

const upgradeToken = "a-token-for-the-upgrade"

// member is a server in the rotation.
type member struct {
	*running
	client *plantclient.ClientWithResponses
}

// rotation is a load balancer that takes a server out before it is stopped.
type rotation struct {
	mu      sync.RWMutex // read-locked during a call, locked to change the members
	members []*member
	calls   atomic.Int64
}

func (r *rotation) add(t *testing.T, program, dsn string, web *http.Client) *member {
	t.Helper()
	env := append(os.Environ(), "PLANTSTORE_TOKEN="+upgradeToken, "PLANTSTORE_STORE="+dsn)
	started, err := launchProgram(program, t.TempDir(), env, "--addr", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := plantclient.NewClientWithResponses(started.url, plantclient.WithHTTPClient(web), bearer(upgradeToken))
	if err != nil {
		started.kill()
		t.Fatal(err)
	}
	m := &member{started, client}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members = append(r.members, m)
	return m
}

// remove takes a server out of the rotation and stops it.
func (r *rotation) remove(t *testing.T, m *member) {
	t.Helper()
	r.mu.Lock()
	r.members = slices.DeleteFunc(r.members, func(other *member) bool { return other == m })
	r.mu.Unlock()
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := m.wait(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, m.stderr.String())
	}
}

func (r *rotation) killAll() {
	for _, m := range r.members {
		m.kill()
	}
}

// call calls fn with the client of any server.
func (r *rotation) call(fn func(*plantclient.ClientWithResponses)) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	fn(r.members[rand.IntN(len(r.members))].client)
	r.calls.Add(1)
}

// wait returns after 300 more calls.
func (r *rotation) wait(t *testing.T) {
	t.Helper()
	for before := r.calls.Load(); r.calls.Load() < before+300; time.Sleep(time.Millisecond) {
		if t.Failed() {
			t.FailNow()
		}
	}
}

func bearer(token string) plantclient.ClientOption {
	return plantclient.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	})
}

func quoted(p *plantapi.StoredPlant) *string { return new(`"` + p.ETag + `"`) }

func mustEqual(t *testing.T, got, want *plantapi.StoredPlant) {
	t.Helper()
	if got == nil || want == nil {
		if got != want {
			t.Errorf("a server has %+v, the last response was %+v", got, want)
		}
		return
	}
	if got.Name != want.Name || (got.Tag == nil) != (want.Tag == nil) || got.Tag != nil && *got.Tag != *want.Tag ||
		got.ETag != want.ETag || !got.CreatedAt.Equal(want.CreatedAt) || !got.UpdatedAt.Equal(want.UpdatedAt) {
		t.Errorf("a server has %+v, the last response was %+v", got, want)
	}
}

func createToken(t *testing.T, program, dsn string) (text string) {
	t.Helper()
	cmd := newCommand(t, program, "token", "create", "--name", "n", "--scope", "read", "--store", dsn)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("token create: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// tokenOnBoth revokes a token of the old program with the new one.
func tokenOnBoth(t *testing.T, current, dsn, text string, servers ...*member) {
	t.Helper()
	status := func(m *member) int {
		resp, err := m.client.ListPlantsWithResponse(t.Context(), nil, func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode()
	}
	for _, m := range servers {
		if got := status(m); got != http.StatusOK {
			t.Errorf("a server responds with %d to a token of the old program", got)
		}
	}
	id := text[4:16] // what follows pst_
	if out, err := newCommand(t, current, "token", "revoke", "--store", dsn, id).CombinedOutput(); err != nil {
		t.Fatalf("token revoke: %v\n%s", err, out)
	}
	for _, m := range servers {
		wait.Until(t, "the server refuses a revoked token", func() bool { return status(m) == http.StatusUnauthorized })
	}
}
