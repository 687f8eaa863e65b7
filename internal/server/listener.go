package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// settleTime is how long a retiring listener continues to accept connections:
// longer than a handshake around the world takes.
const settleTime = 300 * time.Millisecond

// listener is the public listener. It can retire without resetting connections.
type listener struct{ *net.TCPListener }

// listen opens the public listener.
func listen(ctx context.Context, addr string) (listener, error) {
	if addr == "" { // net would take every address and any free port
		return listener{}, errors.New("--addr is empty: write HOST:PORT, as in 127.0.0.1:8080")
	}
	// What retire and limitUnsent set is not tested with Multipath TCP, which Go would offer.
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return listener{}, explainListen("--addr", addr, err)
	}
	tcp := l.(*net.TCPListener)
	if err := limitUnsent(tcp); err != nil {
		return listener{}, errors.Join(fmt.Errorf("limit what connections hold unsent: %w", err), tcp.Close())
	}
	return listener{tcp}, nil
}

// explainListen adds the flag and the next step to an error of net.Listen.
func explainListen(flag, addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s %s is in use: stop the program that listens there, or give another address", flag, addr)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s %s: permission denied: give a port above 1023", flag, addr)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s %s is not an address of this machine: give one of its addresses, "+
			"or 0.0.0.0 for all of them", flag, addr)
	}
	return fmt.Errorf("%s %s: %w: write HOST:PORT, as in 127.0.0.1:8080", flag, addr, err)
}

// retire makes Accept return [http.ErrServerClosed] after it has returned every
// connection that is established or about to be.
//
// Closing a listener resets the connections in its queue. A client may have sent
// a request on one of them: it would get no response, and would not know whether
// the request was handled.
func (l listener) retire() error {
	return errors.Join(refuseHandshakes(l.TCPListener), l.SetDeadline(time.Now().Add(settleTime)))
}

// Accept returns the next connection.
func (l listener) Accept() (net.Conn, error) {
	conn, err := l.TCPListener.Accept()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// The deadline of retire. If the program has paused, the queue is not empty.
		return acceptQueued(l.TCPListener)
	}
	return conn, err
}
