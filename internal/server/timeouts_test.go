package server

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/testing/wait"
)

// pipes is a listener whose connections are pipes, so that a server and its
// clients run on the clock of synctest.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error { close(p); return nil }

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// The timeouts and sizes of the server are exactly those of the manual.
func TestServerLimits(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: x\r\n"
	large := func(n int) string { return head + "X-Large: " + strings.Repeat("x", n) + "\r\n\r\n" }
	for name, c := range map[string]struct {
		sent   string
		reads  bool
		after  time.Duration // the connection is closed
		status string
	}{
		"nothing is sent":          {"", true, 10 * time.Second, ""},
		"a header that never ends": {head + "X-Slow: x", true, 10 * time.Second, ""},
		"a body that never ends":   {head + "Content-Length: 2\r\n\r\nx", true, 30 * time.Second, "400"},
		"no second request":        {head + "\r\n", true, 2 * time.Minute, "204"},
		"nothing is read":          {head + "\r\n", false, time.Minute, ""},
		"30 KiB of headers":        {large(30 << 10), true, 2 * time.Minute, "204"},
		"40 KiB of headers":        {large(40 << 10), true, 500 * time.Millisecond, "431"}, // which net/http waits before it closes
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if _, err := io.Copy(io.Discard, r.Body); err != nil {
						w.WriteHeader(http.StatusBadRequest)
						return
					}
					w.WriteHeader(http.StatusNoContent)
				}), slog.New(slog.DiscardHandler))
				closed := make(chan time.Duration, 1)
				began := time.Now()
				server.ConnState = func(_ net.Conn, state http.ConnState) {
					if state == http.StateClosed {
						closed <- time.Since(began)
					}
				}
				listener := make(pipes, 1)
				go func() { _ = server.Serve(listener) }()
				defer server.Close()
				client, conn := net.Pipe()
				defer client.Close()
				listener <- conn
				go func() { _, _ = io.WriteString(client, c.sent) }()
				response := make(chan string, 1)
				if c.reads {
					go func() {
						text, _ := io.ReadAll(client)
						response <- string(text)
					}()
				}
				select {
				case after := <-closed:
					if after != c.after {
						t.Errorf("the connection is closed after %v, want %v", after, c.after)
					}
				case <-time.After(time.Hour):
					t.Fatal("the connection is open after an hour")
				}
				if !c.reads {
					return
				}
				if got := <-response; (c.status == "") != (got == "") || !strings.HasPrefix(strings.TrimPrefix(got, "HTTP/1.1 "), c.status) {
					t.Errorf("the response is %.60q, want the status %q", got, c.status)
				}
			})
		})
	}
}

// The server tells HTTP/2 clients how many requests of a connection it handles
// at the same time.
func TestServerLimitsStreams(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config = newServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	conn, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(wait.Limit))
	// The preface of a client (RFC 9113, section 3.4), and no settings.
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}
	var header [9]byte
	if _, err := io.ReadFull(conn, header[:]); err != nil || header[3] != 4 {
		t.Fatalf("the first frame of the server is %x, %v, want SETTINGS", header, err)
	}
	settings := make([]byte, int(header[1])<<8|int(header[2]))
	if _, err := io.ReadFull(conn, settings); err != nil {
		t.Fatal(err)
	}
	for s := range slices.Chunk(settings, 6) {
		if binary.BigEndian.Uint16(s) == 3 { // SETTINGS_MAX_CONCURRENT_STREAMS
			if n := binary.BigEndian.Uint32(s[2:]); n != 16 {
				t.Errorf("the server allows %d requests at the same time, want 16", n)
			}
			return
		}
	}
	t.Errorf("the settings %x do not limit the requests of a connection", settings)
}
