//go:build !linux

package server

import "net"

// refuseHandshakes does nothing where there is no way: who connects in the very
// moment in which the listener closes may be reset.
func refuseHandshakes(*net.TCPListener) error { return nil }

// limitUnsent does nothing. A client that reads nothing of a large response is cut
// off later here, when its pace is too slow for what the system has taken over.
func limitUnsent(*net.TCPListener) error { return nil }
