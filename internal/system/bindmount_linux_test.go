package system_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// A file that is mounted has another name, and a log for each. Such a store is refused, and
// works if its directory is mounted instead.
func TestBindMount(t *testing.T) {
	must.HaveTime(t)
	if os.Getuid() != 0 {
		return // only root can mount
	}
	t.Parallel()
	dir := t.TempDir()
	must.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	must.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o700))
	r := program.ServeIn(t, dir, "real/plants.db")
	r.Want(t, http.StatusOK, "POST", "/plants", `{"id": 1, "name": "Ficus lyrata"}`)
	mounted := func(mount string) (*program.Server, error) {
		path, err := exec.LookPath("plantstore")
		must.NoError(t, err)
		cmd := exec.Command("unshare", "--mount", "sh", "-ec", mount+`; exec "$@"`, "sh",
			path, "serve", "--addr", "127.0.0.1:0", "--store", "data/plants.db", "--print-token")
		cmd.Dir = dir
		return program.LaunchCommand(cmd)
	}
	second, err := mounted("touch data/plants.db; mount --bind real/plants.db data/plants.db")
	if err == nil {
		second.End(t, syscall.SIGTERM)
		t.Fatal("a second service writes to the file by another name")
	}
	if !strings.Contains(err.Error(), "mount the directory of the file instead") {
		t.Errorf("the second service says %v", err)
	}
	second, err = mounted("mount --bind real data")
	must.NoError(t, err)
	second.Want(t, http.StatusOK, "GET", "/plants/1", "")
	second.Want(t, http.StatusOK, "POST", "/plants", `{"id": 2, "name": "Ficus lyrata"}`)
	r.Want(t, http.StatusOK, "GET", "/plants/2", "")
	second.End(t, syscall.SIGTERM)
	r.End(t, syscall.SIGTERM)
}
