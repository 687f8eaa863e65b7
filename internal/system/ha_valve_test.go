//go:build linux

package system_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// valve is a TCP proxy. While it is silent, it accepts connections and forwards
// nothing, like a network that drops packets.
type valve struct {
	silent atomic.Bool
	mu     sync.Mutex
	conns  []net.Conn
}

// listen forwards connections to another address. It returns its own.
func (v *valve) listen(t *testing.T, to string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go v.forward(client, to)
		}
	}()
	return l.Addr().String()
}

func (v *valve) forward(client net.Conn, to string) {
	v.add(client)
	server, err := net.Dial("tcp", to)
	if err != nil {
		client.Close()
		return
	}
	v.add(server)
	go v.copy(server, client)
	v.copy(client, server)
}

func (v *valve) add(c net.Conn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.conns = append(v.conns, c)
}

func (v *valve) copy(to, from net.Conn) {
	defer to.Close()
	_, _ = io.Copy(v.writer(to), from)
}

// writer returns a writer that writes nothing while the valve is silent.
func (v *valve) writer(to io.Writer) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		if v.silent.Load() {
			return len(p), nil
		}
		return to.Write(p)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// open ends the silence. Connections that have lost bytes are closed.
func (v *valve) open() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.conns {
		c.Close()
	}
	v.conns = nil
	v.silent.Store(false)
}
