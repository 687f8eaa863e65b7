package server

import (
	"math"
	"net"
	"net/http"
	"os"

	"golang.org/x/sys/unix"
)

// noInterface is the index of an interface that does not exist.
const noInterface = math.MaxInt32

// refuseHandshakes makes a listener refuse new handshakes, while handshakes under
// way complete: the kernel looks for a listener only when one begins. It needs
// Linux 5.7. A socket filter needs CAP_NET_ADMIN in later versions, and a backlog
// of 0 (listen(2)) refuses some and accepts others.
func refuseHandshakes(l *net.TCPListener) error {
	return control(l, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BINDTOIFINDEX, noInterface)
	})
}

// acceptQueued returns the next connection in the queue of a listener, or
// [http.ErrServerClosed] if the queue is empty. It ignores deadlines.
func acceptQueued(l *net.TCPListener) (net.Conn, error) {
	var fd int
	err := control(l, func(l int) (err error) {
		fd, _, err = unix.Accept4(l, unix.SOCK_CLOEXEC)
		return err
	})
	if err == unix.EAGAIN {
		return nil, http.ErrServerClosed
	}
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "")
	defer file.Close()
	return net.FileConn(file)
}

// maxUnsent is how many bytes of a response the kernel buffers before it can
// send them.
const maxUnsent = 128 << 10

// limitUnsent sets maxUnsent for the connections of a listener. Without it the
// kernel buffers megabytes of a response, and a client that reads nothing looks
// like one that has read them.
func limitUnsent(l *net.TCPListener) error {
	return control(l, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent)
	})
}

// control calls a function with the file descriptor of a listener.
func control(l *net.TCPListener, call func(fd int) error) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	if failed := raw.Control(func(fd uintptr) { err = call(int(fd)) }); failed != nil {
		return failed
	}
	return err
}
