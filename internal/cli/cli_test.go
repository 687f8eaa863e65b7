package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

func TestMain(m *testing.M) { program.Main(m, func() int { return Main("") }) }

// TestScripts runs the scripts in testdata, which type the commands of the
// program. Beside the commands of testscript they have
//
//	exits STATUS ARG...    runs `plantstore ARG...` in the process of the tests; it must
//	                       end with STATUS. A start of the program costs a hundred times
//	                       as much, so this is for what needs no file of the script and
//	                       no variable of a flag, and exec for everything else
//	serve ARG...           runs `plantstore serve ARG...` until it announces
//	                       its address; sets $URL, $ADDR, and $TOKEN if it prints one
//	quit SIGNAL            sends SIGTERM, SIGINT or SIGKILL to it and waits;
//	                       what it printed is there for stdout and stderr, and
//	                       with a ! before it, it must have failed
//	http METHOD PATH BODY  sends a request with $TOKEN; the status line and the
//	                       body are there for stdout
//	keep NAME              sets $NAME to what the last command printed on stdout
//	id NAME TOKEN          sets $NAME to the ID of a token
//	certificate NAME HOST  writes NAME.pem and NAME-key.pem, good for an hour
//	sql FILE STATEMENT...  runs statements on an SQLite database, which it keeps open
//
// $SPECIES is the file that README imports.
func TestScripts(t *testing.T) {
	runScripts(t, "testdata", func(*testscript.Env) {})
}

// TestScriptsPostgres runs the scripts that need PostgreSQL; $POSTGRES is an
// empty database.
func TestScriptsPostgres(t *testing.T) {
	if !pgtest.Given() {
		pgtest.Skip(t)
	}
	runScripts(t, "testdata/postgres", func(env *testscript.Env) {
		env.Setenv("POSTGRES", pgtest.DSN(env.T().(testing.TB)))
	})
}

func runScripts(t *testing.T, dir string, setup func(*testscript.Env)) {
	t.Parallel()
	species, err := filepath.Abs("../../cmd/plantstore/species.csv")
	must.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			setup(env)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("GOGC", os.Getenv("GOGC"))
			env.Setenv("SPECIES", species)
			started := new(*program.Server)
			env.Values[runningKey{}] = started
			env.Defer(func() {
				if *started != nil {
					(*started).Kill()
				}
			})
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": command(2, 100, exits), "serve": startServe, "quit": quit, "http": sendHTTP, "keep": command(1, 1, keep),
			"id": command(2, 2, keepID), "certificate": command(2, 2, makeCertificate), "sql": command(2, 100, runSQL),
		},
	})
}

// inProcess is held while a test runs a command in its process: the library keeps the
// state of --help in a global variable.
var inProcess sync.Mutex

// command is a command with so many arguments, without a ! before it.
func command(least, most int, do func(*testscript.TestScript, []string)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < least || len(args) > most {
			ts.Fatalf("the command cannot have the arguments %q, or a ! before it", args)
		}
		do(ts, args)
	}
}

func exits(ts *testscript.TestScript, args []string) {
	inProcess.Lock()
	defer inProcess.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Limit)
	defer cancel()
	sys := system{getenv: ts.Getenv, stdout: ts.Stdout(), stderr: ts.Stderr()}
	before := here(ts)
	percent := debug.SetGCPercent(100) // serve sets this and the limit of the memory
	limit := debug.SetMemoryLimit(-1)
	status := strconv.Itoa(sys.main(ctx, append([]string{"plantstore"}, args[1:]...)))
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(limit)
	made := slices.DeleteFunc(here(ts), func(name string) bool { return slices.Contains(before, name) })
	if status != args[0] || len(made) > 0 {
		ts.Fatalf("the status is %s, want %s; the command created %v, want nothing", status, args[0], made)
	}
}

// here returns the names of the files in the working directory, without those of Go,
// which someone may edit meanwhile.
func here(ts *testscript.TestScript) (names []string) {
	entries, err := os.ReadDir(".")
	ts.Check(err)
	for _, entry := range entries {
		if !strings.Contains(entry.Name(), ".go") {
			names = append(names, entry.Name())
		}
	}
	return names
}

// runningKey finds the program that a script has started.
type runningKey struct{}

func startServe(ts *testscript.TestScript, _ bool, args []string) {
	started := ts.Value(runningKey{}).(**program.Server)
	if *started != nil {
		ts.Fatalf("serve: already running")
	}
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GORACE", "PLANTSTORE_TOKEN", "PLANTSTORE_ADDR", "PLANTSTORE_STORE", "PLANTSTORE_BASE_URL"} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	r, err := program.Launch(ts.MkAbs("."), env, args...)
	ts.Check(err)
	*started = r
	ts.Setenv("URL", r.URL)
	_, addr, _ := strings.Cut(r.URL, "://")
	ts.Setenv("ADDR", addr)
	if r.Token != "" {
		ts.Setenv("TOKEN", r.Token)
	}
}

func quit(ts *testscript.TestScript, neg bool, args []string) {
	started := ts.Value(runningKey{}).(**program.Server)
	signals := map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT, "SIGKILL": syscall.SIGKILL}
	if *started == nil || len(args) != 1 || signals[args[0]] == 0 {
		ts.Fatalf("usage: serve, then quit SIGTERM, SIGINT or SIGKILL")
	}
	r := *started
	*started = nil
	ts.Check(r.Cmd.Process.Signal(signals[args[0]]))
	err := r.Wait()
	if (err != nil) != neg {
		ts.Fatalf("plantstore ended with %v after %s\n%s", err, args[0], r.Stderr.String())
	}
	ts.Check(writeLines(ts.Stdout(), r.Stdout.String()))
	ts.Check(writeLines(ts.Stderr(), r.Stderr.String()))
}

func sendHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: http METHOD PATH [BODY]")
	}
	body := strings.Join(args[2:], "")
	req, err := http.NewRequest(args[0], ts.Getenv("URL"), strings.NewReader(body))
	ts.Check(err)
	req.URL.Opaque, req.URL.RawQuery, _ = strings.Cut(args[1], "?") // sent unchanged, also *
	req.Header.Set("Content-Type", "application/json")
	req.Close = true // an idle connection would keep a later quit waiting
	if token := ts.Getenv("TOKEN"); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := plantcontract.Plants().Client(script{ts}).Do(req)
	if neg {
		if err == nil {
			resp.Body.Close()
			ts.Fatalf("the response is %s, want none", resp.Status)
		}
		return
	}
	ts.Check(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	ts.Check(errors.Join(err, writeLines(ts.Stdout(), resp.Status, string(text))))
}

// script makes a script fail if a response breaks the document.
type script struct{ ts *testscript.TestScript }

func (s script) Helper()                           {}
func (s script) Name() string                      { return s.ts.Name() }
func (s script) Logf(format string, args ...any)   { s.ts.Logf(format, args...) }
func (s script) Errorf(format string, args ...any) { s.ts.Fatalf(format, args...) }

func keep(ts *testscript.TestScript, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

func keepID(ts *testscript.TestScript, args []string) {
	ts.Setenv(args[0], args[1][4:16]) // what follows pst_
}

func makeCertificate(ts *testscript.TestScript, args []string) {
	ts.Check(program.WriteCertificate(ts.MkAbs("."), args[0], args[1], time.Now().Add(time.Hour)))
}

func runSQL(ts *testscript.TestScript, args []string) {
	conn, err := sqlite.OpenConn(ts.MkAbs(args[0]), sqlite.OpenReadWrite, sqlite.OpenCreate)
	ts.Check(err)
	ts.Defer(func() { _ = conn.Close() })
	for _, statement := range args[1:] {
		ts.Check(sqlitex.ExecuteTransient(conn, statement, nil))
	}
}

func writeLines(w io.Writer, lines ...string) error {
	_, err := io.WriteString(w, strings.Join(lines, "\n"))
	return err
}
