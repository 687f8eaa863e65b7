// Package program starts `plantstore` in tests, and sends it requests.
package program

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Main runs the tests of a package with the program on their path: the test binary itself, which
// calls plantstore if that is its name.
func Main(m *testing.M, plantstore func() int) {
	// The race detector makes a program wait for a second before it exits.
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	http.DefaultClient.Timeout = wait.Limit // no command uses it
	// The tests mostly wait for programs, so more of them run than there are processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	testscript.Main(tests{m}, map[string]func(){
		"plantstore": func() { os.Exit(plantstore()) },
	})
}

type tests struct{ *testing.M }

// Run runs the tests without the variables of flags, which the flags of a command in the
// process of the tests would read: a developer may have set some.
func (t tests) Run() int {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "PLANTSTORE_") && !strings.HasPrefix(name, "PLANTSTORE_TEST_") {
			os.Unsetenv(name)
		}
	}
	return t.M.Run()
}

// Build builds a command of the module in a folder into another folder.
func Build(module, command, folder string) error {
	cmd := exec.Command("go", "build", "-o", folder, command)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%q: %w\n%s", cmd.Args, err, out)
	}
	return nil
}

// CommandTime is how long a test waits for a command: it may send hundreds
// of requests, or compile with an empty cache.
const CommandTime = 5 * time.Minute

// Command returns a command. If it runs longer than CommandTime it prints
// its goroutines on stderr and ends.
func Command(t testing.TB, program string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), CommandTime)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 10 * time.Second // with 1 s, the output of a command that had ended was lost on a busy machine
	return cmd
}

// Finish runs a command, which must succeed, and returns what it prints on stdout.
func Finish(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q ends with %v\n%s%s", cmd.Args, err, out, &stderr)
	}
	return string(out)
}

// Output runs plantstore and returns what it prints on stdout.
func Output(t testing.TB, args ...string) string {
	t.Helper()
	return strings.TrimSpace(Finish(t, Command(t, "plantstore", args...)))
}

// Fails runs plantstore, which must fail with a message.
func Fails(t *testing.T, message string, args ...string) {
	t.Helper()
	FailsAs(t, "plantstore", message, args...)
}

// FailsAs is Fails for another plantstore program.
func FailsAs(t *testing.T, program, message string, args ...string) {
	t.Helper()
	out, err := Command(t, program, args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), message) {
		t.Errorf("%s %q: %v, %s\nwant %q", program, args, err, out, message)
	}
}
