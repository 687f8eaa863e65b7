// Package kubernetes tests the manifests and the alert rules beside the program
// against the Kubernetes API, the language of Prometheus, and the program itself.
package kubernetes

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	folder = "../../../../cmd/plantstore/"

	// longEnough is how long a test waits for something that takes less time.
	longEnough = time.Minute
)

// plantstore is the path of the program, which TestMain builds.
var plantstore string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "plantstore-kubernetes.")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	plantstore = filepath.Join(dir, "plantstore")
	build := exec.Command("go", "build", "-o", plantstore, "./cmd/plantstore")
	build.Dir = "../../../.."
	status := 1
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
	} else {
		status = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(status)
}

// server is a running program.
type server struct {
	cmd                   *exec.Cmd
	publicPort, adminPort string
	stderr                bytes.Buffer
	ended                 chan error
}

var listens = regexp.MustCompile(`^plantstore( admin)? listens on https?://.*:([0-9]+)$`)

// start runs the program until it has announced its admin listener and, if ready,
// its public listener, too.
func start(dir string, env, args []string, ready bool) (*server, error) {
	s := &server{cmd: exec.Command(plantstore, args...), ended: make(chan error, 1)}
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = dir, env, &s.stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	late := time.AfterFunc(longEnough, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		m := listens.FindStringSubmatch(lines.Text())
		switch {
		case m == nil:
		case m[1] != "":
			s.adminPort = m[2]
		default:
			s.publicPort = m[2]
		}
		if s.adminPort != "" && (!ready || s.publicPort != "") {
			go func() {
				_, _ = io.Copy(io.Discard, stdout)
				s.ended <- s.cmd.Wait()
			}()
			return s, nil
		}
	}
	return nil, fmt.Errorf("the program ends before it listens on both ports: %w: %s", s.cmd.Wait(), &s.stderr)
}

// wait returns how the program ends.
func (s *server) wait() error {
	select {
	case err := <-s.ended:
		s.ended <- err
		return err
	case <-time.After(longEnough):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		return fmt.Errorf("the program has not ended after %v: %w: %s", longEnough, <-s.ended, &s.stderr)
	}
}

// stop ends the program.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return s.wait()
}

// get requests a path with a Host header, as a probe or Prometheus does.
func get(port, host, path string, timeout time.Duration) (status int, body string, err error) {
	req, err := http.NewRequest(http.MethodGet, "http://"+net.JoinHostPort("127.0.0.1", port)+path, nil)
	if err != nil {
		return 0, "", err
	}
	req.Host = host
	client := &http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// scrape returns what Prometheus gets of a server.
func (s *server) scrape() (string, error) {
	status, body, err := get(s.adminPort, "10.1.2.3:9090", "/metrics", longEnough)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("/metrics has the status %d: %s", status, body)
	}
	return body, err
}

// postgres returns the URL of the database for tests.
func postgres(t *testing.T) string {
	t.Helper()
	url := os.Getenv("PLANTSTORE_TEST_POSTGRES")
	if url == "" {
		t.Skip("needs PostgreSQL in PLANTSTORE_TEST_POSTGRES: make kubernetes provides it")
	}
	return url
}

// read returns a file beside the program.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(folder + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}
