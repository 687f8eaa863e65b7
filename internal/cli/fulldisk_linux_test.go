package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// On a full disk every write fails, and the log stays short: it says when the
// store became unavailable, when it was available again, and how many requests
// failed. The metrics count every failure.
func TestLogOfAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := watched(t, dir, "plants.db")
	create := func(id int) int {
		status, _ := r.call(t, http.MethodPost, "/plants", fmt.Sprintf(`{"id":%d,"name":%q}`, id, strings.Repeat("n", 10_000)))
		return status
	}
	if status := create(0); status != http.StatusOK {
		t.Fatalf("a create has the status %d", status)
	}
	info, err := os.Stat(filepath.Join(dir, "plants.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	var before unix.Rlimit
	if err := unix.Prlimit(r.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &before); err != nil {
		t.Fatal(err)
	}
	full := unix.Rlimit{Cur: uint64(info.Size()), Max: before.Max}
	if err := unix.Prlimit(r.cmd.Process.Pid, unix.RLIMIT_FSIZE, &full, nil); err != nil {
		t.Fatal(err)
	}
	began, failed := time.Now(), 0
	for id := range 300 {
		if create(1+id) == http.StatusServiceUnavailable {
			failed++
		}
	}
	seconds := int(time.Since(began).Seconds()) + 1
	t.Logf("figures: %d of 300 creates failed in %d s", failed, seconds)
	if failed < 200 {
		t.Fatalf("%d of 300 creates failed: the disk is not full", failed)
	}
	if err := unix.Prlimit(r.cmd.Process.Pid, unix.RLIMIT_FSIZE, &before, nil); err != nil {
		t.Fatal(err)
	}
	// The store counts as available after a second without a failure.
	for id, end, last := 1000, time.Now().Add(1200*time.Millisecond), false; !last; id++ {
		last = time.Now().After(end) // this create begins after that second
		if status := create(id); status != http.StatusOK {
			t.Fatalf("with free space again a create has the status %d", status)
		}
	}
	_, scrape := r.page(t, "/metrics")
	if got := seriesIn(scrape)[`plantstore_http_failures_total{error="50300"}`]; got != fmt.Sprint(failed) {
		t.Errorf("the metrics have %s failures, want %d", got, failed)
	}
	http.DefaultClient.CloseIdleConnections() // the program would wait for them
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	receive(t, r.drained, "the end of the program")
	if err := r.cmd.Wait(); err != nil {
		t.Fatal(err)
	}

	lines, leftOut, counted := map[string]int{}, 0, 0
	for text := range strings.Lines(r.stderr.String()) {
		var l struct {
			Msg            string
			Count          int
			FailedRequests int `json:"failed_requests"`
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		lines[l.Msg]++
		leftOut += l.Count
		counted += l.FailedRequests
	}
	if lines["store unavailable"] != 1 || lines["store available again"] != 1 || counted != failed {
		t.Errorf("logged %v and %d failed requests, want each state once and %d", lines, counted, failed)
	}
	if got := lines["request failed"]; got > 10*(seconds+1) || got+leftOut != failed {
		t.Errorf("%d failed requests are logged and %d left out, want %d together, 10 for each of %d seconds", got, leftOut, failed, seconds)
	}
}
