//go:build unix

package server

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// A service manager that does not read does not block the service.
func TestNotifyDoesNotBlock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: path})
	must.NoError(t, err)
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
	if err := wait.For(t, "notify to give up", failed); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}
