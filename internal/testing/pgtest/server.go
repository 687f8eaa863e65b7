//go:build unix

package pgtest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// DrillVariable is the environment variable that enables tests with [NewServer].
const DrillVariable = "PLANTSTORE_TEST_FAILOVER"

// Server is a PostgreSQL server on this machine that belongs to one test. It runs
// with fsync.
type Server struct {
	t      testing.TB
	bin    string
	folder string
	Port   int
}

// NewServer starts a new server with the given settings. It skips the test if
// DrillVariable is not set.
func NewServer(t testing.TB, settings ...string) *Server {
	t.Helper()
	s := newServer(t)
	s.run("initdb", "-D", s.data(), "-U", "plantstore", "-A", "trust", "-E", "UTF8", "--no-sync")
	s.configure(settings...)
	s.Start()
	return s
}

// NewStandby starts a new standby of s.
func (s *Server) NewStandby() *Server {
	s.t.Helper()
	standby := newServer(s.t)
	standby.Follow(s)
	return standby
}

// Follow starts a server that does not run as a new standby of a primary, without its old data.
func (s *Server) Follow(primary *Server) {
	s.t.Helper()
	if err := os.RemoveAll(s.data()); err != nil {
		s.t.Fatal(err)
	}
	s.run("pg_basebackup", "-D", s.data(), "-h", "127.0.0.1", "-p", fmt.Sprint(primary.Port), "-U", "plantstore",
		"--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	s.configure()
	s.Start()
}

func newServer(t testing.TB) *Server {
	t.Helper()
	if os.Getenv(DrillVariable) == "" {
		t.Skip("needs PostgreSQL servers of its own: .ci/drill test-failover")
	}
	s := &Server{t: t, bin: binaries(t), folder: Folder(t), Port: freePort(t)}
	t.Cleanup(s.Kill)
	return s
}

// Folder returns a new folder that the user of a [Server] can read and write. It is removed
// when the test ends.
func Folder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "plantstore-postgres.") // other users cannot read t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if c := credential(t); c != nil {
		if err := os.Chown(folder, int(c.Uid), int(c.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func (s *Server) data() string { return filepath.Join(s.folder, "data") }

// configure appends settings to postgresql.conf, where the last one of a name
// applies.
func (s *Server) configure(settings ...string) {
	s.t.Helper()
	settings = append(settings, fmt.Sprint("port = ", s.Port), "listen_addresses = '127.0.0.1'",
		"unix_socket_directories = ''", "logging_collector = off")
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintln(f, "\n"+strings.Join(settings, "\n"))
}

// URL returns the URL of the database on the one of the servers that is the primary.
func URL(servers ...*Server) string {
	var hosts []string
	for _, s := range servers {
		hosts = append(hosts, fmt.Sprint("127.0.0.1:", s.Port))
	}
	return "postgres://plantstore@" + strings.Join(hosts, ",") + "/postgres?target_session_attrs=read-write"
}

// Start starts the server and returns once it accepts connections.
func (s *Server) Start() {
	s.t.Helper()
	s.run("pg_ctl", "-D", s.data(), "-l", filepath.Join(s.folder, "log"), "-w", "start")
}

// Dump writes the database into a file in a [Folder].
func (s *Server) Dump(file string) {
	s.t.Helper()
	s.run("pg_dump", "-Fc", "-f", file, "-d", s.conninfo())
}

// Restore replaces the content of the database with that of a file of Dump, while it is used.
func (s *Server) Restore(file string) {
	s.t.Helper()
	s.run("pg_restore", "--clean", "--single-transaction", "-d", s.conninfo(), file)
}

// conninfo lets others be the victims of a deadlock, and not pg_restore.
func (s *Server) conninfo() string {
	return fmt.Sprint("host=127.0.0.1 user=plantstore dbname=postgres options='-c deadlock_timeout=1min' port=", s.Port)
}

// StopImmediately stops the server without a checkpoint, as a crash would.
func (s *Server) StopImmediately() {
	s.t.Helper()
	s.run("pg_ctl", "-D", s.data(), "-m", "immediate", "-w", "stop")
}

// Promote makes a standby the primary.
func (s *Server) Promote() {
	s.t.Helper()
	s.run("pg_ctl", "-D", s.data(), "-w", "promote")
}

// Kill ends every process of the server with SIGKILL.
func (s *Server) Kill() { s.signal(syscall.SIGKILL) }

// Freeze stops every process of the server with SIGSTOP: connections stay open, and
// nothing responds.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// signal sends a signal to every process of the server.
func (s *Server) signal(signal syscall.Signal) {
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return // not running
	}
	line, _, _ := strings.Cut(string(text), "\n")
	postmaster, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || !slices.Contains(strings.Split(commandLine(postmaster), "\x00"), s.data()) {
		return // another process with the same ID
	}
	pids := []int{postmaster}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, _ := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[1] == fmt.Sprint(postmaster) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal)
	}
}

func commandLine(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(text)
}

// programTime is how long a command of run may take.
const programTime = 2 * time.Minute

// run runs a program of PostgreSQL, as another user if this process is root.
func (s *Server) run(program string, args ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), programTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, program), args...)
	cmd.Dir = s.folder
	if c := credential(s.t); c != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c}
	}
	// A file, because the server inherits the output of pg_ctl: a pipe would never close.
	out, err := os.CreateTemp(s.t.TempDir(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
		s.t.Fatalf("%s %q: %v\n%s\n%s", program, args, cmp.Or(ctx.Err(), err), text, bytes.TrimSpace(log))
	}
}

// binaries returns the folder with the programs of PostgreSQL.
func binaries(t testing.TB) string {
	t.Helper()
	if all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(all) > 0 { // as on Debian
		return filepath.Dir(all[len(all)-1])
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		t.Fatal("PostgreSQL not found: install postgresql")
	}
	return filepath.Dir(path)
}

// credential returns the user that runs a server if this process is root, or nil:
// PostgreSQL does not run as root.
func credential(t testing.TB) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
