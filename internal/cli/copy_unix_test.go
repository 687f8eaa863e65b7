//go:build unix

package cli

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// copyRun is a `plantstore copy` that a test has started.
type copyRun struct {
	cmd            *exec.Cmd
	stdout, stderr strings.Builder
	ended          chan struct{} // closed once it has ended
	err            error         // of cmd.Wait
}

func startCopy(t *testing.T, from, to string) *copyRun {
	t.Helper()
	r := &copyRun{cmd: newCommand(t, "plantstore", "copy", "--from", from, "--to", to), ended: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	must.NoError(t, r.cmd.Start())
	go func() {
		r.err = r.cmd.Wait()
		close(r.ended)
	}()
	return r
}

// wait returns the error of the copy once it has ended.
func (r *copyRun) wait() error {
	<-r.ended
	return r.err
}

// faulted calls try, which starts a copy of n plants and makes it fail with a
// message. If the copy is complete before the fault, faulted calls it again with
// more plants. It returns the output of the copy and n.
func faulted(t *testing.T, message string, try func(n int64) *copyRun) (output string, n int64) {
	t.Helper()
	for n = 10_000; n <= 100_000; n *= 3 {
		r := try(n)
		_ = r.wait()
		if r.cmd.ProcessState.Success() || strings.Contains(r.stderr.String(), "already has plants") {
			continue
		}
		if got := r.stderr.String(); !strings.Contains(got, message) {
			t.Errorf("the copy says %q, want %q", got, message)
		}
		return r.stderr.String(), n
	}
	t.Fatal("each copy was complete before the fault")
	return "", 0
}

// wantCompleted runs a copy again, which must complete it.
func wantCompleted(t *testing.T, from, to string, n int64) (output string) {
	t.Helper()
	r := startCopy(t, from, to)
	if err := r.wait(); err != nil {
		t.Fatalf("the copy that runs again: %v\n%s", err, &r.stderr)
	}
	if want := fmt.Sprintf("copied %s plants ", comma(int(n))); !strings.HasPrefix(r.stdout.String(), want) {
		t.Errorf("the copy that runs again says %q, want %q", &r.stdout, want)
	}
	return r.stdout.String()
}

// wantIncomplete fails if a server can be started on the target.
func wantIncomplete(t *testing.T, store string) {
	t.Helper()
	fails(t, "this store is an incomplete copy; run the same plantstore copy again to complete it", "serve", "--addr",
		"127.0.0.1:0", "--store", store)
}

// copyTarget is an empty store that a test copies to.
type copyTarget struct {
	store string
	begun func() bool // some plants are stored
}

func fileTarget(t *testing.T) copyTarget {
	path := filepath.Join(t.TempDir(), "new.db")
	return copyTarget{path, func() bool {
		log, _ := os.ReadFile(path + "-wal")
		return committed(log) > 200<<10
	}}
}

// committed returns how many bytes of a write-ahead log of SQLite are complete transactions.
func committed(log []byte) (n int) {
	const header, frameHeader = 32, 24
	if len(log) <= header {
		return 0
	}
	frame := frameHeader + int(binary.BigEndian.Uint32(log[8:])) // and a page
	for end := header + frame; end <= len(log); end += frame {
		if binary.BigEndian.Uint32(log[end-frame+4:]) > 0 { // only the last frame of a transaction has the size of the database
			n = end
		}
	}
	return n
}

func postgresTarget(t *testing.T) copyTarget {
	dsn := pgtest.DSN(t)
	conn := pgtest.Connect(t, dsn)
	return copyTarget{dsn, func() bool {
		var begun bool
		return conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM plants_of_copy)").Scan(&begun) == nil && begun
	}}
}

// copyTargets has a function for each engine.
func copyTargets() map[string]func(t *testing.T) copyTarget {
	all := map[string]func(t *testing.T) copyTarget{"sqlite": fileTarget}
	if pgtest.Given() {
		all["postgres"] = postgresTarget
	}
	return all
}

// pause stops the copy once it has stored some plants, until resume is called. It
// does nothing if the copy has ended.
func (to copyTarget) pause(t *testing.T, r *copyRun) (resume func()) {
	t.Helper()
	to.await(t, r)
	if err := r.cmd.Process.Signal(syscall.SIGSTOP); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	return func() { _ = r.cmd.Process.Signal(syscall.SIGCONT) }
}

// await waits until the copy has stored some plants or has ended.
func (to copyTarget) await(t *testing.T, r *copyRun) {
	t.Helper()
	wait.Until(t, "the copy has stored some plants", func() bool {
		select {
		case <-r.ended:
			return true
		default:
			return to.begun()
		}
	})
}

// A copy that was killed leaves a store that no server uses. The next run completes
// it.
func TestCopyKilled(t *testing.T) {
	t.Parallel()
	for name, target := range copyTargets() {
		t.Run(name, func(t *testing.T) {
			var from string
			var to copyTarget
			_, n := faulted(t, "", func(n int64) *copyRun {
				from, to = filepath.Join(t.TempDir(), "old.db"), target(t)
				fillStore(t, from, n)
				r := startCopy(t, from, to.store)
				to.await(t, r)
				_ = r.cmd.Process.Kill()
				return r
			})
			wantIncomplete(t, to.store)
			other := filepath.Join(t.TempDir(), "other.db")
			fillStore(t, other, 1)
			fails(t, "this store is an incomplete copy of another store: complete it with plantstore copy from that one, or give a new store",
				"copy", "--from", other, "--to", to.store)
			if got := wantCompleted(t, from, to.store, n); !strings.Contains(got, " by an earlier run) in ") {
				t.Errorf("the copy that runs again begins anew: %s", got)
			}
		})
	}
}

// A copy fails if a client of the source writes meanwhile. Once the source is
// read-only, the next run completes it.
func TestCopyWhileClientsWrite(t *testing.T) {
	t.Parallel()
	for name, target := range copyTargets() {
		t.Run(name, func(t *testing.T) {
			const message = "copy: the source has changed while it was copied: stop all writes to --from " +
				"(restart its servers with serve --read-only, and do not use plantstore token), then run the same command again"
			var source *running
			var from string
			var to copyTarget
			_, n := faulted(t, message, func(n int64) *copyRun {
				dir := t.TempDir()
				from, to = filepath.Join(dir, "old.db"), target(t)
				fillStore(t, from, n)
				source = watched(t, dir, from)
				r := startCopy(t, from, to.store)
				defer to.pause(t, r)()
				source.want(t, http.StatusNoContent, http.MethodDelete, "/plants/7", "")
				source.want(t, http.StatusOK, http.MethodPost, "/plants", fmt.Sprintf(`{"id":%d,"name":"n"}`, n))
				return r
			})
			wantIncomplete(t, to.store)
			source.kill()
			source = serve(t, from, "--read-only")
			source.want(t, http.StatusServiceUnavailable, http.MethodPost, "/plants", `{"id":-1,"name":"n"}`)
			wantCompleted(t, from, to.store, n)
		})
	}
}

// On a full disk a copy says so, and the next run completes it.
func TestCopyToAFullDisk(t *testing.T) {
	t.Parallel()
	const n = 5000
	dir := t.TempDir()
	from, to := filepath.Join(dir, "old.db"), filepath.Join(dir, "new.db")
	fillStore(t, from, n)
	// No file may have more than 256 KiB, in units of 512 bytes. SQLite reports that as
	// an I/O error.
	out, err := newCommand(t, "sh", "-c", fmt.Sprintf("ulimit -f 512; exec plantstore copy --from '%s' --to '%s'", from, to)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "copy: write the target: "+to+": the disk ") ||
		!strings.Contains(string(out), "run the same command again to complete the copy") {
		t.Errorf("on a full disk copy = %v, %s", err, out)
	}
	wantIncomplete(t, to)
	wantCompleted(t, from, to, n)
}

// A copy ends with a message if it loses a connection to PostgreSQL, and the next
// run completes it.
func TestCopyLosesConnection(t *testing.T) {
	t.Parallel()
	const message = "run the same command again to complete the copy"
	lose := func(t *testing.T, store string) {
		t.Helper()
		conn := pgtest.Connect(t, os.Getenv(pgtest.Variable))
		var n int
		err := conn.QueryRow(t.Context(), "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1", applicationName(t, store)).Scan(&n)
		must.NoError(t, err)
		t.Logf("%d connections of %q were ended", n, applicationName(t, store)) // none if the copy has ended
	}
	for side, stores := range map[string]func(t *testing.T) (from string, to copyTarget, lost string){
		"target": func(t *testing.T) (string, copyTarget, string) {
			to := postgresTarget(t)
			to.store = named(t, to.store)
			return filepath.Join(t.TempDir(), "old.db"), to, to.store
		},
		"source": func(t *testing.T) (string, copyTarget, string) {
			from := named(t, pgtest.DSN(t))
			return from, fileTarget(t), from
		},
	} {
		t.Run(side, func(t *testing.T) {
			var from, lost string
			var to copyTarget
			output, n := faulted(t, message, func(n int64) *copyRun {
				from, to, lost = stores(t)
				fillStore(t, from, n)
				r := startCopy(t, from, to.store)
				defer to.pause(t, r)()
				lose(t, lost)
				return r
			})
			if !strings.Contains(output, " the "+side+": the connection to PostgreSQL is lost: ") {
				t.Errorf("the copy says %s", output)
			}
			wantIncomplete(t, to.store)
			wantCompleted(t, from, to.store, n)
		})
	}
}

// named returns the URL of a store with an application name of its own.
func named(t *testing.T, store string) string {
	return store + "&application_name=" + applicationName(t, store)
}

func applicationName(t *testing.T, store string) string {
	t.Helper()
	u, err := url.Parse(store)
	must.NoError(t, err)
	return "copy_" + u.Query().Get("search_path")
}

// Of two copies to one store, one is refused, and the other one completes it.
func TestTwoCopies(t *testing.T) {
	t.Parallel()
	for name, target := range copyTargets() {
		t.Run(name, func(t *testing.T) {
			message := "another program has locked the file"
			if name == "postgres" {
				message = "another plantstore copy to this store has begun, so this one has stopped"
			}
			var completed *copyRun
			faulted(t, message, func(n int64) *copyRun {
				from, to := filepath.Join(t.TempDir(), "old.db"), target(t)
				fillStore(t, from, n)
				first := startCopy(t, from, to.store)
				if name == "sqlite" {
					resume := to.pause(t, first)
					second := startCopy(t, from, to.store)
					_ = second.wait() // it waits for the lock for some seconds
					resume()
					completed = first
					return second
				}
				to.await(t, first)
				completed = startCopy(t, from, to.store)
				return first
			})
			if err := completed.wait(); err != nil {
				t.Errorf("the other copy: %v\n%s", err, &completed.stderr)
			}
		})
	}
}
