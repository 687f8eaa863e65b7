//go:build unix

package system_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// movePlants is how many plants the tests move.
func movePlants(t *testing.T) int64 {
	t.Helper()
	return int64(must.Number(t, "PLANTSTORE_TEST_MOVE_PLANTS", 3000))
}

// moveTokens are the tokens of a store that is moved.
type moveTokens struct {
	good []string
	bad  []string // expired or revoked
}

// fillStore writes a new store with many plants. A target of a copy is the
// fastest way.
func fillStore(t *testing.T, name string, n int64) {
	t.Helper()
	target, err := open.Target(t.Context(), name)
	must.NoError(t, err)
	defer target.Close()
	for first := int64(0); first < n; first += 5000 {
		var plants []plant.Plant
		for id := first; id < min(n, first+5000); id++ {
			row := store.PlantRow{Plant: plant.Plant{
				ID: id, Name: plantName(id), Tag: new(fmt.Sprint("tag ", id%97)),
				CreatedAt: time.UnixMicro(1_000_000 + id).UTC(), UpdatedAt: time.UnixMicro(2_000_000 + id).UTC(),
			}, Version: id * 0x9e3779b97f4a7c1}
			plants = append(plants, row.Stored())
		}
		must.NoError(t, target.AddPlants(t.Context(), plants))
	}
	must.NoError(t, target.Publish(t.Context()))
}

// addTokens adds 20 tokens to a store.
func addTokens(t *testing.T, name string) (all moveTokens) {
	t.Helper()
	store, err := open.Open(t.Context(), name)
	must.NoError(t, err)
	defer store.Close()
	for i := range 20 {
		life := 24 * time.Hour
		if i == 0 {
			life = time.Nanosecond
		}
		stored, text := token.New(fmt.Sprint("token ", i), []token.Scope{token.Read, token.Write}, life)
		switch {
		case i == 1:
			stored.Revoke(time.Now())
			fallthrough
		case i == 0:
			all.bad = append(all.bad, text)
		case i == 2: // both secrets work
			rotated, err := stored.Rotate(time.Now(), time.Hour)
			must.NoError(t, err)
			all.good = append(all.good, text, rotated)
		default:
			all.good = append(all.good, text)
		}
		must.NoError(t, store.CreateToken(t.Context(), stored))
	}
	return all
}

// A store moves from SQLite to PostgreSQL while a client writes all the time, as the
// operator's manual describes. Every token and every ETag stays valid, and no
// acknowledged write is lost.
func TestMove(t *testing.T) {
	t.Parallel()
	old, moved := filepath.Join(t.TempDir(), "old.db"), pgtest.DSN(t)
	n := movePlants(t)
	fillStore(t, old, n)
	tokens := addTokens(t, old)
	balancer := &balancer{}
	source := program.OneOf(t, old)
	proxy := balancer.start(t, source)

	// The client creates plants. It sends a create again until it succeeds.
	var created acknowledged
	created.last.Store(n)
	var refused atomic.Int64
	var slowest time.Duration
	writer := (&program.Server{URL: proxy, Token: tokens.good[0]}).Dial(t, client.WithAttempts(1_000_000),
		client.WithBackoff(func(_ context.Context, _ int, err error) time.Duration {
			if strings.Contains(err.Error(), "read-only") {
				refused.Add(1)
			}
			return 10 * time.Millisecond
		}))
	stopWriting := wait.Repeat(1, func(int) bool {
		id, began := created.next(), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
		defer cancel()
		if err := writer.Create(ctx, client.Plant{ID: id, Name: plantName(id)}); err != nil {
			t.Errorf("create plant %d: %v", id, err)
			return false
		}
		created.add(began, id)
		slowest = max(slowest, time.Since(began))
		return true
	})
	defer stopWriting()
	waitForCreates := func(n int) {
		t.Helper()
		wait.Until(t, "creates", func() bool { return created.count() >= n || t.Failed() })
	}
	waitForCreates(100)

	readOnly := program.OneOf(t, old, "--read-only")
	balancer.use(readOnly)
	source.End(t, syscall.SIGTERM)
	wait.Until(t, "refused creates", func() bool { return refused.Load() >= 3 || t.Failed() })
	before := listAll(t, readOnly.URL, tokens.good[0])
	copied := wantCompleted(t, old, moved, int64(len(before)))
	servers := []*program.Server{program.OneOf(t, moved), program.OneOf(t, moved)}
	balancer.use(servers...)
	waitForCreates(created.count() + 100)
	stopWriting()
	readOnly.End(t, syscall.SIGTERM)
	t.Logf("figures: a move of %d plants delayed a create by %v; %s", len(before), slowest.Round(time.Millisecond), copied)

	for i, r := range servers {
		now := listAll(t, r.URL, tokens.good[0])
		if want := int(n) + created.count(); len(now) != want {
			t.Errorf("server %d has %d plants, want %d", i, len(now), want)
		}
		for id := range created.began {
			if now[id].Name != plantName(id) {
				t.Errorf("the acknowledged plant %d is %+v", id, now[id])
			}
		}
		for id, p := range before {
			if got := now[id]; got.ETag != p.ETag || !got.CreatedAt.Equal(p.CreatedAt) || !got.UpdatedAt.Equal(p.UpdatedAt) {
				t.Errorf("plant %d was %+v and is %+v", id, p, got)
			}
		}
		c := r.With(r.URL, tokens.good[1]).Dial(t)
		id := int64(i)
		_, err := c.Get(t.Context(), id, client.IfNoneMatch(before[id].ETag))
		expect.Error(t, "a read with an ETag of before", err, client.ErrNotModified)
		if _, err := c.Put(t.Context(), client.Plant{ID: id, Name: "changed"}, client.IfMatch(before[id].ETag)); err != nil {
			t.Errorf("a change with an ETag of before = %v", err)
		}
		delete(before, id)
		for _, text := range tokens.good {
			r.With(r.URL, text).Want(t, http.StatusOK, http.MethodGet, "/plants?limit=1", "")
		}
		for _, text := range tokens.bad {
			r.With(r.URL, text).Want(t, http.StatusUnauthorized, http.MethodGet, "/plants?limit=1", "")
		}
	}
}
