package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// commandTime is how long a test waits for a command: it may send hundreds
// of requests, or compile with an empty cache.
const commandTime = 5 * time.Minute

// newCommand returns a command. If it runs longer than commandTime it prints
// its goroutines on stderr and ends.
func newCommand(t testing.TB, program string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 10 * time.Second // with 1 s, the output of a command that had ended was lost on a busy machine
	return cmd
}

// finish runs a command, which must succeed, and returns what it prints on stdout.
func finish(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q ends with %v\n%s%s", cmd.Args, err, out, &stderr)
	}
	return string(out)
}

// output runs plantstore and returns what it prints on stdout.
func output(t testing.TB, args ...string) string {
	t.Helper()
	return strings.TrimSpace(finish(t, newCommand(t, "plantstore", args...)))
}

// fails runs plantstore, which must fail with a message.
func fails(t *testing.T, message string, args ...string) {
	t.Helper()
	programFails(t, "plantstore", message, args...)
}

// programFails is fails for another plantstore program.
func programFails(t *testing.T, program, message string, args ...string) {
	t.Helper()
	out, err := newCommand(t, program, args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), message) {
		t.Errorf("%s %q: %v, %s\nwant %q", program, args, err, out, message)
	}
}

// running is a `plantstore serve` that a test has started.
type running struct {
	cmd            *exec.Cmd
	url, token     string
	adminURL       string // empty without an admin listener
	curl           string // the printed command; empty without --print-token
	stdout, stderr strings.Builder
	drained        chan struct{} // closed once stdout has been read to its end
}

var (
	adminLine    = regexp.MustCompile(`^plantstore admin listens on (http://\S+)$`) // comes first
	announcement = regexp.MustCompile(`^plantstore listens on (https?://\S+)$`)
	printedToken = regexp.MustCompile(`^token.*\b(pst_\w+)$`)
	printedCurl  = regexp.MustCompile(`^(curl .*)`) // comes after the token
)

// launch runs `plantstore serve` in a folder and with an environment of its
// own, until it has announced its address and, with --print-token, its token and a
// curl command.
func launch(dir string, env []string, args ...string) (*running, error) {
	path, err := exec.LookPath("plantstore") // TestMain has put it there
	if err != nil {
		return nil, err
	}
	return launchProgram(path, dir, env, args...)
}

// launchProgram is launch for another plantstore program.
func launchProgram(path, dir string, env []string, args ...string) (*running, error) {
	cmd := exec.Command(path, append([]string{"serve"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(env, "GORACE="+os.Getenv("GORACE"))
	return launchCommand(cmd)
}

// launchCommand is launch for a command that is complete but for its outputs.
func launchCommand(cmd *exec.Cmd) (*running, error) {
	r := &running{cmd: cmd, drained: make(chan struct{})}
	r.cmd.Stderr = &r.stderr
	pipe, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	last := &r.url
	if slices.Contains(cmd.Args, "--print-token") {
		last = &r.curl
	}
	complete := make(chan struct{})
	go func() {
		defer close(r.drained)
		for lines, waiting := bufio.NewScanner(pipe), true; lines.Scan(); {
			r.stdout.WriteString(lines.Text() + "\n")
			for pattern, into := range map[*regexp.Regexp]*string{
				adminLine: &r.adminURL, announcement: &r.url, printedToken: &r.token, printedCurl: &r.curl,
			} {
				if m := pattern.FindStringSubmatch(lines.Text()); m != nil && waiting {
					*into = m[1]
				}
			}
			if waiting && *last != "" {
				waiting = false
				close(complete)
			}
		}
	}()
	select {
	case <-complete:
		return r, nil
	case <-r.drained:
		err = errors.New("the program ended")
	case <-time.After(wait.Limit):
		err = fmt.Errorf("no address, token or command was printed within %v", wait.Limit)
	}
	r.kill()
	return nil, fmt.Errorf("plantstore %s: %w: %s", strings.Join(cmd.Args[1:], " "), err, r.stderr.String())
}

// watched starts a service with an admin listener in a folder. It is killed at the end
// of the test.
func watched(t testing.TB, dir, store string, args ...string) *running {
	t.Helper()
	r, err := launch(dir, []string{"HOME=" + dir}, append([]string{
		"--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--print-token", "--store", store,
	}, args...)...)
	must.NoError(t, err)
	t.Cleanup(r.kill)
	if r.adminURL == "" {
		t.Fatalf("the admin listener is not announced before the public one:\n%s", r.stdout.String())
	}
	return r
}

// serve is watched in a new folder.
func serve(t testing.TB, store string, args ...string) *running {
	t.Helper()
	return watched(t, t.TempDir(), store, args...)
}

// ours is the token that every service started by oneOf accepts.
const ours = "a-static-token-of-ours"

// oneOf starts one of the services on a store. All of them accept one token.
func oneOf(t testing.TB, store string, args ...string) *running {
	t.Helper()
	r, err := launch(t.TempDir(), []string{"PLANTSTORE_TOKEN=" + ours},
		append([]string{"--addr", "127.0.0.1:0", "--store", store}, args...)...)
	must.NoError(t, err)
	t.Cleanup(func() {
		r.kill()
		if t.Failed() {
			t.Logf("the log of a service:\n%.5000s", &r.stderr)
		}
	})
	r.token = ours
	return r
}

// with returns the service as it is for another token, or behind a proxy.
func (r *running) with(url, token string) *running { return &running{url: url, token: token} }

// command returns a command of plantstore that uses the service.
func (r *running) command(t testing.TB, args ...string) *exec.Cmd {
	cmd := newCommand(t, "plantstore", args...)
	cmd.Env = append(os.Environ(), "PLANTSTORE_SERVER="+r.url, "PLANTSTORE_TOKEN="+r.token)
	return cmd
}

// do runs such a command, which must succeed, and returns what it prints on stdout.
func (r *running) do(t testing.TB, args ...string) string {
	t.Helper()
	return finish(t, r.command(t, args...))
}

// dial returns a client of the service.
func (r *running) dial(t testing.TB, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(r.url, append([]client.Option{client.WithToken(r.token)}, options...)...)
	must.NoError(t, err)
	return c
}

// newRequest returns a request with the token.
func (r *running) newRequest(method, path, body string) (*http.Request, error) {
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	return req, nil
}

// send sends a request, and returns the response and its body.
func (r *running) send(web *http.Client, method, path, body string) (*http.Response, string, error) {
	req, err := r.newRequest(method, path, body)
	if err != nil {
		return nil, "", err
	}
	resp, err := web.Do(req)
	_, text, err := readAll(resp, err)
	return resp, text, err
}

// readAll returns the status and the body of a response.
func readAll(resp *http.Response, err error) (status int, body string, _ error) {
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// call sends a request, and returns the status and the header of the response.
func (r *running) call(t testing.TB, method, path, body string) (status int, header http.Header) {
	t.Helper()
	resp, _, err := r.send(http.DefaultClient, method, path, body)
	must.NoError(t, err)
	return resp.StatusCode, resp.Header
}

// want fails the test unless the response to a request has a status.
func (r *running) want(t testing.TB, status int, method, path, body string) {
	t.Helper()
	switch resp, text, err := r.send(http.DefaultClient, method, path, body); {
	case err != nil:
		t.Fatal(err)
	case resp.StatusCode != status:
		t.Fatalf("%s %s = %s %.300s, want %d", method, path, resp.Status, text, status)
	}
}

// end sends the program a signal, after which it must exit with 0.
func (r *running) end(t *testing.T, signal syscall.Signal) {
	t.Helper()
	must.NoError(t, r.cmd.Process.Signal(signal))
	if err := r.wait(); err != nil {
		t.Fatalf("plantstore serve ended with %v after %v\n%s", err, signal, &r.stderr)
	}
}

// wait waits until the program has ended. A program that takes longer than
// [wait.Limit] is told to print its goroutines on stderr.
func (r *running) wait() error {
	late := time.AfterFunc(wait.Limit, func() { _ = r.cmd.Process.Signal(syscall.SIGQUIT) })
	<-r.drained
	err := r.cmd.Wait()
	if !late.Stop() {
		return fmt.Errorf("the program had not ended after %v: %w", wait.Limit, err)
	}
	return err
}

// kill kills the program.
func (r *running) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.wait()
}

// memory returns how much memory the program uses (VmRSS), or has used at most (VmHWM),
// in bytes.
func (r *running) memory(kind string) (bytes int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if m := regexp.MustCompile(kind + `:\s+(\d+) kB`).FindSubmatch(text); m != nil {
		bytes, _ = strconv.ParseInt(string(m[1]), 10, 64)
	}
	return bytes << 10
}

// listAll returns all plants of a service by their IDs.
func listAll(t testing.TB, url, token string) map[int64]client.Plant {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
	defer cancel()
	all := map[int64]client.Plant{}
	for p, err := range (&running{url: url, token: token}).dial(t).All(ctx, client.PageSize(1000)) {
		must.NoError(t, err)
		all[p.ID] = p
	}
	return all
}

func plantName(id int64) string { return fmt.Sprint("plant ", id) }

// batchOf returns the body of a batch of n plants.
func batchOf(first, n int64, name string) string {
	var plants []string
	for id := first; id < first+n; id++ {
		plants = append(plants, fmt.Sprintf(`{"id":%d,"name":%q}`, id, name))
	}
	return `{"plants":[` + strings.Join(plants, ",") + `]}`
}
