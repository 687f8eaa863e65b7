package server

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// refuseHandshakes has a listener ignore who begins to connect, while those who
// have begun go on. The client's system tries again after a second; by then the
// next program listens, or nobody does.
func refuseHandshakes(l *net.TCPListener) error {
	const (
		flags = 13 // offset in the header of TCP (RFC 9293, 3.1), where the filter begins
		syn   = 0x02
	)
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: syn, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},          // drop it
		{Code: unix.BPF_RET | unix.BPF_K, K: 0xffffffff}, // let all of it pass
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

// maxUnsent is how many bytes of a response the system takes over before it can
// send them.
const maxUnsent = 128 << 10

// limitUnsent sets maxUnsent for the connections of a listener. Without it the
// system takes megabytes of a response at once: a client that reads nothing then
// looks like one that has read them.
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
