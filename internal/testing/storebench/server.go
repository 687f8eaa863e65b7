package storebench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// staticToken is the token that the clients of a Server send.
const staticToken = "a-static-token-of-ours"

// storesVariable is the environment variable with the stores that a test binary
// serves.
const storesVariable = "PLANTSTORE_TEST_SERVE_STORES"

// Server is the test binary in another process. It serves stores, so that its
// CPU time does not include that of the clients.
type Server struct {
	pid       int
	usage     string   // address of the CPU time and allocations
	addresses []string // of the stores
}

// Start starts a server of the stores with the given names. The function given to
// [ServeIfAsked] opens them.
func Start(b *testing.B, names ...string) *Server {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), storesVariable+"="+strings.Join(names, "\n"))
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	addresses := strings.Fields(line)
	return &Server{pid: cmd.Process.Pid, usage: addresses[0], addresses: addresses[1:]}
}

// Opened is an open store.
type Opened struct {
	Plants plant.Store
	Tokens token.Store
}

// ServeIfAsked must be called by TestMain. In the process of a [Server] it serves
// until it is killed. In other processes it returns immediately.
func ServeIfAsked(open func(name string) (Opened, error)) {
	names := os.Getenv(storesVariable)
	if names == "" {
		return
	}
	fmt.Fprintln(os.Stderr, serve(strings.Split(names, "\n"), open))
	os.Exit(1)
}

// serve serves the CPU time and allocations of the process, and the stores, each
// at its own address.
func serve(names []string, open func(name string) (Opened, error)) error {
	handlers := []http.Handler{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, int64(cpuTime()), mallocs())
	})}
	for _, name := range names {
		s, err := open(name)
		if err != nil {
			return err
		}
		tokens := token.NewVerifier(s.Tokens, staticToken)
		h, err := httpapi.New(httpapi.Options{Plants: s.Plants, Tokens: tokens, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler), MaxBody: 1 << 20})
		if err != nil {
			return err
		}
		handlers = append(handlers, h)
	}
	failed := make(chan error)
	var addresses []any
	for _, h := range handlers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addresses = append(addresses, l.Addr())
		go func() { failed <- http.Serve(l, h) }()
	}
	fmt.Println(addresses...)
	return <-failed
}

// used returns the CPU time and the allocations of the server.
func (s *Server) used(b *testing.B) (cpu time.Duration, mallocs uint64) {
	b.Helper()
	resp, err := http.Get("http://" + s.usage)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := fmt.Fscanln(resp.Body, &cpu, &mallocs); err != nil {
		b.Fatal(err)
	}
	return cpu, mallocs
}

// Anonymous returns the memory of the server that is not mapped from files.
func (s *Server) Anonymous(b *testing.B) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		b.Log(err)
		return "not measured"
	}
	for text := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(text, "RssAnon:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(value)[0])
			return fmt.Sprintf("%d MiB", kib>>10)
		}
	}
	return "not measured"
}

// Creates measures clients that create plants in one of the stores, each over its
// own connection. They do not use net/http, which would need more CPU than the
// server.
func (s *Server) Creates(b *testing.B, store, clients int, next func() int64) Measure {
	cpu, allocs := s.used(b)
	began := time.Now()
	took := atOnce(clients, func() func() error {
		conn, err := net.Dial("tcp", s.addresses[store])
		if err != nil {
			return func() error { return err }
		}
		b.Cleanup(func() { conn.Close() })
		c := client{conn: conn, responses: bufio.NewReader(conn)}
		return func() error { return c.create(next()) }
	}, b.Error)
	m := Measure{N: len(took), Wall: time.Since(began), P99: p99(took)}
	cpuAfter, allocsAfter := s.used(b)
	m.CPU, m.Allocs = cpuAfter-cpu, float64(allocsAfter-allocs)/float64(max(m.N, 1))
	return m
}

// client is a connection with its buffers. It sends one request at a time.
type client struct {
	conn          io.Writer
	responses     *bufio.Reader
	request, body []byte
}

func (c *client) create(id int64) error {
	c.body = append(strconv.AppendInt(append(c.body[:0], `{"id":`...), id, 10), `,"name":"Ficus lyrata","tag":"Moraceae"}`...)
	c.request = append(c.request[:0], "POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+staticToken+
		"\r\nContent-Type: application/json\r\nContent-Length: "...)
	c.request = append(strconv.AppendInt(c.request, int64(len(c.body)), 10), "\r\n\r\n"...)
	if _, err := c.conn.Write(append(c.request, c.body...)); err != nil {
		return err
	}
	length := 0
	for first := true; ; first = false {
		line, err := c.responses.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
			return fmt.Errorf("status %s", line)
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
		if len(line) <= 2 {
			_, err := c.responses.Discard(length)
			return err
		}
	}
}
