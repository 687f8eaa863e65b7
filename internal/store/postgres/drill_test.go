//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// A database server that crashes repeatedly loses no acknowledged write, and the
// service recovers without help.
func TestDrillCrash(t *testing.T) {
	const rounds = 20
	server := pgtest.NewServer(t)
	load := startLoad(t, pgtest.URL(server))
	var slowest time.Duration
	for range rounds {
		load.waitForMore(50)
		server.StopImmediately()
		server.Start()
		began := time.Now()
		load.waitForMore(1)
		slowest = max(slowest, time.Since(began))
	}
	acknowledged, lost := load.stop()
	t.Logf("figures: %d crashes, %d creates acknowledged, %d lost; %d responses 503; service available at most %v after the server",
		rounds, acknowledged, lost, load.unavailable.Load(), slowest.Round(time.Millisecond))
}

// If the primary is killed, no acknowledged write is lost, and the service
// continues with the standby without help.
func TestDrillFailover(t *testing.T) {
	const detection = time.Second // by a manager such as Patroni
	primary := pgtest.NewServer(t, "synchronous_standby_names = '*'", "wal_keep_size = '64MB'")
	standby := primary.NewStandby()
	waitForStandby(t, primary)
	load := startLoad(t, pgtest.URL(primary, standby))
	load.waitForMore(1000)

	primary.Kill()
	killed := time.Now()
	time.Sleep(detection)
	standby.Promote()
	stopWaitingForStandby(t, standby)
	promoted := time.Now()
	load.waitForMore(1)
	again := time.Now()
	if down := again.Sub(killed); down > 10*time.Second {
		t.Errorf("the service was available again after %v, want at most 10 s", down)
	}
	load.waitForMore(1000)
	acknowledged, lost := load.stop()
	t.Logf("figures: %d creates acknowledged, %d lost; %d responses 503; service available %v after the primary was killed, %v after the standby was promoted",
		acknowledged, lost, load.unavailable.Load(), again.Sub(killed).Round(time.Millisecond), again.Sub(promoted).Round(time.Millisecond))
}

// A backup is restored while two servers write and clients follow, and again with the servers
// stopped. Every follower ends up with an equal copy, and tokens are those of the backup.
func TestDrillRestore(t *testing.T) {
	server := pgtest.NewServer(t)
	backup := filepath.Join(pgtest.Folder(t), "backup")
	openTwo := func() (servers []*Store) {
		for range 2 {
			s, err := Open(t.Context(), pgtest.URL(server))
			must.NoError(t, err)
			must.NoError(t, s.BeginEpoch(t.Context()))
			servers = append(servers, s)
		}
		return servers
	}
	servers := openTwo()
	var followers []*storetest.Follower
	for i := range 4 {
		followers = append(followers, &storetest.Follower{Store: servers[i%2], Limit: 1 + 20*i})
	}
	kept, keptText := token.New("in the backup", []token.Scope{token.Read}, time.Hour)
	lost, lostText := token.New("not in the backup", []token.Scope{token.Read}, time.Hour)
	verifier := token.NewVerifier(servers[0], "")
	verify := func(text string) error {
		_, err := verifier.Verify(t.Context(), text)
		return err
	}
	must.NoError(t, servers[0].CreateToken(t.Context(), kept))

	var written atomic.Int64
	write := func(n int) (ok bool) {
		i := written.Add(1)
		_, _, err := servers[n%2].Put(t.Context(), plant.Plant{ID: i % 50, Name: fmt.Sprint(i)}, plant.Precondition{})
		if err != nil && !errors.Is(err, plant.ErrUnavailable) {
			t.Error(err)
		}
		return true
	}
	more := func() {
		t.Helper()
		end := written.Load() + 300
		wait.Until(t, "there are 300 more writes", func() bool { return written.Load() >= end })
	}
	stop := wait.Repeat(4, write)
	stopFollowing := wait.Repeat(len(followers), func(n int) bool {
		if _, err := followers[n].Next(t); err != nil && !errors.Is(err, plant.ErrUnavailable) {
			t.Error(err)
		}
		return true
	})
	more()
	server.Dump(backup)
	for range 3 {
		must.NoError(t, servers[1].CreateToken(t.Context(), lost))
		must.NoError(t, servers[1].UpdateToken(t.Context(), kept.ID, func(t *token.Token) error { t.RevokedAt = time.Now(); return nil }))
		wait.Until(t, "the tokens are not those of the backup", func() bool {
			return verify(lostText) == nil && errors.Is(verify(keptText), token.ErrInvalid)
		})
		more()
		server.Restore(backup)
		time.Sleep(2 * token.CacheTTL)
		if err := verify(keptText); err != nil || !errors.Is(verify(lostText), token.ErrInvalid) {
			t.Errorf("a second after the restore, the token of the backup: %v; the other one: %v", err, verify(lostText))
		}
		more()
	}
	stop()
	stopFollowing()
	for _, f := range followers {
		f.Drain(t)
		f.WantCopy(t)
	}

	must.NoError(t, errors.Join(verifier.Close(), servers[0].Close(), servers[1].Close()))
	server.Restore(backup)
	restarts := 0
	servers = openTwo()
	for range 2000 { // beyond the positions that are gone
		write(0)
	}
	for i, f := range followers {
		f.Store = servers[i%2]
		f.Drain(t)
		f.WantCopy(t)
		restarts += f.Restarts
	}
	must.NoError(t, errors.Join(servers[0].Close(), servers[1].Close()))
	t.Logf("figures: 4 restores, %d writes, %d followers have begun again %d times", written.Load(), len(followers), restarts)
}

// waitForStandby waits until the primary has a synchronous standby.
func waitForStandby(t *testing.T, primary *pgtest.Server) {
	t.Helper()
	wait.Until(t, "the standby is synchronous", func() bool {
		var n int
		query(t, primary, `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`, &n)
		return n == 1
	})
}

// stopWaitingForStandby lets a promoted standby commit: it has the settings of the
// primary, and would wait for a standby for ever.
func stopWaitingForStandby(t *testing.T, server *pgtest.Server) {
	t.Helper()
	query(t, server, `ALTER SYSTEM SET synchronous_standby_names = ''`)
	query(t, server, `SELECT pg_reload_conf()::TEXT`, new(string))
}

// load is a service under load, with a follower of its changes.
type load struct {
	t           *testing.T
	dsn         string
	acked       atomic.Int64
	unavailable atomic.Int64
	done        chan struct{}
	clients     sync.WaitGroup
	follower    *storetest.Follower

	mu  sync.Mutex
	ids []int64
}

// startLoad starts clients that create plants through the API.
func startLoad(t *testing.T, dsn string) *load {
	t.Helper()
	store := open(t, dsn)
	must.NoError(t, store.BeginEpoch(t.Context())) // as a server does
	stored, text := token.New("load", []token.Scope{token.Read, token.Write}, time.Hour)
	must.NoError(t, store.CreateToken(t.Context(), stored))
	verifier := token.NewVerifier(store, "")
	t.Cleanup(func() { _ = verifier.Close() })
	handler, err := httpapi.New(httpapi.Options{Plants: store, Tokens: verifier, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler), MaxBody: 1 << 20})
	must.NoError(t, err)
	server := httptest.NewServer(plantcontract.Plants().Handler(t, handler))
	t.Cleanup(server.Close)
	l := &load{t: t, dsn: dsn, done: make(chan struct{}), follower: &storetest.Follower{Store: open(t, dsn), Limit: 1000}}
	l.clients.Go(l.follow)
	const clients = 16
	for c := range int64(clients) {
		l.clients.Go(func() {
			for id := c; ; id += clients {
				for !l.create(server.URL, text, id) {
					select {
					case <-l.done:
						return
					case <-time.After(20 * time.Millisecond):
					}
				}
				select {
				case <-l.done:
					return
				default:
				}
			}
		})
	}
	return l
}

// follow applies the changes to a copy.
func (l *load) follow() {
	for {
		select {
		case <-l.done:
			return
		default:
		}
		changes, err := l.follower.Next(l.t)
		if err != nil && !errors.Is(err, plant.ErrUnavailable) {
			l.t.Errorf("Changes = %v", err)
			return
		}
		if len(changes) == 0 {
			time.Sleep(5 * time.Millisecond) // as clients wait between two polls
		}
	}
}

// loadClient ends requests that get no response.
var loadClient = &http.Client{Timeout: 30 * time.Second}

// create reports whether the plant was created. If not, it can be tried again.
func (l *load) create(url, text string, id int64) bool {
	body := fmt.Sprintf(`{"id":%d,"name":"plant %[1]d"}`, id)
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, url+"/plants", strings.NewReader(body))
	if err != nil {
		l.t.Error(err)
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+text)
	resp, err := loadClient.Do(req)
	if err != nil {
		l.t.Error(err)
		return false
	}
	responseBody, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		l.mu.Lock()
		l.ids = append(l.ids, id)
		l.mu.Unlock()
		l.acked.Add(1)
		return true
	case http.StatusServiceUnavailable:
		l.unavailable.Add(1)
	default:
		l.t.Errorf("response to create %d is %s %s", id, resp.Status, responseBody)
	}
	return false
}

// waitForMore waits until n more creates are acknowledged.
func (l *load) waitForMore(n int64) {
	l.t.Helper()
	from := l.acked.Load()
	wait.Until(l.t, "creates are acknowledged", func() bool { return l.acked.Load() >= from+n })
}

// stop stops the clients. It returns the number of acknowledged plants, and fails
// the test if the store lacks some of them, or if the copy of the follower is not equal.
func (l *load) stop() (acknowledged, lost int) {
	l.t.Helper()
	close(l.done)
	l.clients.Wait()
	store := open(l.t, l.dsn)
	l.follower.Store = store
	l.follower.Drain(l.t)
	l.follower.WantCopy(l.t)
	if l.follower.Restarts > 0 {
		l.t.Errorf("the position of the follower was not valid %d times", l.follower.Restarts)
	}
	var have []int64
	for page := (plant.Page{Limit: 1000}); ; {
		plants, more, err := store.List(l.t.Context(), page)
		must.NoError(l.t, err)
		for _, p := range plants {
			have = append(have, p.ID)
			if p.Name != fmt.Sprint("plant ", p.ID) {
				l.t.Errorf("plant %d has the name %q", p.ID, p.Name)
			}
		}
		if !more {
			break
		}
		page.After = &have[len(have)-1]
	}
	for _, id := range l.ids {
		if _, found := slices.BinarySearch(have, id); !found {
			lost++
		}
	}
	if lost > 0 {
		l.t.Errorf("of %d acknowledged plants %d are lost", len(l.ids), lost)
	}
	return len(l.ids), lost
}

// query runs a statement on a server and scans its row, if into is given.
func query(t *testing.T, server *pgtest.Server, statement string, into ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, strings.Replace(pgtest.URL(server), "read-write", "any", 1))
	must.NoError(t, err)
	defer conn.Close(ctx)
	if len(into) == 0 {
		_, err = conn.Exec(ctx, statement)
	} else {
		err = conn.QueryRow(ctx, statement).Scan(into...)
	}
	must.NoError(t, err)
}
