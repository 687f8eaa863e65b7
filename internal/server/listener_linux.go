package server

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// refuseHandshakes makes a listener ignore new handshakes, while handshakes
// under way complete. The system of the client repeats a handshake after a
// second. By then another program listens, or the connection is refused.
func refuseHandshakes(l *net.TCPListener) error {
	const (
		flags = 13 // offset in the TCP header (RFC 9293, section 3.1), which the filter gets
		syn   = 0x02
	)
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: syn, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},          // drop the packet
		{Code: unix.BPF_RET | unix.BPF_K, K: 0xffffffff}, // accept all of it
	}
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
	})
	return errors.Join(err, set)
}

// maxUnsent is how many bytes of a response the kernel buffers before it can
// send them.
const maxUnsent = 128 << 10

// limitUnsent sets maxUnsent for the connections of a listener. Without it the
// kernel buffers megabytes of a response, and a client that reads nothing looks
// like one that has read them.
func limitUnsent(l *net.TCPListener) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent)
	})
	return errors.Join(err, set)
}
