package server

import (
	"fmt"
	"net"
)

// notify tells the service manager how the service is, if there is one that
// asked (systemd, Type=notify): see sd_notify(3). The path of its socket is in
// NOTIFY_SOCKET; a leading @ stands for an abstract one, as it does to Go.
func notify(path, state string) error {
	if path == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Net: "unixgram", Name: path})
	if err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	return nil
}
