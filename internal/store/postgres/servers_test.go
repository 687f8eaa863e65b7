//go:build unix

package postgres

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/logtest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// If a standby is promoted while the primary goes on, as with a manager that hangs,
// all stores use the new primary: for reads, for new writes, and for the write that
// waits for the lost standby. So does a store that is opened now.
func TestDrillReplacedPrimary(t *testing.T) {
	old := pgtest.NewServer(t, "synchronous_standby_names = '*'", "wal_keep_size = '64MB'")
	standby := old.NewStandby()
	waitForStandby(t, old)
	store, log := openLogged(t, pgtest.URL(old, standby))
	create(t, store, 1)

	standby.Promote()
	waiting := make(chan error, 1)
	go func() { waiting <- store.Create(t.Context(), plant.Plant{ID: 2}) }()
	stopWaitingForStandby(t, standby)
	expect.Error(t, "the write that waits for the standby", wait.For(t, "the end of that write", waiting), nil)
	if n := count(t, standby, 2); n != 1 {
		t.Errorf("the new primary has %d plants 2, want 1", n)
	}

	other := open(t, pgtest.URL(old, standby))
	create(t, other, 3)
	_, err := store.Get(t.Context(), 3)
	expect.Error(t, "Get of a plant that another server has acknowledged", err, nil)
	create(t, store, 4)
	for _, id := range []int64{1, 2, 3, 4} {
		if n := count(t, standby, id); n != 1 {
			t.Errorf("the new primary has %d plants %d, want 1", n, id)
		}
	}
	wait.Until(t, "the log names both servers", func() bool {
		return log.has("was replaced as the primary", fmt.Sprint(old.Port), "timeline=1") && log.has("is the primary", fmt.Sprint(standby.Port), "timeline=2")
	})

	standby.StopImmediately()
	if err := store.Create(t.Context(), plant.Plant{ID: 5}); !errors.Is(err, plant.ErrUnavailable) || !errors.Is(err, errReplaced) {
		t.Errorf("Create without the new primary = %v, want %v and %v", err, plant.ErrUnavailable, errReplaced)
	}
	standby.Start()
	create(t, store, 6)
}

// If the server does not respond, as after a power cut, and a standby is promoted,
// the calls that wait for the server go on with the standby. pgx needs 15 seconds
// to give up a connection that is cancelled.
func TestDrillSilentPrimary(t *testing.T) {
	primary := pgtest.NewServer(t)
	standby := primary.NewStandby()
	store := open(t, pgtest.URL(primary, standby)+"&pool_max_conns=4")
	create(t, store, 1)
	waitForReplay(t, primary, standby)
	var conns []*pgxpool.Conn
	for range store.pool.Config().MaxConns {
		conn, err := store.pool.Acquire(t.Context())
		must.NoError(t, err)
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		conn.Release()
	}

	primary.Freeze()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := store.Get(t.Context(), 1)
			expect.Error(t, "Get", err, nil)
		})
	}
	standby.Promote()
	create(t, store, 2)
	wg.Wait()
}

// A role that may not read the timeline can use the store, and the log says what it
// lacks. By default every role may.
func TestDrillTimelineNotTold(t *testing.T) {
	primary := pgtest.NewServer(t)
	standby := primary.NewStandby()
	query(t, primary, `CREATE ROLE flora LOGIN`)
	query(t, primary, `GRANT CREATE ON SCHEMA public TO flora`)
	dsn := strings.Replace(pgtest.URL(standby, primary), "plantstore@", "flora@", 1)
	store, log := openLogged(t, dsn)
	create(t, store, 1)
	wait.Until(t, "the log has the timeline", func() bool { return log.has("is the primary", "timeline=1") })

	query(t, primary, `REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC`)
	create(t, store, 2)
	store, log = openLogged(t, dsn)
	create(t, store, 3)
	wait.Until(t, "the log says which privilege is missing", func() bool {
		return log.has("GRANT EXECUTE", "pg_walfile_name")
	})
	waitForReplay(t, primary, standby)
	primary.Kill()
	standby.Promote()
	create(t, store, 4)
}

// With several hosts that are poolers, the store works as with several servers.
func TestSeveralPoolers(t *testing.T) {
	dsn := pgtest.DSN(t)
	first, err := url.Parse(pgtest.Pooler(t, dsn, 20))
	must.NoError(t, err)
	second, err := url.Parse(pgtest.Pooler(t, dsn, 20))
	must.NoError(t, err)
	both := *first
	both.Host += "," + second.Host
	store, log := openLogged(t, both.String()+"&default_query_exec_mode=exec")
	create(t, store, 1)
	wait.Until(t, "the log names both", func() bool {
		return log.has("is the primary", first.Host, "timeline=1") && log.has("is the primary", second.Host, "timeline=1")
	})
}

// With several hosts, too, each connection has the client certificate that the URL names: those that ask a server for its
// timeline, and those of the pool.
func TestClientCertificateForSeveralServers(t *testing.T) {
	plain := newProxy(t, pgtest.DSN(t))
	dir := t.TempDir()
	must.NoError(t, program.WriteCertificate(dir, "cert", "127.0.0.1", time.Now().Add(time.Hour)))
	certificate, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "cert-key.pem")
	pair, err := tls.LoadX509KeyPair(certificate, key)
	must.NoError(t, err)
	config := &tls.Config{
		Certificates: []tls.Certificate{pair}, NextProtos: []string{"postgresql"},
		ClientAuth: tls.RequireAnyClientCert,
	}
	var hosts []string
	for range 2 {
		listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
		must.NoError(t, err)
		t.Cleanup(func() { listener.Close() })
		go forward(listener, plain.address)
		hosts = append(hosts, listener.Addr().String())
	}
	dsn, err := url.Parse(plain.dsn)
	must.NoError(t, err)
	dsn.Host = strings.Join(hosts, ",")
	query := dsn.Query()
	for name, value := range map[string]string{"sslmode": "require", "sslnegotiation": "direct", "sslcert": certificate, "sslkey": key} {
		query.Set(name, value)
	}
	dsn.RawQuery = query.Encode()
	create(t, open(t, dsn.String()), 1)
}

// forward connects each client of a listener with an address.
func forward(listener net.Listener, address string) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			server, err := net.Dial("tcp", address)
			if err != nil {
				return
			}
			defer server.Close()
			go func() {
				_, _ = io.Copy(server, client)
				server.Close()
			}()
			_, _ = io.Copy(client, server)
		}()
	}
}

// With one host in the URL nothing is asked.
func TestOneServer(t *testing.T) {
	for _, parameter := range []string{"", "&sslmode=prefer"} { // which pgx tries with and without TLS
		if s := open(t, pgtest.DSN(t)+parameter).servers; s != nil {
			t.Errorf("a URL with one host and %q has %d servers to ask", parameter, len(s.all))
		}
	}
}

// log collects the log of a store.
type log struct{ logtest.Log }

// has reports whether a line contains all texts.
func (l *log) has(texts ...string) bool {
lines:
	for line := range strings.Lines(l.String()) {
		for _, text := range texts {
			if !strings.Contains(line, text) {
				continue lines
			}
		}
		return true
	}
	return false
}

func openLogged(t *testing.T, dsn string) (*Store, *log) {
	t.Helper()
	store, l := open(t, dsn), &log{}
	store.Watch(slog.New(slog.NewTextHandler(l, nil)))
	return store, l
}

func create(t *testing.T, s *Store, id int64) {
	t.Helper()
	if err := s.Create(t.Context(), plant.Plant{ID: id}); err != nil {
		t.Errorf("Create(%d) = %v", id, err)
	}
}

// count returns how many plants with an ID a server has.
func count(t *testing.T, server *pgtest.Server, id int64) (n int) {
	t.Helper()
	query(t, server, fmt.Sprint(`SELECT count(*) FROM plants WHERE id = `, id), &n)
	return n
}

// waitForReplay waits until a standby shows all that is on its primary.
func waitForReplay(t *testing.T, primary, standby *pgtest.Server) {
	t.Helper()
	var lsn string
	query(t, primary, `SELECT pg_current_wal_lsn()::TEXT`, &lsn)
	wait.Until(t, "the standby has what the primary has", func() (has bool) {
		query(t, standby, fmt.Sprintf(`SELECT pg_last_wal_replay_lsn() >= '%s'`, lsn), &has)
		return has
	})
}
