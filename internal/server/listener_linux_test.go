package server

import (
	"net"
	"testing"
	"time"
)

// The kernel buffers little of a response that the client does not read.
func TestUnreadBytesOfAConnection(t *testing.T) {
	l, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.TCPListener.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_ = l.SetDeadline(time.Now().Add(longEnough))
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := conn.Write(make([]byte, 16<<20)); err == nil || n > 1<<20 {
		t.Errorf("the kernel buffers %d bytes, %v, want less than a mebibyte", n, err)
	}
}
