package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/plantstore/plantstore/internal/backoff"
)

// askInterval is the time between two questions to a server.
const askInterval = 200 * time.Millisecond

// servers are the servers of a URL with several hosts. The primary among them is
// the server that accepts writes and has the highest timeline: each promotion of a
// standby raises it.
//
// A server that accepts writes is not always the primary. If the program that manages
// it hangs, the server continues after another one was promoted. It lacks the writes of
// the new primary, and its own new writes are lost.
//
// So every server is asked again and again. Connections are made to the primary only,
// and those to a server with a lower timeline are closed, also while they are in
// use. The highest timeline is remembered: if the new primary is lost, the old one
// is not used again.
type servers struct {
	all      []*server
	validate pgconn.ValidateConnectFunc // of a server that accepts writes
	log      atomic.Pointer[slog.Logger]
	cancel   context.CancelFunc
	ended    sync.WaitGroup

	mutex    sync.Mutex
	timeline int64                   // the highest of all servers, ever
	conns    map[*pooledConn]*server // the connections of the pool
}

// server is one of several servers.
type server struct {
	config  *pgx.ConnConfig // of this host only
	address string
	asked   chan struct{} // closed once it was asked

	// Used by watch only.
	conn    *pgconn.PgConn
	unknown error  // why it does not tell its timeline
	logged  string // the last message about it

	// Protected by servers.mutex.
	err      error // nil: it accepts writes
	timeline int64 // 0: not known
}

// newServers returns the servers that a config names and lets the pool connect to
// their primary, or returns nil if the config names only one.
func newServers(config *pgxpool.Config) *servers {
	named := config.ConnConfig
	s := &servers{validate: named.ValidateConnect, conns: map[*pooledConn]*server{}}
	for _, attempt := range attempts(named) {
		address := addressOf(attempt)
		if count := len(s.all); count > 0 && s.all[count-1].address == address { // the same one without TLS
			continue
		}
		host := named.Copy()
		connectOnlyTo(address, host)
		host.ValidateConnect = nil
		s.all = append(s.all, &server{config: host, address: address, asked: make(chan struct{})})
	}
	if len(s.all) == 1 {
		return nil
	}
	config.BeforeConnect = s.connect
	return s
}

// attempts returns what pgx tries to connect to with a config, in this order.
func attempts(config *pgx.ConnConfig) []*pgconn.FallbackConfig {
	first := &pgconn.FallbackConfig{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}
	return append([]*pgconn.FallbackConfig{first}, config.Fallbacks...)
}

func addressOf(attempt *pgconn.FallbackConfig) string {
	return net.JoinHostPort(attempt.Host, fmt.Sprint(attempt.Port))
}

// connectOnlyTo removes all other servers from a config. Each config keeps its own TLS settings: pgx finds the client
// certificate by the pointer to them, so with those of another config it would send none.
func connectOnlyTo(address string, config *pgx.ConnConfig) {
	own := slices.DeleteFunc(attempts(config), func(a *pgconn.FallbackConfig) bool { return addressOf(a) != address })
	config.Host, config.Port, config.TLSConfig, config.Fallbacks = own[0].Host, own[0].Port, own[0].TLSConfig, own[1:]
}

// watch starts to ask the servers. It calls lost after it has closed connections to
// a server that was replaced. It must be followed by close.
func (s *servers) watch(lost func()) {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	for _, server := range s.all {
		s.ended.Go(func() { s.watchOne(ctx, server, lost) })
	}
}

func (s *servers) close() {
	s.cancel()
	s.ended.Wait()
}

func (s *servers) watchOne(ctx context.Context, server *server, lost func()) {
	defer server.disconnect()
	for first := true; ; first = false {
		timeline, err := server.ask(ctx, s.validate)
		if s.note(server, timeline, err) {
			lost()
		}
		if first {
			close(server.asked)
		}
		s.report(server)
		if !backoff.Sleep(ctx, askInterval) {
			return
		}
	}
}

// ask returns the timeline of the server, or an error if it does not accept writes.
// The timeline is 0 if the server does not tell it.
func (server *server) ask(ctx context.Context, validate pgconn.ValidateConnectFunc) (timeline int64, err error) {
	if server.conn == nil || server.conn.IsClosed() {
		limited, cancel := context.WithTimeout(ctx, 2*server.config.ConnectTimeout) // which does not limit the name service
		defer cancel()
		if server.conn, err = pgconn.ConnectConfig(limited, &server.config.Config); err != nil {
			server.conn = nil
			return 0, causeOf(err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, server.config.ConnectTimeout)
	defer cancel()
	if err := validate(limited, server.conn); err != nil {
		return 0, err
	}
	timeline, server.unknown = readNumber(limited, server.conn, selectTimeline)
	if server.conn.IsClosed() {
		return 0, server.unknown
	}
	return timeline, nil
}

// selectTimeline reads the timeline of a primary: the first part of the name of its WAL
// file, in hexadecimal. That of pg_control_checkpoint() is the one of the last checkpoint;
// a server that was promoted completes the next one minutes later.
const selectTimeline = `SELECT ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::BIT(32)::BIGINT`

// readNumber returns the number that a query returns. It prepares no statement.
func readNumber(ctx context.Context, conn *pgconn.PgConn, query string) (int64, error) {
	results, err := conn.Exec(ctx, query).ReadAll()
	if err != nil {
		return 0, err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 {
		return 0, fmt.Errorf("the server responded to %s with no row", query)
	}
	return strconv.ParseInt(string(results[0].Rows[0][0]), 10, 64)
}

func (server *server) disconnect() {
	if server.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.conn.Close(ctx)
	}
}

// note records what a server said. It reports whether it closed connections to
// another one, which was the primary before.
func (s *servers) note(server *server, timeline int64, err error) (lost bool) {
	s.mutex.Lock()
	server.err = err
	if timeline != 0 {
		server.timeline = timeline
	}
	var old []*pooledConn
	if err == nil && server.timeline > s.timeline {
		s.timeline = server.timeline
		for conn, connected := range s.conns {
			if connected.timeline < s.timeline {
				old = append(old, conn)
			}
		}
	}
	s.mutex.Unlock()
	for _, conn := range old {
		conn.Close()
	}
	return len(old) > 0
}

// errReplaced is the state of a server that accepts writes and is not the primary.
var errReplaced = errors.New("accepts writes, but another server was promoted since: " +
	"stop it; if the servers were set up anew, restart plantstore")

// state returns nil if the server is the primary. The caller holds s.mutex.
func (s *servers) state(server *server) error {
	if server.err == nil && server.timeline < s.timeline {
		return fmt.Errorf("timeline %d instead of %d: %w", server.timeline, s.timeline, errReplaced)
	}
	return server.err
}

// noPrimary is the error of a connection while no server is the primary. It says
// why of each server.
type noPrimary struct{ error }

func (e noPrimary) Unwrap() error { return e.error }

// primary returns the first server that is the primary.
func (s *servers) primary() (*server, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var errs []error
	for _, server := range s.all {
		err := s.state(server)
		if err == nil {
			return server, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", server.address, err))
	}
	return nil, noPrimary{errors.Join(errs...)}
}

// connect lets a new connection of the pool go to the primary. At the start it
// waits until each server has responded, or has not in time.
func (s *servers) connect(ctx context.Context, config *pgx.ConnConfig) error {
	for _, server := range s.all {
		select {
		case <-server.asked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	primary, err := s.primary()
	if err != nil {
		return err
	}
	connectOnlyTo(primary.address, config)
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return s.add(primary, conn)
	}
	return nil
}

// pooledConn is a connection of the pool.
type pooledConn struct {
	net.Conn
	servers *servers
}

// add registers a connection of the pool, unless its server was replaced while it
// was made.
func (s *servers) add(server *server, conn net.Conn) (net.Conn, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if server.timeline < s.timeline {
		conn.Close()
		return nil, errReplaced
	}
	pooled := &pooledConn{conn, s}
	s.conns[pooled] = server
	return pooled, nil
}

// Close implements [net.Conn].
func (c *pooledConn) Close() error {
	c.servers.mutex.Lock()
	delete(c.servers.conns, c)
	c.servers.mutex.Unlock()
	return c.Conn.Close()
}

// report logs what has changed about a server.
func (s *servers) report(server *server) {
	log := s.log.Load()
	if log == nil {
		return
	}
	s.mutex.Lock()
	err, timeline := s.state(server), server.timeline
	s.mutex.Unlock()
	level, message := server.describe(err)
	if message == server.logged {
		return
	}
	server.logged = message
	attrs := []slog.Attr{slog.String("host", server.address)}
	if timeline != 0 {
		attrs = append(attrs, slog.Int64("timeline", timeline))
	}
	if cause := cmp.Or(err, server.unknown); cause != nil {
		attrs = append(attrs, slog.Any("err", cause))
	}
	log.LogAttrs(context.Background(), level, message, attrs...)
}

// describe returns the message about a server in a state.
func (server *server) describe(state error) (slog.Level, string) {
	connected := server.conn != nil && !server.conn.IsClosed()
	switch {
	case errors.Is(state, errReplaced):
		return slog.LevelWarn, "database server was replaced as the primary and still accepts writes"
	case state != nil && connected:
		return slog.LevelInfo, "database server does not accept writes"
	case state != nil:
		return slog.LevelWarn, "cannot connect to database server"
	case server.unknown == nil:
		return slog.LevelInfo, "database server is the primary"
	}
	message := "database server does not tell its timeline, so a primary that was replaced is not noticed"
	if code(server.unknown) == notAllowed {
		message += ": GRANT EXECUTE ON FUNCTION pg_current_wal_lsn(), pg_walfile_name(pg_lsn) " +
			"TO the role in --store"
	}
	return slog.LevelWarn, message
}
