//go:build unix

package system_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// wantCompleted runs a copy, which must succeed.
func wantCompleted(t *testing.T, from, to string, n int64) (output string) {
	t.Helper()
	output = program.Output(t, "copy", "--from", from, "--to", to)
	if want := fmt.Sprintf("copied %s plants ", humanize.Comma(n)); !strings.HasPrefix(output, want) {
		t.Errorf("copy says %q, want %q", output, want)
	}
	return output
}

// copyTarget is an empty store that a test copies to.
type copyTarget struct {
	store string
	held  func() bool // by the transaction of a copy; nil for a file
	count func() int64
}

func fileTarget(t *testing.T) copyTarget {
	path := filepath.Join(t.TempDir(), "new.db")
	count := func() int64 {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return 0
		}
		return countPlants(t, path)
	}
	return copyTarget{store: path, count: count}
}

// postgresTarget returns a database that has tables already, so that a test can look into them.
func postgresTarget(t *testing.T) copyTarget {
	dsn := pgtest.DSN(t)
	s, err := open.Open(t.Context(), dsn)
	must.NoError(t, err)
	must.NoError(t, s.Close())
	conn := pgtest.Connect(t, dsn)
	held := func() (held bool) {
		const locked = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'plants'::regclass AND mode = 'ShareRowExclusiveLock' AND granted)"
		return conn.QueryRow(t.Context(), locked).Scan(&held) == nil && held
	}
	return copyTarget{store: dsn, held: held, count: func() int64 { return countPlants(t, dsn) }}
}

// countPlants returns the number of plants in a store.
func countPlants(t *testing.T, name string) int64 {
	t.Helper()
	s, err := open.ReadOnly(t.Context(), name)
	must.NoError(t, err)
	defer s.Close()
	n, _, err := s.Count(t.Context(), plant.Page{Limit: 1_000_000})
	must.NoError(t, err)
	return int64(n)
}

// copyTargets has a function for each engine.
func copyTargets() map[string]func(t *testing.T) copyTarget {
	all := map[string]func(t *testing.T) copyTarget{"sqlite": fileTarget}
	if pgtest.Given() {
		all["postgres"] = postgresTarget
	}
	return all
}

// A copy that is killed leaves an empty target or a complete one. If it is empty, the same
// command begins again.
func TestCopyKilled(t *testing.T) {
	t.Parallel()
	must.HaveTime(t)
	const n, moments = 20_000, 10
	sources := map[string]string{"sqlite": filepath.Join(t.TempDir(), "old.db")}
	if pgtest.Given() {
		sources["postgres"] = pgtest.DSN(t)
	}
	for kind, from := range sources {
		fillStore(t, from, n)
		for toKind, target := range copyTargets() {
			if kind == "postgres" && toKind == kind {
				continue // the other three cover both engines as source and as target
			}
			t.Run(kind+" to "+toKind, func(t *testing.T) {
				began := time.Now()
				wantCompleted(t, from, target(t).store, n)
				whole := time.Since(began)
				completed := 0
				for range moments {
					to := target(t)
					killed := program.Command(t, "plantstore", "copy", "--from", from, "--to", to.store)
					must.NoError(t, killed.Start())
					time.Sleep(rand.N(whole))
					_ = killed.Process.Kill()
					_ = killed.Wait()
					completed += wantNothingOrAll(t, from, to, n)
				}
				t.Logf("figures: %d of %d copies were complete, a copy takes %v", completed, moments, whole)
			})
		}
	}
}

// wantNothingOrAll fails unless a target is empty and the same copy succeeds now, or is complete.
// It returns 1 if it was complete.
func wantNothingOrAll(t *testing.T, from string, to copyTarget, n int64) (completed int) {
	t.Helper()
	if to.held != nil { // the server may still commit what a killed copy has sent
		wait.Until(t, "the transaction of the copy has ended", func() bool { return !to.held() })
	}
	switch have := to.count(); have {
	case n:
		completed = 1
	case 0:
		wantCompleted(t, from, to.store, n)
	default:
		t.Errorf("after a killed copy the target has %d plants, want 0 or %d", have, n)
	}
	if have := to.count(); have != n {
		t.Errorf("the target has %d plants, want %d", have, n)
	}
	return completed
}

// A copy fails if a client of the source writes meanwhile. Once the source is
// read-only, the same command succeeds.
func TestCopyWhileClientsWrite(t *testing.T) {
	t.Parallel()
	for name, target := range copyTargets() {
		t.Run(name, func(t *testing.T) {
			const message = "copy: the source has changed while it was copied: stop all writes to --from " +
				"(restart its servers with serve --read-only, and do not use plantstore token), then run the same command again"
			const n = 10_000
			dir := t.TempDir()
			from, to := filepath.Join(dir, "old.db"), target(t)
			fillStore(t, from, n)
			source := program.ServeIn(t, dir, from)
			number := 0
			stop := wait.Repeat(1, func(int) bool {
				number++
				resp, body, err := source.Send(http.DefaultClient, http.MethodPut, "/plants/7", fmt.Sprintf(`{"name":"name %d"}`, number))
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("put plant 7: %s, %v", body, err)
					return false
				}
				return true
			})
			program.Fails(t, message, "copy", "--from", from, "--to", to.store)
			stop()
			if have := to.count(); have != 0 {
				t.Errorf("the target has %d plants, want none", have)
			}
			source.Kill()
			source = program.Serve(t, from, "--read-only")
			source.Want(t, http.StatusServiceUnavailable, http.MethodPost, "/plants", `{"id":-1,"name":"n"}`)
			wantCompleted(t, from, to.store, n)
		})
	}
}

// On a full disk a copy says so, and leaves nothing.
func TestCopyToAFullDisk(t *testing.T) {
	t.Parallel()
	const n = 5000
	dir := t.TempDir()
	from, to := filepath.Join(dir, "old.db"), filepath.Join(dir, "new.db")
	fillStore(t, from, n)
	// No file may have more than 256 KiB, in units of 512 bytes. SQLite reports that as
	// an I/O error.
	out, err := program.Command(t, "sh", "-c", fmt.Sprintf("ulimit -f 512; exec plantstore copy --from '%s' --to '%s'", from, to)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "copy: complete the target: "+to+"-unfinished-copy: the disk ") ||
		!strings.Contains(string(out), "remove the cause, then run the same command again") {
		t.Errorf("on a full disk copy = %v, %s", err, out)
	}
	if left, _ := filepath.Glob(to + "*"); len(left) > 0 {
		t.Errorf("the copy leaves %q, want nothing", left)
	}
	wantCompleted(t, from, to, n)
}
