package main

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/plantstore/plantstore/internal/contract"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"plantstore": func() { os.Exit(mainCode()) },
	})
}

// TestScripts runs the program as it is typed; see testdata. Beside the
// commands of testscript there are
//
//	serve ARG...           runs `plantstore serve ARG...` until it announces
//	                       its address; sets $URL, $ADDR, and $TOKEN if it prints one
//	quit SIGNAL            sends SIGTERM, SIGINT or SIGKILL to it and waits;
//	                       what it printed is there for stdout and stderr, and
//	                       with a ! before it, it must have failed
//	http METHOD PATH BODY  sends a request with $TOKEN; the status line and the
//	                       body are there for stdout
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Values[runningKey{}] = new(running)
			env.Defer(func() {
				if r := env.Values[runningKey{}].(*running); r.cmd != nil {
					_ = r.cmd.Process.Kill()
					_ = r.cmd.Wait()
				}
			})
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": startServe, "quit": quit, "http": sendHTTP,
		},
	})
}

// running is the program that a script has started.
type running struct {
	cmd            *exec.Cmd
	stdout, stderr strings.Builder
	drained        chan struct{} // closed once stdout has been read to its end
}

type runningKey struct{}

var (
	announcement = regexp.MustCompile(`^plantstore listens on (http://\S+)$`)
	printedToken = regexp.MustCompile(`\bpst_\w+`)
)

func startServe(ts *testscript.TestScript, _ bool, args []string) {
	r := ts.Value(runningKey{}).(*running)
	if r.cmd != nil {
		ts.Fatalf("serve: already running")
	}
	*r = running{cmd: exec.Command("plantstore", append([]string{"serve"}, args...)...), drained: make(chan struct{})}
	r.cmd.Dir = ts.MkAbs(".")
	r.cmd.Stderr = &r.stderr
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "PLANTSTORE_TOKEN", "PLANTSTORE_ADDR", "PLANTSTORE_STORE"} {
		if value := ts.Getenv(name); value != "" {
			r.cmd.Env = append(r.cmd.Env, name+"="+value)
		}
	}
	path, err := exec.LookPath(r.cmd.Path)
	ts.Check(err)
	r.cmd.Path = path
	pipe, err := r.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(r.cmd.Start())

	ready := make(chan string, 1)
	go func() {
		defer close(r.drained)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			line := lines.Text()
			r.stdout.WriteString(line + "\n")
			if m := announcement.FindStringSubmatch(line); m != nil {
				ready <- m[1]
				if !strings.Contains(strings.Join(args, " "), "--print-token") {
					continue
				}
			}
			if text := printedToken.FindString(line); text != "" && strings.HasPrefix(line, "token") {
				ready <- text
			}
		}
	}()
	wait := func() string {
		select {
		case text := <-ready:
			return text
		case <-r.drained:
		case <-time.After(20 * time.Second):
		}
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		ts.Fatalf("plantstore serve %s did not get ready: %s", strings.Join(args, " "), r.stderr.String())
		return ""
	}
	url := wait()
	ts.Setenv("URL", url)
	ts.Setenv("ADDR", strings.TrimPrefix(url, "http://"))
	if strings.Contains(strings.Join(args, " "), "--print-token") {
		ts.Setenv("TOKEN", wait())
	}
}

func quit(ts *testscript.TestScript, neg bool, args []string) {
	r := ts.Value(runningKey{}).(*running)
	signals := map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT, "SIGKILL": syscall.SIGKILL}
	if r.cmd == nil || len(args) != 1 || signals[args[0]] == 0 {
		ts.Fatalf("usage: serve, then quit SIGTERM, SIGINT or SIGKILL")
	}
	ts.Check(r.cmd.Process.Signal(signals[args[0]]))
	<-r.drained
	err := r.cmd.Wait()
	r.cmd = nil
	if (err != nil) != neg {
		ts.Fatalf("plantstore ended with %v after %s\n%s", err, args[0], r.stderr.String())
	}
	_, err = io.WriteString(ts.Stdout(), r.stdout.String())
	ts.Check(err)
	_, err = io.WriteString(ts.Stderr(), r.stderr.String())
	ts.Check(err)
}

func sendHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: http METHOD PATH [BODY]")
	}
	body := strings.Join(args[2:], "")
	req, err := http.NewRequest(args[0], ts.Getenv("URL"), strings.NewReader(body))
	ts.Check(err)
	req.URL.Opaque = args[1] // sent as it stands, * included
	req.Header.Set("Content-Type", "application/json")
	if token := ts.Getenv("TOKEN"); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := contract.Client(script{ts}).Do(req)
	if neg {
		if err == nil {
			resp.Body.Close()
			ts.Fatalf("answered %s, want no answer", resp.Status)
		}
		return
	}
	ts.Check(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	ts.Check(errors.Join(err, writeLines(ts.Stdout(), resp.Status, string(text))))
}

// script lets a script fail where the document is broken.
type script struct{ ts *testscript.TestScript }

func (s script) Helper()                           {}
func (s script) Name() string                      { return s.ts.Name() }
func (s script) Errorf(format string, args ...any) { s.ts.Fatalf(format, args...) }

func writeLines(w io.Writer, lines ...string) error {
	_, err := io.WriteString(w, strings.Join(lines, "\n"))
	return err
}
