//go:build !linux

package server

import (
	"net"
	"net/http"
)

// refuseHandshakes does nothing on this system: a connection that is opened
// while the listener closes may be reset.
func refuseHandshakes(*net.TCPListener) error { return nil }

// acceptQueued returns [http.ErrServerClosed].
func acceptQueued(*net.TCPListener) (net.Conn, error) { return nil, http.ErrServerClosed }

// limitUnsent does nothing on this system: a client that reads nothing of a
// large response is cut off later, because the kernel buffers more of it.
func limitUnsent(*net.TCPListener) error { return nil }
