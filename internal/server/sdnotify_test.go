//go:build unix

package server

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A service manager that does not read does not block the service.
func TestNotifyDoesNotBlock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: path})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	failed := make(chan error, 1)
	go func() {
		for {
			if err := notify(path, "READY=1"); err != nil {
				failed <- err
				return
			}
		}
	}()
	select {
	case err := <-failed:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(longEnough):
		t.Errorf("notify still blocks after %v", longEnough)
	}
}
