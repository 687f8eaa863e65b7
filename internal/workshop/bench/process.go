package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plantstore/plantstore/internal/workshop/bench/peer"
)

// twoCores picks a core for the server and one for the load.
func twoCores() (cores [2]int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return cores, err
	}
	if set.Count() < 2 {
		return cores, errors.New("two cores are needed, one for the server and one for the load")
	}
	found := 0
	for core := 0; found < 2; core++ {
		if set.IsSet(core) {
			cores[found] = core
			found++
		}
	}
	return cores, nil
}

// pinned returns a command that runs on one core, so that Go sets GOMAXPROCS to 1.
// The kernel ends it when this program ends.
func pinned(ctx context.Context, core int, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "taskset", append([]string{"-c", strconv.Itoa(core), name}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// server is a peer that listens.
type server struct {
	cmd        *exec.Cmd
	url, token string
	admin      string // the URL of the admin listener, if there is one
}

var announcement = regexp.MustCompile(`^(?:plantstore )?(admin )?listens on (http://\S+)(?: with the token (\S+))?$`)

// durableServer returns the command of plantstore serve with a new file.
func durableServer(ctx context.Context, core int, program, file string) *exec.Cmd {
	cmd := pinned(ctx, core, program, "serve")
	cmd.Env = append(os.Environ(),
		"PLANTSTORE_ADDR=127.0.0.1:0", "PLANTSTORE_ADMIN_ADDR=127.0.0.1:0",
		"PLANTSTORE_STORE="+file, "PLANTSTORE_TOKEN="+peer.Token)
	return cmd
}

// start starts a server and waits until it prints its address.
func start(cmd *exec.Cmd) (*server, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, token: peer.Token}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		switch found := announcement.FindStringSubmatch(lines.Text()); {
		case found == nil:
		case found[1] != "":
			s.admin = found[2]
		default:
			s.url, s.token = found[2], cmp.Or(found[3], s.token)
			go func() { _, _ = io.Copy(io.Discard, stdout) }()
			return s, nil
		}
	}
	s.stop()
	return nil, fmt.Errorf("ended without listening\n%s", stderr.Bytes())
}

// stop kills the server; its data is not needed any more.
func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// cost is what a server has used since its start.
type cost struct {
	cpu      time.Duration // user and system
	resident int64         // bytes
}

// cost reads /proc (proc(5)), which includes threads that have ended.
func (s *server) cost() (c cost, err error) {
	folder := "/proc/" + strconv.Itoa(s.cmd.Process.Pid)
	stat, err := os.ReadFile(folder + "/stat")
	if err != nil {
		return c, err
	}
	// The second field, the name in brackets, may contain spaces.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const utime, stime, rss = 14 - 3, 15 - 3, 24 - 3 // the numbers in proc(5), less those before
	for _, field := range []int{utime, stime} {
		ticks, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return c, err
		}
		c.cpu += time.Duration(ticks) * time.Second / 100 // USER_HZ, the same on every Linux
	}
	pages, err := strconv.ParseInt(fields[rss], 10, 64)
	c.resident = pages * int64(os.Getpagesize())
	return c, err
}
