package cli

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

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
	cmd.WaitDelay = time.Second
	return cmd
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
	cmd.Dir, cmd.Env = dir, env
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
	addresses, tokens, curl := make(chan string, 1), make(chan string, 1), make(chan string, 1)
	go func() {
		defer close(r.drained)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			line := lines.Text()
			r.stdout.WriteString(line + "\n")
			if m := adminLine.FindStringSubmatch(line); m != nil {
				r.adminURL = m[1]
			}
			if m := announcement.FindStringSubmatch(line); m != nil {
				addresses <- m[1]
			}
			if m := printedToken.FindStringSubmatch(line); m != nil {
				tokens <- m[1]
			}
			if strings.HasPrefix(line, "curl ") {
				curl <- line
			}
		}
	}()
	wait := func(line <-chan string, into *string) {
		select {
		case *into = <-line:
		case <-r.drained:
			err = fmt.Errorf("the program ended")
		case <-time.After(wait.Limit):
			err = fmt.Errorf("no address, token or command was printed within %v", wait.Limit)
		}
	}
	wait(addresses, &r.url)
	if slices.Contains(cmd.Args, "--print-token") && err == nil {
		wait(tokens, &r.token)
	}
	if r.token != "" {
		wait(curl, &r.curl) // comes after the token
	}
	if err != nil {
		r.kill()
		return nil, fmt.Errorf("plantstore %s: %w: %s", strings.Join(cmd.Args[1:], " "), err, r.stderr.String())
	}
	return r, nil
}

// end sends the program a signal, after which it must exit with 0.
func (r *running) end(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	if err := r.wait(); err != nil {
		t.Fatalf("plantstore serve ended with %v after %v\n%s", err, signal, &r.stderr)
	}
}

// wait waits until the program has ended. A program that takes longer than
// wait.Limit is told to print its goroutines on stderr.
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
