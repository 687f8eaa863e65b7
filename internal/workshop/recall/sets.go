package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// set is a service with faults.
type set struct {
	name     string
	document string
	basePath string   // of the paths of the document
	header   string   // of every request of a tool, "Name: value"; none if it is empty
	command  []string // takes -list, or -port and -fault; a program in the folder of this run
}

const engine = "../../api/contracttest"

var sets = []set{
	{name: "workshop", document: engine + "/testdata/workshop.yaml", command: []string{"contracttest.test", "-test.run=^TestServeWorkshop$", "-test.timeout=0"}},
	{name: "helpdesk", document: engine + "/testdata/helpdesk.yaml", basePath: "/v1", command: []string{"contracttest.test", "-test.run=^TestServeHelpdesk$", "-test.timeout=0"}},
	{name: "marina", document: "recall/marina/openapi.yaml", header: "Authorization: Bearer 3f9a6c1e8b", command: []string{"marina"}},
	{name: "wiki", document: "recall/wiki/openapi.yaml", command: []string{"wiki"}},
}

// build builds what this run needs. It runs in internal/workshop.
func build(ctx context.Context, folder string) error {
	for _, arguments := range [][]string{
		{"build", "-o", folder, "./recall/marina", "./recall/wiki"},
		{"-C", "../..", "build", "-o", folder, "./cmd/contracttest"},
		{"-C", "../..", "test", "-c", "-tags", "recall", "-o", filepath.Join(folder, "contracttest.test"), "./api/contracttest"},
	} {
		if output, err := exec.CommandContext(ctx, "go", arguments...).CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w: %s", strings.Join(arguments, " "), err, output)
		}
	}
	return nil
}

// server is one server of a set.
type server struct {
	set
	group  string
	fault  string // empty: the right one
	breaks string
	run    int // of the right one, from 0
}

// runsOfRight is how often a tool runs on a right server, with another seed each time: what it finds there only
// sometimes is not found because of a fault.
const runsOfRight = 10

// allServers lists the right server of each set, as often as tools run on it, and those with faults.
func allServers(ctx context.Context, folder, only string) (all []server, err error) {
	for _, one := range sets {
		listed, err := one.program(ctx, folder, "-list").Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
		var wrong []server
		for line := range strings.Lines(string(listed)) {
			parts := strings.Split(strings.TrimSpace(line), "\t")
			if len(parts) == 3 && strings.Contains(one.name+": "+parts[1], only) {
				wrong = append(wrong, server{set: one, group: parts[0], fault: parts[1], breaks: parts[2]})
			}
		}
		for i := range runsOfRight {
			if len(wrong) > 0 {
				all = append(all, server{set: one, run: i})
			}
		}
		all = append(all, wrong...)
	}
	return all, nil
}

func (s set) program(ctx context.Context, folder string, arguments ...string) *exec.Cmd {
	arguments = append(s.command[1:len(s.command):len(s.command)], arguments...)
	program := exec.CommandContext(ctx, filepath.Join(folder, s.command[0]), arguments...)
	if strings.HasSuffix(s.command[0], ".test") {
		program.Dir = engine // as go test does
	}
	return program
}

func (s server) title() string {
	if s.fault == "" {
		return fmt.Sprintf("%s, right, run %d", s.name, s.run+1)
	}
	return s.name + ": " + s.fault
}

var notInFileName = regexp.MustCompile(`[^A-Za-z0-9]+`)

func (s server) fileName() string { return notInFileName.ReplaceAllString(s.title(), "-") }

// start starts the server on a free port.
func (s server) start(ctx context.Context, folder string) (stop func(), url string, err error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, "", err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	program := s.program(ctx, folder, "-port", strconv.Itoa(port), "-fault", s.fault)
	if err := program.Start(); err != nil {
		return nil, "", err
	}
	stop = func() {
		_ = program.Process.Kill() // it may have ended by its fault
		_ = program.Wait()
	}
	if err := waitFor(ctx, address); err != nil {
		stop()
		return nil, "", fmt.Errorf("%s: %w", s.title(), err)
	}
	return stop, "http://" + address + s.basePath, nil
}

func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// waitFor waits until a server accepts connections.
func waitFor(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		var dialer net.Dialer
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server does not listen: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
