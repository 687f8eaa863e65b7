//go:build unix

package system_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// TestMakeRun runs make run and ends it with Ctrl-C.
func TestMakeRun(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	var want string
	for _, c := range commands(readme(t, "README.md")) {
		if c.line == "make run" {
			want = c.output
		}
	}
	dir := t.TempDir()
	cmd := exec.Command("make", "run")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "PLANTSTORE_ADDR=127.0.0.1:0", "PLANTSTORE_STORE="+filepath.Join(dir, "plantstore.db"), "MAKEFLAGS=", "MAKELEVEL=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that the signal reaches every process, as Ctrl-C does
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	must.NoError(t, err)
	must.NoError(t, cmd.Start())
	end := func(signal syscall.Signal) { _ = syscall.Kill(-cmd.Process.Pid, signal) }
	stop := time.AfterFunc(program.CommandTime, func() { end(syscall.SIGKILL) }) // make run builds the program first
	defer stop.Stop()
	var printed strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		printed.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "/docs") {
			end(syscall.SIGINT)
		}
	}
	_ = cmd.Wait() // the signal also ends make
	got := regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(strings.TrimSpace(printed.String()), "127.0.0.1:8080")
	if !like(want, got) {
		t.Errorf("make run prints\n%s\nREADME.md says\n%s\n%s", got, want, &stderr)
	}
	if strings.Contains(stderr.String(), "Error") {
		t.Errorf("after Ctrl-C make run prints %s", &stderr)
	}
}
