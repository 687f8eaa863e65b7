//go:build unix

package pgtest

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Pooler starts a pgbouncer with transaction pooling in front of the schema with a
// URL from [DSN], and returns the URL of the schema through it. All of its clients
// share as many connections as pool says.
func Pooler(t testing.TB, dsn string, pool int) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // often not in PATH
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatal("pgbouncer not found: install it")
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "plantstore-pgbouncer.") // other users cannot read t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	port := freePort(t)
	password := ""
	if config.Password != "" { // pgbouncer rejects an empty one
		password = fmt.Sprintf("password='%s' ", config.Password)
	}
	text := fmt.Sprintf("[databases]\n%s = host='%s' port=%d user='%s' %sconnect_query='SET search_path TO %s'\n"+
		"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"+
		"default_pool_size = %d\n"+
		"ignore_startup_parameters = statement_timeout\n",
		config.Database, config.Host, config.Port, config.User, password, config.RuntimeParams["search_path"], port, pool)
	file := filepath.Join(folder, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, file)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if c := credential(t); c != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c}
		for _, path := range []string{folder, file} {
			if err := os.Chown(path, int(c.Uid), int(c.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("log of pgbouncer:\n%s", &log)
		}
	})
	address := fmt.Sprint("127.0.0.1:", port)
	wait.Until(t, "pgbouncer accepts connections", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	u := url.URL{Scheme: "postgres", User: url.User(config.User), Host: address, Path: config.Database}
	u.RawQuery = url.Values{
		"sslmode": {"disable"}, "statement_timeout": {fmt.Sprint(wait.Limit.Milliseconds())},
		"connect_timeout": {fmt.Sprint(wait.Limit.Seconds())},
	}.Encode()
	return u.String()
}
