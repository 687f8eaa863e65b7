//go:build unix

package system_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// An older store is moved to the path of a service that runs. However the service ends, the
// older store is not mixed with the newer log: the next start is refused until the command
// in the message, or in /readyz, was run. Then it has the plants of the older store.
func TestStoreReplacedByOlderOne(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	const old, all = 1000, 1600 // the log does not begin anew between them
	for name, replace := range map[string]string{
		"over the store":              "mv older.db plants.db",
		"after the store was put off": "mv plants.db aside.db && mv older.db plants.db",
	} {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			t.Run(fmt.Sprint(name, ", ", signal), func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "it's $HOME")
				must.NoError(t, os.Mkdir(dir, 0o700))
				r := program.ServeIn(t, dir, "plants.db")
				r.Want(t, http.StatusOK, "POST", "/plants:batch", batchOf(0, old, loggedName))
				r.End(t, syscall.SIGTERM)
				shell(t, dir, "cp plants.db older.db")
				r = program.ServeIn(t, dir, "plants.db")
				for first := int64(old); first < all; first += 200 {
					r.Want(t, http.StatusOK, "POST", "/plants:batch", batchOf(first, 200, loggedName))
				}
				shell(t, dir, replace)
				advice := moveCommand.FindString(r.WantReady(t, "the store fails: sqlite: "))
				if signal == syscall.SIGKILL {
					r.Kill()
				} else {
					r.End(t, signal)
				}

				before := contents(t, dir)
				for _, args := range [][]string{
					{"serve", "--addr", "127.0.0.1:0"},
					{"serve", "--read-only", "--addr", "127.0.0.1:0"},
					{"token", "list"},
					{"backup", filepath.Join(dir, "backup.db")},
				} {
					program.Fails(t, "is the log of another database", append(args, "--store", filepath.Join(dir, "plants.db"))...)
				}
				if contents(t, dir) != before {
					t.Error("a start that was refused has changed the files")
				}
				shell(t, dir, advice)
				wantStored(t, dir, "plants.db", old)
				if strings.Contains(replace, "aside.db") { // the store that was put off is complete with its log
					shell(t, dir, "mv plants.db-wal.other aside.db-wal")
					wantStored(t, dir, "aside.db", all)
				}
			})
		}
	}
}

// moveCommand finds the command in the text of /readyz.
var moveCommand = regexp.MustCompile(`mv (?:[\w./:-]|'[^']*'|\\')+ (?:[\w./:-]|'[^']*'|\\')+`)

// loggedName is the name of each plant, so long that a few thousand plants fill the log.
var loggedName = strings.Repeat("n", 900)

func shell(t *testing.T, dir, command string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || command == "" {
		t.Fatalf("%q: %v\n%s", command, err, out)
	}
}

// contents returns the contents of the databases and logs in a folder.
func contents(t *testing.T, dir string) (all string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.db*"))
	must.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "-shm") { // SQLite makes it anew
			continue
		}
		content, err := os.ReadFile(name)
		must.NoError(t, err)
		all += name + string(content)
	}
	return all
}

// wantStored starts a service and counts its plants.
func wantStored(t *testing.T, dir, store string, want int) {
	t.Helper()
	r := program.ServeIn(t, dir, store)
	if stored := listAll(t, r.URL, r.Token); len(stored) != want {
		t.Errorf("%s has %d plants, want %d", store, len(stored), want)
	}
	r.End(t, syscall.SIGTERM)
}

// After a kill and a flipped bit in the log, every command refuses the store. The command in the
// message keeps the log as it was, and lets the service start with what is before the damage.
func TestDamagedLogOfKilledService(t *testing.T) {
	t.Parallel()
	must.HaveTime(t)
	dir := filepath.Join(t.TempDir(), "it's $HOME")
	must.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "plants.db")
	r := program.ServeIn(t, dir, "plants.db")
	for id := range int64(100) {
		r.Want(t, http.StatusOK, "POST", "/plants", fmt.Sprintf(`{"id":%d,"name":"a plant"}`, id))
	}
	r.Kill()
	log, err := os.ReadFile(path + "-wal")
	must.NoError(t, err)
	log[len(log)/2] ^= 1
	must.NoError(t, os.WriteFile(path+"-wal", log, 0o600))

	const message = "plants.db-wal is damaged"
	program.Fails(t, message, "serve", "--addr", "127.0.0.1:0", "--store", path)
	program.Fails(t, message, "serve", "--read-only", "--addr", "127.0.0.1:0", "--store", path)
	program.Fails(t, message, "token", "list", "--store", path)
	program.Fails(t, message, "backup", "--store", path, filepath.Join(dir, "backup.db"))

	out, _ := program.Command(t, "plantstore", "token", "list", "--store", path).CombinedOutput()
	shell(t, t.TempDir(), regexp.MustCompile("cp -p .*").FindString(string(out)))
	if kept, err := os.ReadFile(path + "-wal.damaged"); err != nil || string(kept) != string(log) {
		t.Errorf("the copy of the log differs, %v", err)
	}
	r = program.ServeIn(t, dir, "plants.db")
	stored := len(listAll(t, r.URL, r.Token))
	if stored == 0 || stored >= 100 {
		t.Errorf("%d of 100 plants are stored, want those before the damage", stored)
	}
	r.End(t, syscall.SIGTERM)
	wantStored(t, dir, "plants.db", stored)
}
