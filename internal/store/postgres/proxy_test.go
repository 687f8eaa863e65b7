package postgres

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// proxy is a TCP proxy between a store and its database.
type proxy struct {
	t           *testing.T
	dsn         string
	network, to string
	address     string
	mu          sync.Mutex
	listener    net.Listener
	conns       map[net.Conn]bool
	next        *cut // of the next connection with its message
	cuts        int
	asked       bool   // the last bytes came from a client
	swallowed   string // a connection that sends this gets no more responses
	turns       int
}

// cut is what ends a connection: a message that does not arrive.
type cut struct {
	fromServer bool
	is         func(message []byte) bool
	says       []byte // what the client gets in place of it
	do         func() // is called before that
}

// newProxy starts a proxy to the database with the given URL.
func newProxy(t *testing.T, dsn string) *proxy {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	must.NoError(t, err)
	p := &proxy{t: t, conns: map[net.Conn]bool{}, address: "127.0.0.1:0"}
	p.network, p.to = "tcp", net.JoinHostPort(config.Host, fmt.Sprint(config.Port))
	if _, err := os.Stat(config.Host); err == nil {
		p.network, p.to = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", config.Host, config.Port)
	}
	p.start()
	t.Cleanup(p.stop)
	u, err := url.Parse(dsn)
	must.NoError(t, err)
	query := u.Query()
	query.Del("host")
	query.Set("sslmode", "disable")
	query.Set("pool_max_conns", "2")
	query.Del("connect_timeout") // a store gives up a silent server after its own time
	// Each statement is sent as text, so that the proxy can read it.
	query.Set("default_query_exec_mode", "exec")
	u.RawQuery, u.Host = query.Encode(), p.address
	p.dsn = u.String()
	return p
}

// start listens for connections.
func (p *proxy) start() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.address)
	must.NoError(p.t, err)
	p.address, p.listener = l.Addr().String(), l
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(p.network, p.to)
			if err != nil {
				client.Close()
				continue
			}
			p.mu.Lock()
			p.conns[client], p.conns[server] = true, true
			p.mu.Unlock()
			go p.copy(server, client, false)
			go p.copy(client, server, true)
		}
	}()
}

// stop closes the listener and all connections.
func (p *proxy) stop() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// cutCommit closes the next connection that commits: after the response of the
// server, which the client does not get, or before the server gets the request.
// First it calls fn and sends the client the bytes in says.
func (p *proxy) cutCommit(responded bool, says []byte, fn func()) {
	is := commits
	if responded {
		is = committed
	}
	p.cutNext(cut{fromServer: responded, is: is, says: says, do: fn})
}

func (p *proxy) cutNext(next cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = &next
}

// swallow lets each connection that sends a text get no more responses, as from a server
// that is frozen. Other connections, and all after swallow(""), work.
func (p *proxy) swallow(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallowed = text
}

// cutAt closes the next connection that sends a text, before the server gets it.
func (p *proxy) cutAt(text string) {
	p.cutNext(cut{is: func(message []byte) bool { return bytes.Contains(message, []byte(text)) }, do: func() {}})
}

func (p *proxy) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// roundTrips returns the number of round trips on all connections.
func (p *proxy) roundTrips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turns
}

// commits reports whether a message of a client commits: every transaction that
// writes inserts a mark, in a single statement or in a message with the COMMIT.
func commits(message []byte) bool { return bytes.Contains(message, []byte("INTO marks")) }

// committed reports whether a message of the server confirms a commit: the command
// that it ran, and then that it is idle (PostgreSQL's manual, "Message Formats").
func committed(message []byte) bool {
	return bytes.HasSuffix(message, []byte("Z\x00\x00\x00\x05I")) &&
		(bytes.Contains(message, []byte("COMMIT\x00")) || bytes.Contains(message, []byte("INSERT 0 1\x00")))
}

func (p *proxy) copy(to, from net.Conn, fromServer bool) {
	defer to.Close()
	defer from.Close()
	for b := make([]byte, 1<<20); ; {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		p.mu.Lock()
		if !fromServer && !p.asked {
			p.turns++
		}
		p.asked = !fromServer
		cut := p.next
		isCut := cut != nil && cut.fromServer == fromServer && cut.is(b[:n])
		if isCut {
			p.next = nil
			p.cuts++
		}
		swallow := p.swallowed != "" && !fromServer && bytes.Contains(b[:n], []byte(p.swallowed))
		p.mu.Unlock()
		if isCut {
			cut.do()
			client := from
			if fromServer {
				client = to
			}
			_, _ = client.Write(cut.says)
			return
		}
		if swallow {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}
