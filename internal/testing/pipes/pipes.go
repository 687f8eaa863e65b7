// Package pipes has a listener of connections in memory. They buffer nothing, and work with the
// clock of a synctest bubble.
package pipes

import (
	"context"
	"net"
)

// Listener accepts the connections that DialContext opens. It is made as a channel is.
type Listener chan net.Conn

// Accept implements [net.Listener].
func (l Listener) Accept() (net.Conn, error) {
	if conn, isOpen := <-l; isOpen {
		return conn, nil
	}
	return nil, net.ErrClosed
}

// Close implements [net.Listener].
func (l Listener) Close() error {
	close(l)
	return nil
}

// Addr implements [net.Listener].
func (l Listener) Addr() net.Addr { return &net.TCPAddr{} }

// DialContext opens a connection, for the transport of an HTTP client.
func (l Listener) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	l <- server
	return client, nil
}
