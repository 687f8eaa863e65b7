package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Every command that creates a file says what to do if its user may not.
func TestNoRightToCreate(t *testing.T) {
	service := clienttest.New(t)
	open := t.TempDir()
	t.Chdir(open)
	must.NoError(t, os.WriteFile("rows.csv", []byte("id,name\n1,Rosa\n"), 0o644))
	program.Serve(t, filepath.Join(open, "plants.db")).End(t, syscall.SIGTERM)
	must.NoError(t, os.Chmod("plants.db", 0o666))
	must.NoError(t, os.Mkdir("closed", 0o555))
	inProcess.Lock()
	defer inProcess.Unlock()
	if os.Getuid() == 0 {
		for folder := open; len(folder) > len(os.TempDir()); folder = filepath.Dir(folder) {
			must.NoError(t, os.Chmod(folder, 0o777))
		}
		must.NoError(t, os.Chmod("closed", 0o555))
		runtime.LockOSThread() // never unlocked: the thread ends with the test
		must.NoError(t, syscall.Setfsuid(65534))
		defer func() { _ = syscall.Setfsuid(0) }()
	}
	token := func(name string) string { return map[string]string{"PLANTSTORE_TOKEN": service.Token}[name] }
	for _, args := range [][]string{
		{"export", "--server", service.URL, "closed/new.csv"},
		{"import", "--server", service.URL, "--rejects", "closed/new.csv", "rows.csv"},
		{"backup", "--store", "plants.db", "closed/new.db"},
		{"restore", "--store", "closed/new.db", "plants.db"},
		{"copy", "--from", "plants.db", "--to", "closed/new.db"},
	} {
		var out strings.Builder
		sys := system{getenv: token, stdout: &out, stderr: &out}
		status := sys.main(t.Context(), append([]string{"plantstore"}, args...))
		const want = "this user may not create files in the folder closed: give it write permission there, or name another folder\n"
		if status != 1 || !strings.HasSuffix(out.String(), want) {
			t.Errorf("plantstore %q = %d, %s", args, status, out.String())
		}
	}
}

// What a killed command has left of a file is removed by the next one that writes this file, and no other file is.
func TestLeftFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	service := clienttest.New(t)
	asked := make(chan bool, 100)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the end of the client is not seen
		asked <- true
		<-r.Context().Done()
	}))
	defer silent.Close()
	start := func(args ...string) (kill func()) {
		t.Helper()
		cmd := program.Command(t, "plantstore", append(args, "--server", silent.URL)...)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "PLANTSTORE_TOKEN=a-token-of-ours")
		must.NoError(t, cmd.Start())
		wait.For(t, "the command has created its file", asked)
		return func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	hidden := func() (names []string) {
		entries, err := os.ReadDir(folder)
		must.NoError(t, err)
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), ".") {
				names = append(names, entry.Name())
			}
		}
		return names
	}
	run := func(args ...string) {
		t.Helper()
		cmd := program.Command(t, "plantstore", args...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "PLANTSTORE_SERVER="+service.URL, "PLANTSTORE_TOKEN="+service.Token)
		program.Finish(t, cmd)
	}
	want := func(when string, want int) {
		t.Helper()
		if names := hidden(); len(names) != want {
			t.Errorf("%s: the folder has %q, want %d hidden files", when, names, want)
		}
	}
	must.NoError(t, os.WriteFile(filepath.Join(folder, "rows.csv"), []byte("id,name\n1,Rosa\n"), 0o600))

	start("export", "plants.csv")()
	start("import", "--rejects", "bad.csv", "rows.csv")()
	want("after two commands were killed", 2)
	kill := start("export", "plants.csv") // it also removes what the first one has left
	defer kill()
	want("while a command runs", 2)

	run("export", "--replace", "plants.csv")
	want("while a command runs, after another one has ended", 2)
	run("import", "--rejects", "bad.csv", "rows.csv")
	want("after an import", 1)
	kill()
	want("after the kill", 1)
	run("export", "--replace", "another.csv")
	want("after a command for another file", 1)
	run("export", "--replace", "plants.csv")
	want("after a command for this file", 0)
}

// A killed backup leaves a database and perhaps its journal.
func TestLeftDatabases(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "plants.db")
	program.Serve(t, store).End(t, syscall.SIGTERM)
	folder := t.TempDir()
	const left = ".monday.db.14195942770144005334"
	others := []string{
		".monday.db", ".monday.db.1", ".monday.db.14195942770144005334x", ".monday.db.x4195942770144005334", ".monday2db.14195942770144005334",
		".tuesday.db.14195942770144005334", "monday.db.14195942770144005334",
	}
	for _, name := range append([]string{left, left + "-journal"}, others...) {
		must.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	must.NoError(t, os.Mkdir(filepath.Join(folder, ".monday.db.00000000000000000001"), 0o700))
	program.Output(t, "backup", "--store", store, filepath.Join(folder, "monday.db"))
	entries, err := os.ReadDir(folder)
	must.NoError(t, err)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), left) && !strings.HasSuffix(entry.Name(), "x") {
			t.Errorf("%s is there after a backup", entry.Name())
		}
	}
	if len(entries) != len(others)+2 {
		t.Errorf("the folder has %v, want the backup, the folder and %q", entries, others)
	}
}
