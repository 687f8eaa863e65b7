package system_test

import (
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

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

func TestServiceManagerIsNotified(t *testing.T) {
	t.Parallel()
	paths := map[string]string{"path": filepath.Join(t.TempDir(), "notify")}
	if runtime.GOOS == "linux" {
		paths["abstract"] = fmt.Sprintf("@plantstore-test-%d", time.Now().UnixNano())
	}
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			m := newManager(t, path)
			r, err := program.Launch(t.TempDir(), []string{"NOTIFY_SOCKET=" + path}, "--addr", "127.0.0.1:0")
			must.NoError(t, err)
			t.Cleanup(r.Kill)
			m.expect(t, "READY=1")
			r.End(t, syscall.SIGTERM)
			m.expect(t, "STOPPING=1")
		})
	}
}
