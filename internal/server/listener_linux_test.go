package server

import (
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// A listener that retires refuses new connections at once, and returns those in its
// queue, also if the program paused until the deadline had passed.
func TestRetire(t *testing.T) {
	l, err := listen(t.Context(), "127.0.0.1:0")
	must.NoError(t, err)
	defer l.TCPListener.Close()
	const queued = 5
	for range queued {
		client, err := net.Dial("tcp", l.Addr().String())
		must.NoError(t, err)
		defer client.Close()
	}
	must.NoError(t, l.retire())
	if conn, err := net.DialTimeout("tcp", l.Addr().String(), wait.Limit); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a new connection is %v, %v, want refused", conn, err)
	}
	must.NoError(t, l.SetDeadline(time.Now()))
	for n := range queued {
		conn, err := l.Accept()
		if err != nil {
			t.Fatalf("connection %d of the queue is %v", n, err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(wait.Limit)); err != nil {
			t.Errorf("a connection of the queue has no deadlines: %v", err)
		}
	}
	if conn, err := l.Accept(); err != http.ErrServerClosed {
		t.Errorf("after the queue Accept returns %v, %v, want %v", conn, err, http.ErrServerClosed)
	}
}

// The kernel buffers little of a response that the client does not read.
func TestUnreadBytesOfAConnection(t *testing.T) {
	l, err := listen(t.Context(), "127.0.0.1:0")
	must.NoError(t, err)
	defer l.TCPListener.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	must.NoError(t, err)
	defer client.Close()
	_ = l.SetDeadline(time.Now().Add(wait.Limit))
	conn, err := l.Accept()
	must.NoError(t, err)
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := conn.Write(make([]byte, 16<<20)); err == nil || n > 1<<20 {
		t.Errorf("the kernel buffers %d bytes, %v, want less than a mebibyte", n, err)
	}
}
