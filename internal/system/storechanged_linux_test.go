package system_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// After a file of its store was changed by another program, a service acknowledges no
// write that is lost, says which file it is, and does not end. The next start serves what is whole,
// or refuses what is damaged until a backup is restored. PLANTSTORE_TEST_CHANGED_ROUNDS
// is how often each file is changed.
func TestStoreChanged(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	rounds := must.Number(t, "PLANTSTORE_TEST_CHANGED_ROUNDS", 1)
	for name, c := range map[string]struct {
		change string // a command of a shell in the directory of the store
		file   string // that the service names
		reason string
		next   nextStart
	}{
		"cp of a backup":        {"cp monday.db plants.db", "plants.db", "was overwritten or truncated", refusedUnlessWhole},
		"truncate the database": {"truncate -s 8192 plants.db", "plants.db", "was overwritten or truncated", refused},
		"truncate the log":      {"truncate -s 0 plants.db-wal", "plants.db-wal", "was truncated", servesAPart},
		"truncate the index":    {"truncate -s 4096 plants.db-shm", "plants.db-shm", "was truncated", servesAll},
		"rm the index":          {"rm plants.db-shm", "plants.db-shm", "was moved, removed or replaced", servesAll},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range rounds {
				testStoreChanged(t, c.change, c.file, c.reason, c.next)
			}
		})
	}
}

// nextStart is what happens when the service is started again.
type nextStart int

const (
	servesAll          nextStart = iota // every acknowledged plant is there
	servesAPart                         // what the log had is gone; refused if a checkpoint was running
	refused                             // until a backup is restored
	refusedUnlessWhole                  // servesAll if a checkpoint then copied everything that the backup lacks, else refused
)

func testStoreChanged(t *testing.T, change, file, reason string, next nextStart) {
	dir := t.TempDir()
	path := filepath.Join(dir, "plants.db")
	r := program.ServeIn(t, dir, "plants.db")
	l := &load{t: t, r: r}
	for range 6 { // more than the log holds
		l.create(1000)
	}
	backedUp := l.count()
	program.Output(t, "backup", "--store", path, filepath.Join(dir, "monday.db"))

	stop := l.start()
	time.Sleep(rand.N(700 * time.Millisecond)) // any moment
	cmd := exec.Command("sh", "-c", change)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", change, err, out)
	}
	changed := time.Now()
	time.Sleep(1200 * time.Millisecond) // the promise is a second
	stop()
	before, after := 0, 0
	for _, began := range l.began {
		if began.After(changed) {
			after++
		} else {
			before++
		}
	}
	t.Logf("figures: %s: %d plants acknowledged before, %d after", change, before-backedUp, after)
	if after > 0 && (next == servesAPart || next == refusedUnlessWhole) {
		next = servesAll // a checkpoint had copied the log before, and the next write began it anew; or it copied the whole log after
		r.End(t, syscall.SIGTERM)
	} else {
		if next == refusedUnlessWhole {
			next = refused
		}
		if after > 0 {
			t.Errorf("%d plants were acknowledged whose requests began after %s", after, change)
		}
		endChanged(t, r, change, file+" "+reason)
	}

	again, err := program.Launch(dir, nil, "--addr", "127.0.0.1:0", "--store", "plants.db", "--print-token")
	if err != nil && next != servesAll {
		next = refused
		if !strings.Contains(err.Error(), "move "+filepath.Join(dir, "plants.db")+"* to another directory, and restore a backup") {
			t.Errorf("the next start says %v", err)
		}
		recoverFrom(t, dir, "monday.db")
		again, err = program.Launch(dir, nil, "--addr", "127.0.0.1:0", "--store", "plants.db", "--print-token")
	} else if next == refused {
		t.Errorf("after %s the next start serves the store", change)
	}
	must.NoError(t, err)
	defer again.End(t, syscall.SIGTERM)
	stored := listAll(t, again.URL, again.Token)
	missing := 0
	for id := range l.began {
		if _, ok := stored[id]; !ok {
			missing++
		}
	}
	switch {
	case next == servesAll && missing > 0:
		t.Errorf("after %s %d acknowledged plants are missing", change, missing)
	case next == refused && len(stored) != backedUp:
		t.Errorf("the restored store has %d plants, the backup %d", len(stored), backedUp)
	case len(stored) < backedUp-1000*6:
		t.Errorf("after %s the store has %d plants", change, len(stored))
	}
	for id, p := range stored {
		if id > l.last.Load() || p.Name != loadName {
			t.Fatalf("the store has plant %d %.20q, which was never sent", id, p.Name)
		}
	}
	t.Logf("figures: %s: %d plants after the next start, %d acknowledged before the change are gone with the file", change, len(stored), missing)
}

// endChanged ends a service that has noticed a change.
func endChanged(t *testing.T, r *program.Server, change, notice string) {
	t.Helper()
	if status, body := r.Page(t, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, notice) {
		t.Errorf("after %s /readyz is %d %q, want 503 with %q", change, status, body, notice)
	}
	if status, _ := r.Call(t, http.MethodGet, "/plants?limit=1000", ""); status != http.StatusServiceUnavailable {
		t.Errorf("after %s a read has the status %d, want 503", change, status)
	}
	r.End(t, syscall.SIGTERM)
	log := r.Stderr.String()
	if n := strings.Count(log, `"msg":"store files cannot be used"`); n != 1 || !strings.Contains(log, notice) {
		t.Errorf("the log says %d times that a file was changed, want once with %q:\n%.2000s", n, notice, log)
	}
}

// recoverFrom does what the manual says about going back to a backup.
func recoverFrom(t *testing.T, dir, backup string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "mkdir old && mv plants.db* old && plantstore restore --store plants.db "+backup)
	cmd.Dir, cmd.Env = dir, os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// loadName is the name of each plant, long enough that checkpoints happen.
var loadName = strings.Repeat("n", 900)

// load creates plants with the name loadName.
type load struct {
	acknowledged
	t *testing.T
	r *program.Server
}

// create creates n plants in one request.
func (l *load) create(n int64) {
	end := l.last.Add(n)
	path, body := "/plants:batch", batchOf(end-n+1, n, loadName)
	if n == 1 {
		path, body = "/plants", fmt.Sprintf(`{"id":%d,"name":%q}`, end, loadName)
	}
	began := time.Now()
	resp, _, err := l.r.Send(http.DefaultClient, http.MethodPost, path, body)
	if err != nil {
		l.t.Errorf("the service does not send a response: %v", err)
		return
	}
	for id := end - n + 1; id <= end && resp.StatusCode == http.StatusOK; id++ {
		l.add(began, id)
	}
}

// start creates plants from several clients until the returned function is called.
func (l *load) start() (stop func()) {
	return wait.Repeat(5, func(i int) bool {
		l.create([]int64{200, 1, 1, 1, 1}[i])
		time.Sleep(15 * time.Millisecond)
		return !l.t.Failed()
	})
}
