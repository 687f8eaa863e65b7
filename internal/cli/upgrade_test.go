package cli

import (
	"context"
	"fmt"
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
	"github.com/plantstore/plantstore/internal/contract/plantcontract"
	"github.com/plantstore/plantstore/internal/store/pgtest"
)

// firstOnPostgres is the first commit whose program keeps plants in PostgreSQL.
// It stands for the release before until there is one. A migration before that
// moves it on, to a program that starts on a newer schema.
const firstOnPostgres = "4250a8c"

// Servers of the release before are replaced one by one by ones of this program
// while callers go on: at every moment old and new are one service, and each
// goes on from what the other has written. One of the old is started again on
// what the new has made of the schema.
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

	var callers sync.WaitGroup
	var stop atomic.Bool
	all := make([]map[int64]*plantapi.StoredPlant, 4)
	for i := range all {
		all[i] = map[int64]*plantapi.StoredPlant{}
		callers.Go(func() {
			c := caller{t: t, rotation: r, base: int64(i) * 1000, plants: all[i]}
			for !stop.Load() && !t.Failed() {
				c.step()
			}
		})
	}
	defer callers.Wait()
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
	callers.Wait()

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
		t.Errorf("of the plants that callers were told of are missing: %v", slices.Sorted(maps.Keys(want)))
	}
	t.Logf("figures: %d calls during an upgrade from %s", r.calls.Load(), releaseBefore(t))
}

// releaseBefore names the release that servers are upgraded from.
func releaseBefore(t *testing.T) string {
	t.Helper()
	// A tag on HEAD itself is this release.
	if tag, err := newCommand(t, "git", "describe", "--tags", "--abbrev=0", "HEAD^").Output(); err == nil {
		return strings.TrimSpace(string(tag))
	}
	return firstOnPostgres
}

// buildReleaseBefore builds the program of the release before and returns its
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
	mu      sync.RWMutex // held by calls, and by changes of members
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

// remove stops a server once it has answered what it was asked.
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

// call calls any of the servers.
func (r *rotation) call(fn func(*plantclient.ClientWithResponses)) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	fn(r.members[rand.IntN(len(r.members))].client)
	r.calls.Add(1)
}

// wait returns after some hundred calls more.
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

// caller makes and changes some plants that nobody else touches, each time on
// any server, and holds every answer against what it was told before.
type caller struct {
	t        *testing.T
	rotation *rotation
	base     int64
	plants   map[int64]*plantapi.StoredPlant // nil: deleted
	steps    int
}

func (c *caller) step() {
	c.steps++
	id := c.base + rand.Int64N(20)
	p := c.plants[id]
	if p == nil {
		c.race(id)
		return
	}
	mustEqual(c.t, c.get(id), p)
	switch rand.IntN(3) {
	case 0:
		c.put(p)
	case 1:
		c.patch(p)
	case 2:
		c.delete(p)
	}
}

// race creates a plant twice at once: one of the two is stored.
func (c *caller) race(id int64) {
	var codes [2]int
	var wg sync.WaitGroup
	for i := range codes {
		wg.Go(func() {
			body := plantapi.NewPlant{ID: id, Name: fmt.Sprintf("\x00 %d of step %d", i, c.steps), Tag: new("")}
			c.rotation.call(func(client *plantclient.ClientWithResponses) {
				resp, err := client.CreatePlantWithResponse(c.t.Context(), body)
				if err != nil {
					c.t.Error(err)
					return
				}
				codes[i] = resp.StatusCode()
			})
		})
	}
	wg.Wait()
	winner := slices.Index(codes[:], http.StatusOK)
	if winner < 0 || codes[1-winner] != http.StatusBadRequest {
		c.t.Errorf("of two creates of plant %d one should be taken, the answers are %v", id, codes)
		return
	}
	stored := c.get(id)
	if want := fmt.Sprintf("\x00 %d of step %d", winner, c.steps); stored != nil && (stored.Name != want || stored.Tag == nil) {
		c.t.Errorf("plant %d was created as %q, and is %+v", id, want, stored)
	}
	c.plants[id] = stored
}

func (c *caller) get(id int64) (stored *plantapi.StoredPlant) {
	c.rotation.call(func(client *plantclient.ClientWithResponses) {
		resp, err := client.GetPlantWithResponse(c.t.Context(), id, nil)
		if err != nil {
			c.t.Error(err)
			return
		}
		if resp.JSON200 == nil {
			c.t.Errorf("GET /plants/%d = %s: %s", id, resp.Status(), resp.Body)
			return
		}
		stored = resp.JSON200
	})
	return stored
}

func (c *caller) put(p *plantapi.StoredPlant) {
	c.rotation.call(func(client *plantclient.ClientWithResponses) {
		body := plantapi.Plant{Name: fmt.Sprint("put in step ", c.steps)}
		resp, err := client.PutPlantWithResponse(c.t.Context(), p.ID, &plantapi.PutPlantParams{IfMatch: quoted(p)}, body)
		if err != nil {
			c.t.Error(err)
			return
		}
		if resp.JSON200 == nil || resp.JSON200.Name != body.Name || resp.JSON200.Tag != nil {
			c.t.Errorf("PUT /plants/%d = %s: %s", p.ID, resp.Status(), resp.Body)
			return
		}
		c.plants[p.ID] = resp.JSON200
	})
}

func (c *caller) patch(p *plantapi.StoredPlant) {
	c.rotation.call(func(client *plantclient.ClientWithResponses) {
		var change plantapi.PlantPatch
		change.Tag.Set(fmt.Sprint("patched in step ", c.steps))
		resp, err := client.PatchPlantWithApplicationMergePatchPlusJSONBodyWithResponse(c.t.Context(), p.ID,
			&plantapi.PatchPlantParams{IfMatch: quoted(p)}, change)
		if err != nil {
			c.t.Error(err)
			return
		}
		if resp.JSON200 == nil || resp.JSON200.Name != p.Name {
			c.t.Errorf("PATCH /plants/%d = %s: %s", p.ID, resp.Status(), resp.Body)
			return
		}
		c.plants[p.ID] = resp.JSON200
	})
}

func (c *caller) delete(p *plantapi.StoredPlant) {
	c.rotation.call(func(client *plantclient.ClientWithResponses) {
		resp, err := client.DeletePlantWithResponse(c.t.Context(), p.ID, &plantapi.DeletePlantParams{IfMatch: quoted(p)})
		if err != nil {
			c.t.Error(err)
			return
		}
		if resp.StatusCode() != http.StatusNoContent {
			c.t.Errorf("DELETE /plants/%d = %s: %s", p.ID, resp.Status(), resp.Body)
			return
		}
		c.plants[p.ID] = nil
	})
}

func quoted(p *plantapi.StoredPlant) *string { return new(`"` + p.ETag + `"`) }

func mustEqual(t *testing.T, got, want *plantapi.StoredPlant) {
	t.Helper()
	if got == nil || want == nil {
		if got != want {
			t.Errorf("a server has %+v, callers were told %+v", got, want)
		}
		return
	}
	if got.Name != want.Name || (got.Tag == nil) != (want.Tag == nil) || got.Tag != nil && *got.Tag != *want.Tag ||
		got.ETag != want.ETag || !got.CreatedAt.Equal(want.CreatedAt) || !got.UpdatedAt.Equal(want.UpdatedAt) {
		t.Errorf("a server has %+v, callers were told %+v", got, want)
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

// tokenOnBoth ends a token of the program before with this one.
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
			t.Errorf("a server answers %d to a token of the program before", got)
		}
	}
	id := text[4:16] // what follows pst_
	if out, err := newCommand(t, current, "token", "revoke", "--store", dsn, id).CombinedOutput(); err != nil {
		t.Fatalf("token revoke: %v\n%s", err, out)
	}
	for _, m := range servers {
		for ends := time.Now().Add(longEnough); status(m) != http.StatusUnauthorized; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(ends) {
				t.Fatal("a server goes on taking a token that has been revoked")
			}
		}
	}
}
