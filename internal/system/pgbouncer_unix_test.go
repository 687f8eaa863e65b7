//go:build unix

package system_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Two servers share two connections of a pgbouncer with transaction pooling. With
// the setting that the operator's manual names, every request succeeds, and a copy
// works, too. Without it, a server says what is missing: it does not start, or it is
// not ready.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	direct := pgtest.DSN(t)
	pooled := pgtest.Pooler(t, direct, 2)
	with := pooled + "&default_query_exec_mode=exec"
	servers := []*program.Server{program.Serve(t, with), program.Serve(t, with)}
	const clients, plants = 8, 40
	var wg sync.WaitGroup
	for n := range clients {
		wg.Go(func() {
			c := servers[n%len(servers)].Dial(t, client.WithAttempts(1))
			ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
			defer cancel()
			for i := range plants {
				id := int64(n*plants + i)
				expect.NoError(t, c.Create(ctx, client.Plant{ID: id, Name: plantName(id)}))
				p, err := c.Get(ctx, id)
				expect.NoError(t, err)
				if _, err := c.Put(ctx, client.Plant{ID: id, Name: "changed"}, client.IfMatch(p.ETag)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, r := range servers {
		r.WantReady(t, "")
		if all := listAll(t, r.URL, r.Token); len(all) != clients*plants {
			t.Errorf("a server has %d plants, want %d", len(all), clients*plants)
		}
	}

	const advice = "the database is behind pgbouncer or a similar pooler with transaction pooling: " +
		"add default_query_exec_mode=exec to the URL in --store and restart"
	wantUnpooled(t, pooled, advice)

	to := fileTarget(t)
	wantCompleted(t, with, to.store, clients*plants)
	back := pgtest.Pooler(t, pgtest.DSN(t), 1)
	wantCompleted(t, to.store, back+"&default_query_exec_mode=exec", clients*plants)
}

// wantUnpooled fails unless a server without the setting for a pooler says what is
// missing. That is not at once if each of its first statements gets a connection of
// its own, so this sends requests until a statement has failed.
func wantUnpooled(t *testing.T, store, advice string) {
	t.Helper()
	dir := t.TempDir()
	r, err := program.Launch(dir, []string{"HOME=" + dir}, "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--print-token", "--store", store)
	if err != nil {
		if !strings.Contains(err.Error(), advice) {
			t.Errorf("serve without the setting: %v, want %q", err, advice)
		}
		return
	}
	defer r.Kill()
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 20 {
				r.Call(t, http.MethodGet, fmt.Sprintf("/plants/%d", n*20+i), "")
			}
		})
	}
	wg.Wait()
	r.WantReady(t, "the store fails: postgres: "+advice)
}
