package program

import (
	"bufio"
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
	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Server is a `plantstore serve` that a test has started.
type Server struct {
	Cmd            *exec.Cmd
	URL, Token     string
	AdminURL       string // empty without an admin listener
	Curl           string // the printed command; empty without --print-token
	Stdout, Stderr strings.Builder
	drained        chan struct{} // closed once stdout has been read to its end
}

var (
	adminLine    = regexp.MustCompile(`^plantstore admin listens on (http://\S+)$`) // comes first
	announcement = regexp.MustCompile(`^plantstore listens on (https?://\S+)$`)
	printedToken = regexp.MustCompile(`^token.*\b(pst_\w+)$`)
	printedCurl  = regexp.MustCompile(`^(curl .*)`) // comes after the token
)

// Launch runs `plantstore serve` in a folder and with an environment of its
// own, until it has announced its address and, with --print-token, its token and a
// curl command.
func Launch(dir string, env []string, args ...string) (*Server, error) {
	path, err := exec.LookPath("plantstore") // TestMain has put it there
	if err != nil {
		return nil, err
	}
	return LaunchPath(path, dir, env, args...)
}

// LaunchPath is Launch for another plantstore program.
func LaunchPath(path, dir string, env []string, args ...string) (*Server, error) {
	cmd := exec.Command(path, append([]string{"serve"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(env, "GORACE="+os.Getenv("GORACE"))
	return LaunchCommand(cmd)
}

// LaunchCommand is Launch for a command that is complete but for its outputs.
func LaunchCommand(cmd *exec.Cmd) (*Server, error) {
	r := &Server{Cmd: cmd}
	if slices.Contains(cmd.Args, "--print-token") {
		return r.launch(&r.Curl)
	}
	return r.launch(&r.URL)
}

// LaunchAdmin is LaunchCommand for a command that announces its admin listener, and maybe no other
// one, as `plantstore webhook`.
func LaunchAdmin(cmd *exec.Cmd) (*Server, error) {
	r := &Server{Cmd: cmd}
	return r.launch(&r.AdminURL)
}

// launch runs the command until it has announced what last points to.
func (r *Server) launch(last *string) (*Server, error) {
	r.drained = make(chan struct{})
	r.Cmd.Stderr = &r.Stderr
	pipe, err := r.Cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.Cmd.Start(); err != nil {
		return nil, err
	}
	complete := make(chan struct{})
	go func() {
		defer close(r.drained)
		for lines, waiting := bufio.NewScanner(pipe), true; lines.Scan(); {
			r.Stdout.WriteString(lines.Text() + "\n")
			for pattern, into := range map[*regexp.Regexp]*string{
				adminLine: &r.AdminURL, announcement: &r.URL, printedToken: &r.Token, printedCurl: &r.Curl,
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
	r.Kill()
	return nil, fmt.Errorf("plantstore %s: %w: %s", strings.Join(r.Cmd.Args[1:], " "), err, r.Stderr.String())
}

// ServeIn starts a service with an admin listener in a folder. It is killed at the end
// of the test.
func ServeIn(t testing.TB, dir, store string, args ...string) *Server {
	t.Helper()
	r, err := Launch(dir, []string{"HOME=" + dir}, append([]string{
		"--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--print-token", "--store", store,
	}, args...)...)
	must.NoError(t, err)
	t.Cleanup(r.Kill)
	if r.AdminURL == "" {
		t.Fatalf("the admin listener is not announced before the public one:\n%s", r.Stdout.String())
	}
	return r
}

// Serve is ServeIn in a new folder.
func Serve(t testing.TB, store string, args ...string) *Server {
	t.Helper()
	return ServeIn(t, t.TempDir(), store, args...)
}

// Token is the token that every service started by OneOf accepts.
const Token = "a-static-token-of-ours"

// OneOf starts one of the services on a store. All of them accept one token.
func OneOf(t testing.TB, store string, args ...string) *Server {
	t.Helper()
	r, err := Launch(t.TempDir(), []string{"PLANTSTORE_TOKEN=" + Token},
		append([]string{"--addr", "127.0.0.1:0", "--store", store}, args...)...)
	must.NoError(t, err)
	t.Cleanup(func() {
		r.Kill()
		if t.Failed() {
			t.Logf("the log of a service:\n%.5000s", &r.Stderr)
		}
	})
	r.Token = Token
	return r
}

// With returns the service as it is for another token, or behind a proxy.
func (r *Server) With(url, token string) *Server { return &Server{URL: url, Token: token} }

// Command returns a command of plantstore that uses the service.
func (r *Server) Command(t testing.TB, args ...string) *exec.Cmd {
	cmd := Command(t, "plantstore", args...)
	cmd.Env = append(os.Environ(), "PLANTSTORE_SERVER="+r.URL, "PLANTSTORE_TOKEN="+r.Token)
	return cmd
}

// Do runs such a command, which must succeed, and returns what it prints on stdout.
func (r *Server) Do(t testing.TB, args ...string) string {
	t.Helper()
	return Finish(t, r.Command(t, args...))
}

// Dial returns a client of the service.
func (r *Server) Dial(t testing.TB, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(r.URL, append([]client.Option{client.WithToken(r.Token)}, options...)...)
	must.NoError(t, err)
	return c
}

// NewRequest returns a request with the token.
func (r *Server) NewRequest(method, path, body string) (*http.Request, error) {
	req, err := http.NewRequest(method, r.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.Token)
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	return req, nil
}

// Send sends a request, and returns the response and its body.
func (r *Server) Send(web *http.Client, method, path, body string) (*http.Response, string, error) {
	req, err := r.NewRequest(method, path, body)
	if err != nil {
		return nil, "", err
	}
	resp, err := web.Do(req)
	_, text, err := ReadAll(resp, err)
	return resp, text, err
}

// ReadAll returns the status and the body of a response.
func ReadAll(resp *http.Response, err error) (status int, body string, _ error) {
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// Call sends a request, and returns the status and the header of the response.
func (r *Server) Call(t testing.TB, method, path, body string) (status int, header http.Header) {
	t.Helper()
	resp, _, err := r.Send(http.DefaultClient, method, path, body)
	must.NoError(t, err)
	return resp.StatusCode, resp.Header
}

// Want fails the test unless the response to a request has a status.
func (r *Server) Want(t testing.TB, status int, method, path, body string) {
	t.Helper()
	switch resp, text, err := r.Send(http.DefaultClient, method, path, body); {
	case err != nil:
		t.Fatal(err)
	case resp.StatusCode != status:
		t.Fatalf("%s %s = %s %.300s, want %d", method, path, resp.Status, text, status)
	}
}

// End sends the program a signal, after which it must exit with 0.
func (r *Server) End(t *testing.T, signal syscall.Signal) {
	t.Helper()
	must.NoError(t, r.Cmd.Process.Signal(signal))
	if err := r.Wait(); err != nil {
		t.Fatalf("plantstore serve ended with %v after %v\n%s", err, signal, &r.Stderr)
	}
}

// Wait waits until the program has ended. A program that takes longer than
// [wait.Limit] is told to print its goroutines on stderr.
func (r *Server) Wait() error {
	late := time.AfterFunc(wait.Limit, func() { _ = r.Cmd.Process.Signal(syscall.SIGQUIT) })
	<-r.drained
	err := r.Cmd.Wait()
	if !late.Stop() {
		return fmt.Errorf("the program had not ended after %v: %w", wait.Limit, err)
	}
	return err
}

// Ended is closed once the program has closed its stdout.
func (r *Server) Ended() <-chan struct{} { return r.drained }

// Kill kills the program.
func (r *Server) Kill() {
	_ = r.Cmd.Process.Kill()
	_ = r.Wait()
}

// Memory returns how much memory the program uses (VmRSS), or has used at most (VmHWM),
// in bytes.
func (r *Server) Memory(kind string) (bytes int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.Cmd.Process.Pid))
	if m := regexp.MustCompile(kind + `:\s+(\d+) kB`).FindSubmatch(text); m != nil {
		bytes, _ = strconv.ParseInt(string(m[1]), 10, 64)
	}
	return bytes << 10
}

// Page returns the response of the admin listener to a request.
func (r *Server) Page(t *testing.T, path string) (status int, body string) {
	t.Helper()
	status, body, err := ReadAll(http.Get(r.AdminURL + path))
	must.NoError(t, err)
	return status, body
}

// WantReady waits until /readyz gives the reason text; empty: until it is ready. It
// returns the whole text.
func (r *Server) WantReady(t *testing.T, reason string) string {
	t.Helper()
	return r.WantHealth(t, "/readyz", "ready\n", reason)
}

// WantHealth is wantReady for any path that says good with 200.
func (r *Server) WantHealth(t *testing.T, path, good, reason string) string {
	t.Helper()
	want, text := http.StatusOK, good
	if reason != "" {
		want, text = http.StatusServiceUnavailable, reason
	}
	for deadline := time.Now().Add(wait.Limit); ; time.Sleep(10 * time.Millisecond) {
		status, body := r.Page(t, path)
		if status == want && strings.HasPrefix(body, text) {
			return body
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %d %q, want %d %q", path, status, body, want, text)
		}
	}
}

// Metrics returns the series of a scrape and their values.
func (r *Server) Metrics(t *testing.T) map[string]float64 {
	t.Helper()
	_, scrape := r.Page(t, "/metrics")
	return metricstest.Parse(t, scrape)
}

// Healthcheck returns what plantstore healthcheck prints about the program.
func (r *Server) Healthcheck(t *testing.T, args ...string) string {
	t.Helper()
	args = append([]string{"healthcheck", "--admin-addr", strings.TrimPrefix(r.AdminURL, "http://")}, args...)
	out, _ := Command(t, "plantstore", args...).CombinedOutput()
	return string(out)
}
