package server

import (
	"fmt"
	"net"
	"time"
)

// notify sends a state to the service manager: systemd with Type=notify, see
// sd_notify(3). The path is the value of NOTIFY_SOCKET; if it is empty, notify
// does nothing. A leading @ means an abstract socket, as in package net.
func notify(path, state string) error {
	if path == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Net: "unixgram", Name: path})
	if err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // a manager that does not read must not delay the shutdown
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	return nil
}
