package system_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// clock is the wall clock of one process of the unmodified program. It can jump, as that of the
// machine does after `date -s`; the monotonic clock goes on, as it does then.
//
// A Go program asks the function clock_gettime for the time, which the kernel maps into each
// process (the vDSO). In the process with a clock, another function is there, which adds a number
// of seconds. So neither the machine nor other processes have another time. Programs such as
// libfaketime replace the function of the C library, which a Go program does not call.
type clock struct {
	t      *testing.T
	memory *os.File
	offset int64 // where the number of seconds is
}

// clockCode is clockGettime(id EDI, *timespec RSI) for amd64, with a number of seconds at
// clockOffset.
var clockCode = []byte{
	0xb8, 228, 0, 0, 0, // MOV EAX, clock_gettime
	0x0f, 0x05, // SYSCALL
	0x85, 0xff, // TEST EDI, EDI: CLOCK_REALTIME is 0
	0x75, 0x09, // JNE to the RET
	0x90, 0x90, // NOP: the number is aligned, so that it changes in one step
	0x48, 0x81, 0x06, 0, 0, 0, 0, // ADD QWORD PTR [RSI], 0
	0xc3, // RET
}

const clockOffset = 16

// newClock returns the clock of a process. It returns nil if this machine is not one that a test
// knows the instructions of.
func newClock(t *testing.T, pid int) *clock {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Logf("figures: the clock of a process does not jump on %s", runtime.GOARCH)
		return nil
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	must.NoError(t, err)
	m := regexp.MustCompile(`(?m)^(\w+)-(\w+) .*\[vdso\]$`).FindSubmatch(maps)
	if m == nil {
		t.Fatalf("the process has no vDSO:\n%s", maps)
	}
	begin, err := strconv.ParseInt(string(m[1]), 16, 64)
	must.NoError(t, err)
	end, err := strconv.ParseInt(string(m[2]), 16, 64)
	must.NoError(t, err)
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	must.NoError(t, err)
	t.Cleanup(func() { memory.Close() })
	image := make([]byte, end-begin)
	_, err = memory.ReadAt(image, begin)
	must.NoError(t, err)
	at := begin + clockFunction(t, image)

	stopOutside(t, pid, begin, end)
	_, err = memory.WriteAt(clockCode, at)
	must.NoError(t, err)
	must.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	return &clock{t: t, memory: memory, offset: at + clockOffset}
}

// clockFunction returns where the function is in the vDSO.
func clockFunction(t *testing.T, image []byte) int64 {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(image))
	must.NoError(t, err)
	symbols, err := file.DynamicSymbols()
	must.NoError(t, err)
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" && s.Size >= uint64(len(clockCode)) && s.Value%4 == 0 {
			return int64(s.Value)
		}
	}
	t.Fatal("the vDSO has no clock_gettime that is long enough")
	return 0
}

// stopOutside stops a process at a moment when no thread of it is in the vDSO.
func stopOutside(t *testing.T, pid int, begin, end int64) {
	t.Helper()
	wait.Until(t, "no thread is in the vDSO", func() bool {
		must.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		if areOutside(pid, begin, end) {
			return true
		}
		must.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
		return false
	})
}

func areOutside(pid int, begin, end int64) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		fields := strings.Fields(string(text))
		if err != nil || len(fields) < 3 { // it is not stopped yet
			return false
		}
		counter, err := strconv.ParseInt(strings.TrimPrefix(fields[len(fields)-1], "0x"), 16, 64)
		if err != nil || begin <= counter && counter < end {
			return false
		}
	}
	return len(threads) > 0
}

// set lets the clock be ahead of that of the machine.
func (c *clock) set(ahead time.Duration) {
	c.t.Helper()
	if c == nil {
		return
	}
	var seconds [4]byte
	binary.LittleEndian.PutUint32(seconds[:], uint32(int32(ahead/time.Second)))
	_, err := c.memory.WriteAt(seconds[:], c.offset)
	must.NoError(c.t, err)
}

// The clock of a process jumps, and that of another one does not.
func TestClock(t *testing.T) {
	t.Parallel()
	r, other := program.Serve(t, ":memory:"), program.Serve(t, ":memory:")
	clock := newClock(t, r.Cmd.Process.Pid)
	if clock == nil {
		return // a log line says so
	}
	ahead := func(of *program.Server) time.Duration {
		_, header := of.Call(t, "GET", "/plants", "")
		date, err := time.Parse(time.RFC1123, header.Get("Date"))
		must.NoError(t, err)
		return time.Until(date).Round(10 * time.Minute)
	}
	for _, want := range []time.Duration{0, time.Hour, -time.Hour, 0} {
		clock.set(want)
		if have := ahead(r); have != want {
			t.Errorf("the clock is ahead by %v, want %v", have, want)
		}
		if have := ahead(other); have != 0 {
			t.Errorf("the clock of another process is ahead by %v", have)
		}
	}
}
