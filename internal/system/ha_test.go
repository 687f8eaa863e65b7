//go:build linux

package system_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// TestHA runs two servers on PostgreSQL under Patroni and breaks the cluster in seven
// ways, while clients write and read. It prints a table. No acknowledged write may
// be lost, none may have an effect twice, and the servers must recover without help.
func TestHA(t *testing.T) {
	only := os.Getenv("PLANTSTORE_TEST_HA") // a regular expression of the names of faults
	if only == "" {
		t.Skip("needs PostgreSQL under Patroni: .ci/drill test-ha")
	}
	c := newPatroni(t)
	l := startHALoad(t, c.urls())
	fmt.Println(haHeader)
	for _, fault := range []struct {
		name string
		// inflict returns when the fault is over, or is as bad as it gets. Then
		// both servers must accept writes before the cluster is repaired.
		inflict func()
	}{
		{"Patroni of the primary frozen", func() {
			frozen := c.primary()
			c.run("freeze-node", frozen)
			waitFor(t, "another node is the primary", func() bool { p := c.primary(); return p != "" && p != frozen })
			time.Sleep(10 * time.Second) // there are two servers that accept writes
			l.mustWrite()
			c.run("thaw-node", frozen)
		}},
		{"PostgreSQL of the primary killed", func() { c.run("kill-postgres", c.primary()) }},
		{"node of the primary killed", func() { c.run("kill-node", c.primary()) }},
		{"planned switchover", func() { c.run("switchover") }},
		{"leader of etcd killed", func() {
			c.run("kill-etcd")
			time.Sleep(5 * time.Second)
		}},
		{"primary cut off from etcd for 30 s", func() {
			reconnect := c.cut(c.primary())
			time.Sleep(30 * time.Second)
			reconnect()
		}},
		{"everything stopped and started", func() {
			c.run("down")
			c.run("up")
		}},
	} {
		if !regexp.MustCompile(only).MatchString(fault.name) {
			continue
		}
		l.begin()
		fault.inflict()
		l.mustWrite()
		c.run("up")
		l.mustWrite()
		fmt.Println(l.end(fault.name))
	}
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timeout waiting until %s", what)
		}
	}
}

// cluster is a cluster of database servers that a program in .ci runs.
type cluster struct {
	t       *testing.T
	program string
	folder  string
	port    int
	url     string
}

// newCluster returns a cluster without servers. The command up starts them.
func newCluster(t *testing.T, program string) *cluster {
	t.Helper()
	folder, err := os.MkdirTemp("", "plantstore-"+program+".") // user postgres cannot enter t.TempDir
	must.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs are in %s", folder)
		} else {
			os.RemoveAll(folder)
		}
	})
	port := 20_000 + 12*rand.N(900) // below the ports that Linux gives to clients
	return &cluster{t: t, program: program, folder: folder, port: port}
}

// up starts the servers.
func (c *cluster) up() {
	c.t.Helper()
	c.t.Cleanup(func() { c.run("down") })
	c.url = c.run("up", fmt.Sprint(c.port))
}

// patroni is a cluster that .ci/patroni runs.
type patroni struct {
	*cluster
	etcd [3]*valve // between Patroni of each node and etcd
}

func newPatroni(t *testing.T) *patroni {
	t.Helper()
	c := &patroni{cluster: newCluster(t, "patroni")}
	for node := range c.etcd {
		c.etcd[node] = &valve{}
		var addresses []string
		for i := range 3 {
			addresses = append(addresses, c.etcd[node].listen(t, fmt.Sprint("127.0.0.1:", c.port+6+i)))
		}
		t.Setenv(fmt.Sprint("ETCD_n", node), strings.Join(addresses, ","))
	}
	c.up()
	return c
}

// urls returns two URLs of the database. The host of the primary is the first in one
// and the last in the other, so that a server that goes by the order goes wrong.
func (c *patroni) urls() [2]string {
	c.t.Helper()
	u, err := url.Parse(c.url)
	must.NoError(c.t, err)
	hosts := strings.Split(u.Host, ",")
	first := c.primary()[1] - '0'
	hosts[0], hosts[first] = hosts[first], hosts[0]
	u.Host = strings.Join(hosts, ",")
	urls := [2]string{u.String()}
	slices.Reverse(hosts)
	u.Host = strings.Join(hosts, ",")
	urls[1] = u.String()
	return urls
}

// run runs the program and returns what it prints.
func (c *cluster) run(verb string, args ...string) string {
	c.t.Helper()
	cmd := exec.Command(filepath.Join("..", "..", ".ci", c.program), append([]string{verb, c.folder}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	late := time.AfterFunc(program.CommandTime, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf(".ci/%s %s %q: %v\n%s", c.program, verb, args, err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// primary returns the name of the node that is the primary.
func (c *patroni) primary() string {
	c.t.Helper()
	return c.run("leader")
}

// cut silences the connections of a node to etcd until the function that it returns
// is called.
func (c *patroni) cut(node string) (reconnect func()) {
	valve := c.etcd[node[1]-'0']
	valve.Lock()
	return valve.Unlock
}

// valve is a TCP proxy. While it is locked it accepts connections and forwards nothing, like
// a network that drops packets, which TCP sends again.
type valve struct{ sync.RWMutex }

// listen forwards connections to another address. It returns its own.
func (v *valve) listen(t *testing.T, to string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				continue
			}
			go v.copy(server, client)
			go v.copy(client, server)
		}
	}()
	return l.Addr().String()
}

func (v *valve) copy(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		v.RLock()
		_ = to.SetWriteDeadline(time.Now().Add(wait.Limit)) // or a peer that does not read would keep the valve open
		_, writeErr := to.Write(buffer[:n])
		v.RUnlock()
		if err != nil || writeErr != nil {
			return
		}
	}
}
