//go:build unix

package postgres

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/contract/plantcontract"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/pgtest"
	"github.com/plantstore/plantstore/internal/token"
	"github.com/prometheus/client_golang/prometheus"
)

// A server that stops as in a crash, again and again, takes nothing back that
// was acknowledged, and the service recovers by itself.
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
	t.Logf("figures: %d crashes, %d creates acknowledged, %d lost; %d answers 503; served again at most %v after the server",
		rounds, acknowledged, lost, load.unavailable.Load(), slowest.Round(time.Millisecond))
}

// A primary that dies takes nothing with it that was acknowledged, and the
// service goes on with the standby by itself.
func TestDrillFailover(t *testing.T) {
	const notices = time.Second // a manager, such as Patroni
	primary := pgtest.NewServer(t, "synchronous_standby_names = '*'", "wal_keep_size = '64MB'")
	standby := primary.NewStandby()
	pgtest.WaitUntil(t, "the standby is synchronous", func() bool {
		var n int
		query(t, primary, `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`, &n)
		return n == 1
	})
	load := startLoad(t, pgtest.URL(primary, standby))
	load.waitForMore(1000)

	primary.Kill()
	killed := time.Now()
	time.Sleep(notices)
	standby.Promote()
	// It has inherited this, and would wait for a standby of its own for ever.
	query(t, standby, `ALTER SYSTEM SET synchronous_standby_names = ''`)
	query(t, standby, `SELECT pg_reload_conf()::TEXT`, new(string))
	promoted := time.Now()
	load.waitForMore(1)
	again := time.Now()
	if down := again.Sub(killed); down > 10*time.Second {
		t.Errorf("the service answered again after %v, want 10 s at most", down)
	}
	load.waitForMore(1000)
	acknowledged, lost := load.stop()
	t.Logf("figures: %d creates acknowledged, %d lost; %d answers 503; served again %v after the primary was killed, %v after the standby was promoted",
		acknowledged, lost, load.unavailable.Load(), again.Sub(killed).Round(time.Millisecond), again.Sub(promoted).Round(time.Millisecond))
}

// load is a service under load.
type load struct {
	t           *testing.T
	dsn         string
	acked       atomic.Int64
	unavailable atomic.Int64
	done        chan struct{}
	clients     sync.WaitGroup

	mu  sync.Mutex
	ids []int64
}

// startLoad begins to create plants through the API, each once.
func startLoad(t *testing.T, dsn string) *load {
	t.Helper()
	store := open(t, dsn)
	stored, text := token.New("load", []token.Scope{token.Read, token.Write}, time.Hour)
	if err := store.CreateToken(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	verifier, err := token.NewVerifier(store, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = verifier.Close() })
	handler, err := httpapi.New(httpapi.Options{Plants: store, Tokens: verifier, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler), MaxBody: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(plantcontract.Plants().Handler(t, handler))
	t.Cleanup(server.Close)
	l := &load{t: t, dsn: dsn, done: make(chan struct{})}
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

// loadClient gives up a request that gets no response.
var loadClient = &http.Client{Timeout: 30 * time.Second}

// create reports whether a plant was created; if not, it may be tried again.
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
	answer, _ := io.ReadAll(resp.Body)
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
		l.t.Errorf("create %d was answered %s %s", id, resp.Status, answer)
	}
	return false
}

// waitForMore waits until so many more creates have been acknowledged that were
// sent from now on, or shortly before.
func (l *load) waitForMore(n int64) {
	l.t.Helper()
	from := l.acked.Load()
	pgtest.WaitUntil(l.t, "creates are acknowledged", func() bool { return l.acked.Load() >= from+n })
}

// stop ends the load and fails unless the store has every plant that was
// acknowledged. It returns how many were, and how many of them are lost.
func (l *load) stop() (acknowledged, lost int) {
	l.t.Helper()
	close(l.done)
	l.clients.Wait()
	store := open(l.t, l.dsn)
	var have []int64
	for page := (plant.Page{Limit: 1000}); ; {
		plants, more, err := store.List(l.t.Context(), page)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, p := range plants {
			have = append(have, p.ID)
			if p.Name != fmt.Sprint("plant ", p.ID) {
				l.t.Errorf("plant %d is called %q", p.ID, p.Name)
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
		l.t.Errorf("of %d plants acknowledged %d are lost", len(l.ids), lost)
	}
	return len(l.ids), lost
}

// query runs a statement on a server.
func query(t *testing.T, server *pgtest.Server, statement string, into ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, strings.Replace(pgtest.URL(server), "read-write", "any", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if len(into) == 0 {
		_, err = conn.Exec(ctx, statement)
	} else {
		err = conn.QueryRow(ctx, statement).Scan(into...)
	}
	if err != nil {
		t.Fatal(err)
	}
}
