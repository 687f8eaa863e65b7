package system_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// acknowledged are the plants whose creation clients have a response to.
type acknowledged struct {
	last  atomic.Int64 // ID that a client has used
	mu    sync.Mutex
	began map[int64]time.Time // when the requests began, by ID
}

// next returns an ID that no client has used.
func (a *acknowledged) next() int64 { return a.last.Add(1) }

func (a *acknowledged) add(began time.Time, ids ...int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.began == nil {
		a.began = map[int64]time.Time{}
	}
	for _, id := range ids {
		a.began[id] = began
	}
}

func (a *acknowledged) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.began)
}

// wantStored fails unless a service has the acknowledged plants with the names of plantName, and no other.
func (a *acknowledged) wantStored(t *testing.T, r *program.Server) {
	t.Helper()
	stored := listAll(t, r.URL, r.Token)
	for id := range a.began {
		if stored[id].Name != plantName(id) {
			t.Errorf("plant %d was acknowledged and is now %q", id, stored[id].Name)
		}
	}
	if len(stored) != len(a.began) {
		t.Errorf("%d plants are stored, want %d", len(stored), len(a.began))
	}
}

// A program that is told to stop under full load sends a complete response to
// every request on an open connection. New connections are refused. After a
// restart every acknowledged plant is there. PLANTSTORE_TEST_STOP_ROUNDS is how often.
func TestStop(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "plants.db")
	var created acknowledged
	rounds := must.Number(t, "PLANTSTORE_TEST_STOP_ROUNDS", 2)
	for round := range rounds {
		r, before := program.OneOf(t, store), created.count()
		var clients sync.WaitGroup
		for n := range 64 {
			clients.Go(func() {
				c := creator{
					addr:    strings.TrimPrefix(r.URL, "http://"),
					keep:    n%4 != 0,                                     // the others fill the queue of the listener
					idle:    time.Duration(n/60) * 500 * time.Millisecond, // four pause
					created: &created,
				}
				if err := c.run(); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		wait.Until(t, "a create is acknowledged", func() bool { return created.count() > before || t.Failed() })
		time.Sleep(rand.N(200 * time.Millisecond)) // at any moment
		r.End(t, syscall.SIGTERM)
		clients.Wait()
		if t.Failed() {
			return
		}
	}
	created.wantStored(t, program.OneOf(t, store))
	t.Logf("in %d rounds %d plants were acknowledged, and are there", rounds, created.count())
}

// creator is a client that creates plants on a connection of its own. It never
// retries, so a request without a response is lost.
type creator struct {
	addr    string
	keep    bool          // its connection, until it is told not to
	idle    time.Duration // at most, between two requests
	created *acknowledged
}

// run creates plants until connections are refused.
func (c creator) run() error {
	for {
		conn, err := net.DialTimeout("tcp", c.addr, wait.Limit)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil
		}
		if err != nil {
			return err
		}
		err = c.use(conn)
		_ = conn.Close()
		if err != nil {
			return err
		}
	}
}

// use sends creates until the server says that it closes the connection.
func (c creator) use(conn net.Conn) error {
	_ = conn.SetDeadline(time.Now().Add(wait.Limit))
	responses := bufio.NewReader(conn)
	for n := 0; ; n++ {
		id, began, header := c.created.next(), time.Now(), ""
		if !c.keep {
			header = "Connection: close\r\n"
		}
		body := fmt.Sprintf(`{"id":%d,"name":%q}`, id, plantName(id))
		_, err := fmt.Fprintf(conn, "POST /plants HTTP/1.1\r\nHost: plants\r\nAuthorization: Bearer "+program.Token+"\r\n"+
			"Content-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", header, len(body), body)
		if err != nil {
			return fmt.Errorf("request %d of a connection could not be sent: %w", n, err)
		}
		resp, err := http.ReadResponse(responses, nil)
		if err != nil {
			return fmt.Errorf("request %d of a connection got no response: %w", n, err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return fmt.Errorf("request %d of a connection got half of a response: %w", n, err)
		}
		if want := fmt.Sprintf("{\"name\":%q}\n", plantName(id)); resp.StatusCode != http.StatusOK || string(text) != want {
			return fmt.Errorf("the response is %s %q, want 200 %q", resp.Status, text, want)
		}
		c.created.add(began, id)
		if resp.Close {
			return nil
		}
		if c.idle > 0 {
			time.Sleep(rand.N(c.idle))
		}
	}
}

// A request of which half has been sent when the program is told to stop gets
// its response after the other half. Until then the program is alive and not ready, and its
// admin listener says so.
func TestStopWaitsForRequest(t *testing.T) {
	t.Parallel()
	r, m, conn := halfSent(t, filepath.Join(t.TempDir(), "notify"), "--admin-addr", "127.0.0.1:0")
	wait.Until(t, "healthcheck says what /readyz says", func() bool { return r.Healthcheck(t) == "ready\n" })
	lone := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: wait.Limit}
	_, _, err := r.Send(lone, http.MethodGet, "/plants", "") // before the signal, so it is not counted
	must.NoError(t, err)
	must.NoError(t, r.Cmd.Process.Signal(syscall.SIGINT))
	m.expect(t, "STOPPING=1")
	r.WantReady(t, "stopping")
	if out := r.Healthcheck(t); !strings.HasPrefix(out,
		"plantstore: healthcheck: /readyz responded with 503 Service Unavailable: stopping") {
		t.Errorf("healthcheck of a service that stops says %q, want that it drains", out)
	}
	if status, _ := r.Page(t, "/livez"); status != http.StatusOK {
		t.Errorf("/livez has the status %d during a shutdown", status)
	}
	time.Sleep(2 * time.Second) // as a slow client takes
	_, err = io.WriteString(conn, "2}")
	must.NoError(t, err)
	responses := bufio.NewReader(conn)
	wantResponse(t, responses, http.StatusBadRequest)
	// This response may lack Connection: close, so the connection must be open.
	_, err = io.WriteString(conn, "GET /plants HTTP/1.1\r\nHost: plants\r\n\r\n")
	must.NoError(t, err)
	if resp := wantResponse(t, responses, http.StatusUnauthorized); !resp.Close {
		t.Error("a response after the signal lacks Connection: close")
	}
	if err := r.Wait(); err != nil {
		t.Errorf("plantstore serve ended with %v\n%s", err, &r.Stderr)
	}
	if resp, err := http.Get(r.AdminURL + "/livez"); err == nil {
		resp.Body.Close()
		t.Error("the admin listener is open after the program has ended")
	}
	// The log has the longest drain, as the manual states it.
	for _, attribute := range []string{`"drain":"25s"`, `"requests_while_stopping":2`} {
		if log := r.Stderr.String(); !strings.Contains(log, attribute) {
			t.Errorf("the log lacks %s:\n%s", attribute, log)
		}
	}
}

func wantResponse(t *testing.T, responses *bufio.Reader, status int) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(responses, nil)
	must.NoError(t, err)
	if body, err := io.ReadAll(resp.Body); resp.StatusCode != status || err != nil {
		t.Errorf("the response is %s %s, %v, want %d", resp.Status, body, err, status)
	}
	return resp
}

// A second signal does not wait for the request. On Linux the socket of the service manager is
// one without a file.
func TestStopAtOnce(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "notify")
	if runtime.GOOS == "linux" {
		socket = fmt.Sprintf("@plantstore-test-%d", time.Now().UnixNano())
	}
	r, m, _ := halfSent(t, socket)
	must.NoError(t, r.Cmd.Process.Signal(syscall.SIGTERM))
	m.expect(t, "STOPPING=1")
	wait.Until(t, "plantstore serve ends after a second signal", func() bool { // it may not yet be ready for another
		_ = r.Cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-r.Ended():
			return true
		case <-time.After(50 * time.Millisecond):
			return false
		}
	})
	err := r.Wait()
	e, ok := errors.AsType[*exec.ExitError](err)
	if !ok || e.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("plantstore serve ended with %v, want that the signal ended it", err)
	}
}

// halfSent starts a program with the socket of a service manager, and sends it half of a
// request. It returns when the program has begun to read the body.
func halfSent(t *testing.T, socket string, args ...string) (*program.Server, manager, net.Conn) {
	t.Helper()
	m := newManager(t, socket)
	r, err := program.Launch(t.TempDir(), []string{"NOTIFY_SOCKET=" + socket, "PLANTSTORE_TOKEN=" + program.Token},
		append(args, "--addr", "127.0.0.1:0")...)
	must.NoError(t, err)
	t.Cleanup(func() { _ = r.Cmd.Process.Kill() })
	r.Token = program.Token
	m.expect(t, "READY=1")
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
	must.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(wait.Limit))
	_, err = io.WriteString(conn, "POST /plants HTTP/1.1\r\nHost: plants\r\nAuthorization: Bearer "+program.Token+"\r\n"+
		"Content-Type: application/json\r\nContent-Length: 8\r\nExpect: 100-continue\r\n\r\n")
	must.NoError(t, err)
	const goOn = "HTTP/1.1 100 Continue\r\n\r\n"
	got := make([]byte, len(goOn))
	if _, err := io.ReadFull(conn, got); string(got) != goOn || err != nil {
		t.Fatalf("the program says %q, %v", got, err)
	}
	_, err = io.WriteString(conn, `{"id":`)
	must.NoError(t, err)
	return r, m, conn
}

// manager plays the role of systemd: it listens on the socket in NOTIFY_SOCKET.
type manager struct{ conn *net.UnixConn }

func newManager(t *testing.T, path string) manager {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: path})
	must.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return manager{conn}
}

// expect fails the test unless the next message is the given one.
func (m manager) expect(t *testing.T, want string) {
	t.Helper()
	buf := make([]byte, 1<<10)
	_ = m.conn.SetReadDeadline(time.Now().Add(wait.Limit))
	n, err := m.conn.Read(buf)
	if got := string(buf[:n]); got != want || err != nil {
		t.Fatalf("the service manager received %q, %v, want %q", got, err, want)
	}
}
