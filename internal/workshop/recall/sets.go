package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// set is a service with faults.
type set struct {
	name     string
	document string // in the folder of this run, if it has no folder
	basePath string // of the paths of the document
	header   string // of every request of a tool, "Name: value"; none if it is empty

	command   []string // takes -list, or -port and -fault; a program in the folder of this run, or python3
	needs     []string // arguments with which the program builds what it serves; none if it is empty
	faultList string   // the file with the faults, of a set whose faults were there before any tool ran on them
	frozenAt  string   // the commit that last changed this file
}

// isFrozen says that the engine was not changed to find these faults: they were there before it was run on them.
func (s set) isFrozen() bool { return s.faultList != "" }

const (
	engine      = "../../api/contracttest"
	mutantsList = "recall/mutants/mutants.tsv"
)

var sets = []set{
	mutants("todolist", "todolist.yml", ""),
	mutants("keytodolist", "keytodolist.yml", "x-todolist-token: example token"),
	mutants("mailpit", "mailpit.json", ""),
	{name: "festival", document: "recall/festival/openapi.yaml", command: []string{"python3", "-B", "recall/festival/festival.py"}, faultList: "recall/festival/faults.py"},

	{name: "workshop", document: engine + "/testdata/workshop.yaml", command: []string{"contracttest.test", "-test.run=^TestServeWorkshop$", "-test.timeout=0"}},
	{name: "helpdesk", document: engine + "/testdata/helpdesk.yaml", basePath: "/v1", command: []string{"contracttest.test", "-test.run=^TestServeHelpdesk$", "-test.timeout=0"}},
	{name: "marina", document: "recall/marina/openapi.yaml", header: "Authorization: Bearer 3f9a6c1e8b", command: []string{"marina"}},
	{name: "wiki", document: "recall/wiki/openapi.yaml", command: []string{"wiki"}},
}

func mutants(name, document, header string) set {
	return set{
		name: name, document: document, header: header,
		command: []string{"mutants", "-service", name}, needs: []string{"-build"}, faultList: mutantsList,
	}
}

// build builds what this run needs, but for mutants. It runs in internal/workshop.
func build(ctx context.Context, folder string) error {
	for _, arguments := range [][]string{
		{"build", "-o", folder, "./recall/marina", "./recall/wiki", "./recall/mutants"},
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
	seed   int // of the tool, from 1
}

// allServers lists the right server of each set, as often as tools run on it, and those with faults, once for each seed.
func allServers(ctx context.Context, folder string, chosen settings) (all []server, err error) {
	withFault, err := faultsOf(ctx, folder, chosen)
	if err != nil {
		return nil, err
	}
	for _, one := range sets {
		wrong := slices.DeleteFunc(slices.Clone(withFault), func(other server) bool { return other.name != one.name })
		if len(wrong) == 0 {
			continue
		}
		if len(one.needs) > 0 {
			if output, err := one.program(ctx, folder, one.needs...).CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%s: %w: %s", one.name, err, output)
			}
		}
		for seed := range chosen.rights {
			all = append(all, server{set: one, seed: seed + 1})
		}
		for seed := range chosen.seeds {
			for _, made := range wrong {
				made.seed = seed + 1
				all = append(all, made)
			}
		}
	}
	return all, nil
}

// faultsOf lists the servers with a fault that are chosen.
func faultsOf(ctx context.Context, folder string, chosen settings) (all []server, err error) {
	for _, one := range sets {
		one.frozenAt = one.lastChange(ctx)
		listed, err := one.program(ctx, folder, "-list").Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
		for line := range strings.Lines(string(listed)) {
			parts := strings.Split(strings.TrimSpace(line), "\t")
			if len(parts) != 3 {
				continue
			}
			made := server{set: one, group: parts[0], fault: parts[1], breaks: parts[2]}
			if chosen.has(made) {
				all = append(all, made)
			}
		}
	}
	if chosen.sample > 0 {
		all = drawn(all, chosen.sample)
	}
	return all, nil
}

// drawn are so many of the frozen faults, drawn at random: always the same ones.
func drawn(all []server, count int) []server {
	frozen := slices.DeleteFunc(slices.Clone(all), func(one server) bool { return !one.isFrozen() })
	random := rand.New(rand.NewPCG(1, 0))
	random.Shuffle(len(frozen), func(i, j int) { frozen[i], frozen[j] = frozen[j], frozen[i] })
	return frozen[:min(count, len(frozen))]
}

// has says that a fault is among those that are chosen.
func (chosen settings) has(one server) bool {
	name := one.name + ": " + one.fault
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name)) // it never fails
	return strings.Contains(name, chosen.only) && float64(hash.Sum32()%1000) < 1000*chosen.share
}

// documentFile is the file of the document.
func (s set) documentFile(folder string) string {
	if strings.Contains(s.document, "/") {
		return s.document
	}
	return filepath.Join(folder, s.document)
}

func (s set) program(ctx context.Context, folder string, arguments ...string) *exec.Cmd {
	arguments = append(s.command[1:len(s.command):len(s.command)], arguments...)
	name := filepath.Join(folder, s.command[0])
	if s.command[0] == "python3" {
		name = "python3"
	}
	program := exec.CommandContext(ctx, name, arguments...)
	if strings.HasSuffix(s.command[0], ".test") {
		program.Dir = engine // as go test does
	}
	return program
}

// lastChange is the commit that last changed the faults of a frozen set.
func (s set) lastChange(ctx context.Context) string {
	if !s.isFrozen() {
		return ""
	}
	commit, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%h", "--", s.faultList).Output()
	if err != nil || len(commit) == 0 {
		return "an unknown commit"
	}
	return strings.TrimSpace(string(commit))
}

func (s server) title() string {
	if s.fault == "" {
		return fmt.Sprintf("%s, right, seed %d", s.name, s.seed)
	}
	return fmt.Sprintf("%s: %s, seed %d", s.name, s.fault, s.seed)
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
