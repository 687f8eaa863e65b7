package powercut

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// TestBadDisk lets each call of the disk fail that the unmodified program makes in a script of
// 50 operations: the first one of an operation, then, when that operation is done again, the
// second one, until it is done without an error. So each failure meets the files as many failures
// have left them. A failure is one of a single call, or lasts until the client has compared what
// /readyz and /writez say with the responses.
//
// Four disks share the operations, and the calls of those that have many. They mostly wait. One client makes all requests to a disk, so it knows
// what must be stored: what was acknowledged and, of a write that failed, all or nothing.
func TestBadDisk(t *testing.T) {
	imagesOfProgram(t)
	bin := buildProgram(t)
	for number := range disks {
		t.Run(fmt.Sprint("disk ", number), func(t *testing.T) {
			t.Parallel()
			c := newClientOfBadDisk(t, bin)
			for i, operation := range script {
				switch {
				case isCommand(operation):
					c.everyFailure(operation, failuresOfCommands, 1+number, disks)
				case operation == "checkpoint": // has as many calls as all others
					c.everyFailure(operation, failures, 1+number, disks)
				case i%disks == number:
					c.everyFailure(operation, failures, 1, 1)
				}
			}
			c.restart(syscall.SIGTERM)
			c.compareAll()
			c.useTokens()
			c.figures()
		})
	}
}

// disks is the number of disks. Each has a service and a client of its own.
const disks = 4

// script has 50 operations.
var script = slices.Concat(
	slices.Repeat([]string{"create", "put", "list", "patch", "batch", "delete", "changes", "put", "create", "get", "patch"}, 4),
	[]string{"token", "checkpoint", "backup", "token", "checkpoint", "restart"},
)

// failure is how calls of the disk fail.
type failure struct {
	call  string
	error string
	times string
}

// failures are tried for each call of an operation. A disk that is full can be read.
var failures = func() (all []failure) {
	for _, call := range []string{"read", "write", "sync", "truncate", "create", "rename", "remove", "folder"} {
		for _, times := range []string{"1", "all"} {
			all = append(all, failure{call: call, error: "EIO", times: times})
			if call != "read" {
				all = append(all, failure{call: call, error: "ENOSPC", times: times})
			}
		}
	}
	return all
}()

// failuresOfCommands is every fourth failure, because a command takes a hundred times as long as a request. The
// disks share its calls.
var failuresOfCommands = func() (some []failure) {
	for i := 0; i < len(failures); i += 4 {
		some = append(some, failures[i])
	}
	return some
}()

// clientOfBadDisk is a client of a service on a disk that fails.
type clientOfBadDisk struct {
	*recorded
	service *program.Server
	web     *http.Client

	lastID  int64
	plants  map[int64]string // what is stored
	tokens  []string
	pending []request // without a known outcome
	doing   string    // for messages

	failed   map[string]int // calls, by kind
	attempts int
	failures int
}

func newClientOfBadDisk(t *testing.T, bin string) *clientOfBadDisk {
	c := &clientOfBadDisk{
		recorded: newRecorded(t, bin), web: &http.Client{Timeout: wait.Limit},
		plants: map[int64]string{}, failed: map[string]int{},
	}
	must.NoError(t, c.startService())
	for range 20 {
		c.mustSend(c.next("create"))
	}
	return c
}

// everyFailure does an operation until each of its calls has failed in each way, or those from first on in steps.
// Of a checkpoint those beyond the limit are reads of a check of the whole file, which runs at the same time now and then.
func (c *clientOfBadDisk) everyFailure(operation string, failures []failure, first, step int) {
	limit := 500 // calls; a backup makes a hundred
	if operation == "checkpoint" {
		limit = 100
	}
	for _, f := range failures {
		k := first
		for ; k <= limit && c.failureAt(operation, f, k); k += step {
		}
		if k > limit && (f.call != "read" || operation != "checkpoint") {
			c.t.Errorf("%s makes more than %d calls of %s", operation, limit, f.call)
		}
	}
	c.wantSignal("/writez", true)
}

// isCommand reports whether an operation runs a command of the program.
func isCommand(operation string) bool {
	return operation == "restart" || operation == "backup" || operation == "token"
}

// failureAt does an operation while its call k fails. It returns false if there is no such call.
func (c *clientOfBadDisk) failureAt(operation string, f failure, k int) bool {
	c.attempts++
	c.doing = fmt.Sprintf("%s with %s at %s %d (%s)", operation, f.error, f.call, k, f.times)
	failed := 0
	fail := func() { c.files.do(fmt.Sprintf("fail %s %d %s %s", f.call, k, f.error, f.times), "failing") }
	heal := func() int {
		n, err := strconv.Atoi(c.files.do("heal", "healed"))
		must.NoError(c.t, err)
		failed += n
		return n
	}
	switch operation {
	case "restart":
		c.restartOnBadDisk(fail, heal)
	case "backup":
		fail()
		_, err := c.run(nil, "backup", "--store", storeName, "--replace", "backup.db")
		heal()
		c.compareBackup(err, failed)
	case "token":
		fail()
		out, err := c.run(nil, "token", "create", "--store", storeName, "--name", "of the script")
		heal()
		c.useToken(out, err, failed)
	default:
		c.requestOnBadDisk(operation, f, fail, heal)
	}
	c.failed[f.call] += failed
	c.wantSignal("/readyz", true)
	return failed > 0
}

// requestOnBadDisk sends a request while the disk fails, and then looks at what it has done.
func (c *clientOfBadDisk) requestOnBadDisk(operation string, f failure, fail func(), heal func() int) {
	if operation == "delete" && len(c.plants) < 20 {
		c.mustSend(c.next("create"))
	}
	if operation == "checkpoint" {
		c.fillLog()
	}
	r := c.next(operation)
	fail()
	status, body := c.send(r)
	if status == http.StatusServiceUnavailable && f.times == "all" {
		c.compareSignals(r)
	}
	if failed := heal(); status == http.StatusServiceUnavailable && failed == 0 {
		// An earlier failure is the reason. The service says when it works again.
		c.wantSignal("/writez", true)
		fail()
		status, body = c.send(r)
		if failed = heal(); status == http.StatusServiceUnavailable && failed == 0 {
			c.wrong("%s is 503 on a disk that works, and /writez is 200", r.method)
		}
	}
	c.wantSignal("/readyz", true) // from then on reads work
	for _, other := range c.pending {
		c.allOrNothing(other)
	}
	c.pending = nil
	switch status {
	case r.good:
		c.acknowledged(r)
		if r.method == "GET" && operation == "list" {
			c.compareList(body)
		}
	case http.StatusServiceUnavailable:
		c.allOrNothing(r)
	default:
		c.wrong("the response is %d %.300s, want %d or 503", status, body, r.good)
		c.allOrNothing(r)
	}
}

// signalTime is how long a signal may be wrong: a trial of a write runs each second.
const signalTime = 15 * time.Second

// wrong fails the test, which ends after a few failures.
func (c *clientOfBadDisk) wrong(format string, args ...any) {
	c.t.Helper()
	c.t.Errorf(c.doing+": "+format, args...)
	if c.failures++; c.failures == 5 {
		c.t.FailNow()
	}
}

// wantSignal waits until a page is good, or says why not.
func (c *clientOfBadDisk) wantSignal(path string, want bool) {
	var have bool
	var body string
	for end := time.Now().Add(signalTime); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if have, body = c.page(path); have == want {
			return
		}
	}
	c.wrong("for %v %s has said %q", signalTime, path, body)
	c.restart(syscall.SIGKILL)
}

// compareSignals compares the signals with the responses while the disk fails: if a request fails
// again, its signal fails, too.
func (c *clientOfBadDisk) compareSignals(r request) {
	path := "/writez"
	again := c.next("create")
	if r.method == "GET" {
		path, again = "/readyz", r
	}
	var good bool
	var body string
	for end := time.Now().Add(signalTime); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		status, _ := c.send(again)
		if status == again.good {
			c.acknowledged(again)
			return // the failing calls were those of something else
		}
		c.pending = append(c.pending, again)
		if good, body = c.page(path); !good {
			break
		}
	}
	if good {
		c.wrong("while %s fails %s says %q", again.method, path, body)
	}
}

// compareBackup compares a backup, whose command has ended with an error or not.
func (c *clientOfBadDisk) compareBackup(err error, failed int) {
	if err != nil && failed == 0 {
		c.wrong("backup fails on a disk that works: %v", err)
	}
	path := filepath.Join(c.below, "backup.db")
	if _, missing := os.Stat(path); missing != nil && err != nil {
		return // there was no backup before
	}
	if err := checkIntegrity(path); err != nil {
		c.wrong("the backup: %v", err)
	}
}

// useToken uses a token, whose command has ended with an error or not.
func (c *clientOfBadDisk) useToken(out string, err error, failed int) {
	if err != nil {
		if failed == 0 {
			c.wrong("token create fails on a disk that works: %v", err)
		}
		return
	}
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "pst_") {
			c.tokens = append(c.tokens, line)
			return
		}
	}
	c.wrong("token create prints %q", out)
}

// fillLog writes until the next write makes a checkpoint.
func (c *clientOfBadDisk) fillLog() {
	const almost = 990 // pages; a write has some pages
	for range 2000 {
		index, err := os.ReadFile(filepath.Join(c.folder, storeName+"-shm"))
		must.NoError(c.t, err)
		if binary.NativeEndian.Uint32(index[16:]) >= almost {
			return
		}
		c.mustSend(c.next("put"))
	}
	c.t.Fatal("the log has not become long")
}

// startService starts the service, and returns an error if it ends.
func (c *clientOfBadDisk) startService() error {
	service, err := c.serve()
	if err == nil {
		c.service = service
	}
	return err
}

// stop sends the service a signal, and waits for its end.
func (c *clientOfBadDisk) stop(signal syscall.Signal) error {
	_ = c.service.Cmd.Process.Signal(signal)
	return c.service.Wait()
}

// mustStart starts the service on a disk that works.
func (c *clientOfBadDisk) mustStart() {
	if err := c.startService(); err != nil {
		c.t.Fatalf("%s: then the service does not start: %v", c.doing, err)
	}
}

// restart restarts the service on a disk that works.
func (c *clientOfBadDisk) restart(signal syscall.Signal) {
	if err := c.stop(signal); err != nil && signal == syscall.SIGTERM {
		c.wrong("then the service ends with %v\n%s", err, &c.service.Stderr)
	}
	c.mustStart()
}

// restartOnBadDisk stops and starts the service while the disk fails. Of the stops every second is
// a kill. A service that does not start says why; on a disk that works it starts.
func (c *clientOfBadDisk) restartOnBadDisk(fail func(), heal func() int) {
	signal := syscall.SIGTERM
	if c.attempts%2 == 0 {
		signal = syscall.SIGKILL
	}
	fail()
	_ = c.stop(signal)
	err := c.startService()
	heal()
	if err != nil {
		if !strings.Contains(err.Error(), "plantstore: ") {
			c.wrong("the service ends without a message: %v", err)
		}
		c.mustStart()
	}
	c.wantSignal("/readyz", true)
	c.compareAll()
}

// useTokens uses every token whose creation was acknowledged.
func (c *clientOfBadDisk) useTokens() {
	for _, token := range c.tokens {
		status, _ := c.service.With(c.service.URL, token).Call(c.t, http.MethodGet, "/plants?limit=1", "")
		if status != http.StatusOK {
			c.wrong("an acknowledged token gets %d", status)
		}
	}
}

func (c *clientOfBadDisk) figures() {
	var failed []string
	for _, call := range slices.Sorted(maps.Keys(c.failed)) {
		failed = append(failed, fmt.Sprint(c.failed[call], " ", call))
	}
	c.t.Logf("figures: a bad disk: %d operations, of which calls failed: %s; %d plants, %d tokens",
		c.attempts, strings.Join(failed, ", "), len(c.plants), len(c.tokens))
}
