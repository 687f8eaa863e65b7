package system_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// nobody is a user without privileges.
const nobody = 65534

// TestStopUnprivileged is TestStop for a program that no privilege helps to close
// its listener, as in the container and the unit.
func TestStopUnprivileged(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	if os.Getuid() != 0 {
		return // TestStop has no privileges either
	}
	dir, err := os.MkdirTemp("", "stop") // and not t.TempDir, which is in a folder of root
	must.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must.NoError(t, os.Chown(dir, nobody, nobody))
	path, err := exec.LookPath("plantstore")
	must.NoError(t, err)
	binary, err := os.Open(path) // in another folder of root
	must.NoError(t, err)
	defer binary.Close()
	testStop(t, func() (*program.Server, error) {
		cmd := &exec.Cmd{
			Path:        "/proc/self/fd/3",
			Args:        []string{"plantstore", "serve", "--addr", "127.0.0.1:0"},
			Dir:         dir,
			Env:         stopEnv(),
			ExtraFiles:  []*os.File{binary},
			SysProcAttr: &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}},
		}
		return program.LaunchCommand(cmd)
	})
}
