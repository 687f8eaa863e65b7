package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
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

	mu       sync.Mutex
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

	// Protected by servers.mu.
	err      error // nil: it accepts writes
	timeline int64 // 0: not known
}

// newServers returns the servers that a config names and lets the pool connect to
// their primary, or returns nil if the config names only one.
func newServers(config *pgxpool.Config) *servers {
	c := config.ConnConfig
	s := &servers{validate: c.ValidateConnect, conns: map[*pooledConn]*server{}}
	first := &pgconn.FallbackConfig{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}
	for _, f := range append([]*pgconn.FallbackConfig{first}, c.Fallbacks...) {
		address := net.JoinHostPort(f.Host, fmt.Sprint(f.Port))
		if n := len(s.all); n > 0 && s.all[n-1].address == address { // the same one without TLS
			s.all[n-1].config.Fallbacks = append(s.all[n-1].config.Fallbacks, f)
			continue
		}
		host := c.Copy()
		host.Host, host.Port, host.TLSConfig, host.Fallbacks = f.Host, f.Port, f.TLSConfig, nil
		host.ValidateConnect = nil
		s.all = append(s.all, &server{config: host, address: address, asked: make(chan struct{})})
	}
	if len(s.all) == 1 {
		return nil
	}
	config.BeforeConnect = s.connect
	return s
}

// watch starts to ask the servers. It calls lost after it has closed connections to
// a server that was replaced. It must be followed by close.
func (s *servers) watch(lost func()) {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	for _, v := range s.all {
		s.ended.Go(func() { s.watchOne(ctx, v, lost) })
	}
}

func (s *servers) close() {
	s.cancel()
	s.ended.Wait()
}

func (s *servers) watchOne(ctx context.Context, v *server, lost func()) {
	defer v.disconnect()
	for first := true; ; first = false {
		timeline, err := v.ask(ctx, s.validate)
		if s.note(v, timeline, err) {
			lost()
		}
		if first {
			close(v.asked)
		}
		s.report(v)
		select {
		case <-time.After(askInterval):
		case <-ctx.Done():
			return
		}
	}
}

// ask returns the timeline of the server, or an error if it does not accept writes.
// The timeline is 0 if the server does not tell it.
func (v *server) ask(ctx context.Context, validate pgconn.ValidateConnectFunc) (timeline int64, err error) {
	if v.conn == nil || v.conn.IsClosed() {
		limited, cancel := context.WithTimeout(ctx, 2*v.config.ConnectTimeout) // which does not limit the name service
		defer cancel()
		if v.conn, err = pgconn.ConnectConfig(limited, &v.config.Config); err != nil {
			v.conn = nil
			return 0, causeOf(err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, v.config.ConnectTimeout)
	defer cancel()
	if err := validate(limited, v.conn); err != nil {
		return 0, err
	}
	timeline, v.unknown = readNumber(limited, v.conn, selectTimeline)
	if v.conn.IsClosed() {
		return 0, v.unknown
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

func (v *server) disconnect() {
	if v.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = v.conn.Close(ctx)
	}
}

// note records what a server said. It reports whether it closed connections to
// another one, which was the primary before.
func (s *servers) note(v *server, timeline int64, err error) (lost bool) {
	s.mu.Lock()
	v.err = err
	if timeline != 0 {
		v.timeline = timeline
	}
	var old []*pooledConn
	if err == nil && v.timeline > s.timeline {
		s.timeline = v.timeline
		for conn, server := range s.conns {
			if server.timeline < s.timeline {
				old = append(old, conn)
			}
		}
	}
	s.mu.Unlock()
	for _, conn := range old {
		conn.Close()
	}
	return len(old) > 0
}

// errReplaced is the state of a server that accepts writes and is not the primary.
var errReplaced = errors.New("accepts writes, but another server was promoted since: " +
	"stop it; if the servers were set up anew, restart plantstore")

// state returns nil if the server is the primary. The caller holds s.mu.
func (s *servers) state(v *server) error {
	if v.err == nil && v.timeline < s.timeline {
		return fmt.Errorf("timeline %d instead of %d: %w", v.timeline, s.timeline, errReplaced)
	}
	return v.err
}

// noPrimary is the error of a connection while no server is the primary. It says
// why of each server.
type noPrimary struct{ error }

func (e noPrimary) Unwrap() error { return e.error }

// primary returns the first server that is the primary.
func (s *servers) primary() (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, v := range s.all {
		err := s.state(v)
		if err == nil {
			return v, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", v.address, err))
	}
	return nil, noPrimary{errors.Join(errs...)}
}

// connect lets a new connection of the pool go to the primary. At the start it
// waits until each server has responded, or has not in time.
func (s *servers) connect(ctx context.Context, c *pgx.ConnConfig) error {
	for _, v := range s.all {
		select {
		case <-v.asked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	v, err := s.primary()
	if err != nil {
		return err
	}
	c.Host, c.Port, c.TLSConfig, c.Fallbacks = v.config.Host, v.config.Port, v.config.TLSConfig, v.config.Fallbacks
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := v.config.DialFunc(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return s.add(v, conn)
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
func (s *servers) add(v *server, conn net.Conn) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.timeline < s.timeline {
		conn.Close()
		return nil, errReplaced
	}
	pooled := &pooledConn{conn, s}
	s.conns[pooled] = v
	return pooled, nil
}

// Close implements [net.Conn].
func (c *pooledConn) Close() error {
	c.servers.mu.Lock()
	delete(c.servers.conns, c)
	c.servers.mu.Unlock()
	return c.Conn.Close()
}

// report logs what has changed about a server.
func (s *servers) report(v *server) {
	log := s.log.Load()
	if log == nil {
		return
	}
	s.mu.Lock()
	err, timeline := s.state(v), v.timeline
	s.mu.Unlock()
	level, message := slog.LevelInfo, "database server is the primary"
	switch {
	case errors.Is(err, errReplaced):
		level, message = slog.LevelWarn, "database server was replaced as the primary and still accepts writes"
	case err != nil && v.conn != nil && !v.conn.IsClosed():
		message = "database server does not accept writes"
	case err != nil:
		level, message = slog.LevelWarn, "cannot connect to database server"
	case v.unknown != nil:
		err, level = v.unknown, slog.LevelWarn
		message = "database server does not tell its timeline, so a primary that was replaced is not noticed"
		if code(err) == notAllowed {
			message += ": GRANT EXECUTE ON FUNCTION pg_current_wal_lsn(), pg_walfile_name(pg_lsn) " +
				"TO the role in --store"
		}
	}
	if message == v.logged {
		return
	}
	v.logged = message
	attrs := []slog.Attr{slog.String("host", v.address)}
	if timeline != 0 {
		attrs = append(attrs, slog.Int64("timeline", timeline))
	}
	if err != nil {
		attrs = append(attrs, slog.Any("err", err))
	}
	log.LogAttrs(context.Background(), level, message, attrs...)
}
