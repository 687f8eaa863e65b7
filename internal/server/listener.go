package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// settleTime is how long a listener that retires goes on accepting: longer than
// a handshake around the world takes.
const settleTime = 300 * time.Millisecond

// listener is the public one. It can retire without resetting anybody.
type listener struct{ *net.TCPListener }

// listen opens the listener, or says what to do about it.
func listen(ctx context.Context, addr string) (listener, error) {
	if addr == "" { // it would be every address, and any free port
		return listener{}, errors.New("--addr is empty: write HOST:PORT, as in 127.0.0.1:8080")
	}
	// Multipath TCP, which Go would offer, has no filters: see refuseHandshakes.
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

// explainListen says what to do about an address that a flag gives.
func explainListen(flag, addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is in use: stop the program that listens there, or give another %s", addr, flag)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("not allowed to listen on %s: give an address with a port above 1023 as %s", addr, flag)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is no address of this machine: give one that is as %s, or 0.0.0.0 for all of them", addr, flag)
	}
	return fmt.Errorf("%s %s: %w: write HOST:PORT, as in 127.0.0.1:8080", flag, addr, err)
}

// retire has Accept end with [http.ErrServerClosed] once it has returned every
// connection that is, or is about to be, established.
//
// To close a listener resets the connections that wait in its queue, on which a
// client may have sent a request already: it would get neither an answer nor a
// refusal.
func (l listener) retire() error {
	return errors.Join(refuseHandshakes(l.TCPListener), l.SetDeadline(time.Now().Add(settleTime)))
}

// Accept returns the next connection.
func (l listener) Accept() (net.Conn, error) {
	conn, err := l.TCPListener.Accept()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = http.ErrServerClosed
	}
	return conn, err
}
