//go:build unix

package system_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
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

// checksumOf returns the checksum that a copy has printed.
func checksumOf(t *testing.T, output string) string {
	t.Helper()
	m := regexp.MustCompile(`sha256:([0-9a-f]{64})`).FindStringSubmatch(output)
	if m == nil {
		t.Fatalf("the copy prints %q, want a checksum", output)
	}
	return m[1]
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
	var created, refused atomic.Int64
	var lastBefore, firstAfter atomic.Int64 // the pause of its writes; Unix nanoseconds
	writer := (&program.Server{URL: proxy, Token: tokens.good[0]}).Dial(t, client.WithAttempts(1_000_000),
		client.WithBackoff(func(_ context.Context, _ int, err error) time.Duration {
			if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusServiceUnavailable && strings.Contains(err.Error(), "read-only") {
				refused.Add(1)
			}
			return 10 * time.Millisecond
		}))
	writing, stopWriting := context.WithCancel(t.Context())
	defer stopWriting()
	ended := make(chan error, 1)
	go func() {
		for writing.Err() == nil {
			id := n + created.Load()
			ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
			err := writer.Create(ctx, client.Plant{ID: id, Name: plantName(id)})
			cancel()
			if err != nil {
				ended <- fmt.Errorf("create plant %d: %w", id, err)
				return
			}
			switch now := time.Now().UnixNano(); {
			case refused.Load() == 0:
				lastBefore.Store(now)
			case firstAfter.Load() == 0:
				firstAfter.Store(now)
			}
			created.Add(1)
		}
		ended <- nil
	}()
	await := func(what string, value *atomic.Int64, least int64) {
		t.Helper()
		wait.Until(t, what, func() bool { return len(ended) > 0 || value.Load() >= least })
		if len(ended) > 0 {
			t.Fatal(<-ended)
		}
	}
	await("creates before the move", &created, 100)

	readOnly := program.OneOf(t, old, "--read-only")
	balancer.use(readOnly)
	source.End(t, syscall.SIGTERM)
	await("refused creates", &refused, 3)
	before := listAll(t, readOnly.URL, tokens.good[0])
	copied := startCopy(t, old, moved)
	if err := copied.wait(); err != nil {
		t.Fatalf("copy: %v\n%s", err, &copied.stderr)
	}
	servers := []*program.Server{program.OneOf(t, moved), program.OneOf(t, moved)}
	balancer.use(servers...)
	acknowledged := created.Load()
	await("creates after the move", &created, acknowledged+100)
	stopWriting()
	must.NoError(t, wait.For(t, "the end of the client", ended))
	readOnly.End(t, syscall.SIGTERM)
	pause := time.Duration(firstAfter.Load() - lastBefore.Load())
	t.Logf("figures: a move of %d plants took %v without writes; %s", len(before), pause.Round(time.Millisecond), strings.TrimSpace(copied.stdout.String()))

	for i, r := range servers {
		now := listAll(t, r.URL, tokens.good[0])
		if want := n + created.Load(); int64(len(now)) != want {
			t.Errorf("server %d has %d plants, want %d", i, len(now), want)
		}
		for id := n; id < n+created.Load(); id++ {
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

// A store that moves to PostgreSQL and back is equal to what it was: the checksum has every value of it.
func TestMoveThereAndBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, there, back := filepath.Join(dir, "old.db"), pgtest.DSN(t), filepath.Join(dir, "back.db")
	n := movePlants(t)
	fillStore(t, old, n)
	addTokens(t, old)
	first := wantCompleted(t, old, there, n)
	second := wantCompleted(t, there, back, n)
	if checksumOf(t, first) != checksumOf(t, second) {
		t.Errorf("the checksums of the two copies differ:\n%s%s", first, second)
	}
}
