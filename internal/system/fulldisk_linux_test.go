package system_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// limitFiles limits the size of every file of the program to that of the log and some
// bytes more. To the program the disk is full then.
func limitFiles(t *testing.T, r *program.Server, log string, more int64) (remove func()) {
	t.Helper()
	info, err := os.Stat(log)
	must.NoError(t, err)
	var before unix.Rlimit
	must.NoError(t, unix.Prlimit(r.Cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &before))
	set := func(limit unix.Rlimit) {
		t.Helper()
		must.NoError(t, unix.Prlimit(r.Cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil))
	}
	set(unix.Rlimit{Cur: uint64(info.Size() + more), Max: before.Max})
	return func() { set(before) }
}

// On a full disk the service is ready for reads and says that writes fail. It says so
// while they fail, also while nothing is written, and no longer once there is space. The
// log says when the store became unavailable, when it was available again, and how many
// requests failed; package httpapi tests that it stays short.
func TestWritesOnAFullDisk(t *testing.T) {
	t.Parallel()
	must.HaveTime(t)
	dir := t.TempDir()
	r := program.ServeIn(t, dir, "plants.db")
	create := func(id int64) int {
		status, _ := r.Call(t, http.MethodPost, "/plants:batch", batchOf(20*id, 20, strings.Repeat("n", 900)))
		return status
	}
	healthcheck := func() string { return r.Healthcheck(t, "--writes") }
	gauge := func() float64 { return r.Metrics(t)["plantstore_writes_available"] }
	if status := create(0); status != http.StatusOK {
		t.Fatalf("before the fault a create has the status %d", status)
	}
	r.WantHealth(t, "/writez", "writable\n", "")

	remove := limitFiles(t, r, filepath.Join(dir, "plants.db-wal"), 3*4200) // three pages fit, but no batch
	if status := create(1); status != http.StatusServiceUnavailable {
		t.Fatalf("a create has the status %d: the disk is not full", status)
	}
	for end := time.Now().Add(5 * time.Second / 2); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if status, body := r.Page(t, "/writez"); status != http.StatusServiceUnavailable {
			t.Fatalf("while writes fail /writez is %d %q, want 503", status, body)
		}
	}
	const cause = "writes fail: sqlite: plant store not available: the disk "
	r.WantHealth(t, "/writez", "", cause)
	r.WantReady(t, "")
	if out := healthcheck(); !strings.Contains(out, "503 Service Unavailable") || gauge() != 0 {
		t.Errorf("while writes fail healthcheck --writes says %q, and the gauge is %v", out, gauge())
	}

	remove()
	r.WantHealth(t, "/writez", "writable\n", "")
	if gauge() != 1 {
		t.Errorf("with free space again the gauge is %v", gauge())
	}
	wait.Until(t, "healthcheck --writes finds free space again", func() bool { return healthcheck() == "writable\n" })
	if status := create(1000); status != http.StatusOK {
		t.Errorf("with free space again a create has the status %d", status)
	}
	if got := r.Metrics(t)[`plantstore_http_failures_total{error="50300"}`]; got != 1 {
		t.Errorf("the metrics have %v failures, want 1", got)
	}
	r.End(t, syscall.SIGTERM)
	log := r.Stderr.String()
	for _, want := range []string{
		`"msg":"store unavailable"`, `"msg":"store available again"`, `"failed_requests":1,`, `"msg":"request failed"`,
	} {
		if n := strings.Count(log, want); n != 1 {
			t.Errorf("the log has %s %d times, want once:\n%s", want, n, log)
		}
	}
	if strings.Contains(log, "token store") {
		t.Errorf("the log blames the store of tokens:\n%s", log)
	}
}
