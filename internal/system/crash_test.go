package system_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// TestCrash kills the service at random moments with SIGKILL while clients write, and
// others follow its changes. Then the service must have exactly what was acknowledged,
// each follower the same, without having begun again, and the history of each plant what its writer
// has changed, and nothing else. PLANTSTORE_TEST_CRASH_ROUNDS is
// the number of kills. Package powercut looks at the files that a crash leaves at many
// moments.
//
// At the end the store is replaced by a backup, while the followers have seen what the
// backup lacks. All of them must begin again, and be equal again.
func TestCrash(t *testing.T) {
	rounds := must.Number(t, "PLANTSTORE_TEST_CRASH_ROUNDS", 0)
	if rounds == 0 {
		t.Skip("needs a minute: .ci/drill crash")
	}
	t.Parallel() // the other tests of the drill mostly wait, too
	m := &mortal{store: filepath.Join(t.TempDir(), "plants.db")}
	m.start(t)
	defer func() { m.kill() }()
	w := &writers{t: t, size: 2000, plants: map[int64]string{}, history: map[int64][]client.HistoryEntry{}}
	w.fill(m.client(t))

	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	crashes := &atomic.Bool{}
	crashes.Store(true)
	var followers []*follower
	for name, f := range map[string]*follower{
		"follows":         {},
		"resumes":         {most: 100},
		"begins again":    {most: 700, pause: 30 * time.Millisecond, again: crashes},
		"reads a stream":  {stream: true},
		"streams a while": {stream: true, most: 500},
	} {
		f.t, f.name = t, name
		f.begin()
		followers = append(followers, f)
		following.Go(func() { f.run(ctx, m) })
	}
	stopWriting := w.start(m)

	for range rounds {
		time.Sleep(rand.N(300 * time.Millisecond)) // at any moment
		m.kill()
		m.start(t)
	}
	stopWriting()
	crashes.Store(false)
	plants := listAll(t, m.r.URL, program.Token)
	names := map[int64]string{}
	for id, p := range plants {
		names[id] = p.Name
	}
	if !maps.Equal(names, w.plants) {
		t.Errorf("the service has %d plants, which are not the %d that were acknowledged", len(names), len(w.plants))
	}
	w.wantHistory(m.client(t), plants)
	for _, f := range followers {
		f.wantCopy(t, plants)
		f.wantGone(t, 0)
		t.Logf("%d kills: a client that %s got %d changes and began %d times", rounds, f.name, f.got, f.begun)
	}

	for n, how := range []string{"restored", "copied back by hand"} {
		backup := filepath.Join(t.TempDir(), "backup.db")
		program.Output(t, "backup", "--store", m.store, backup)
		c := m.client(t)
		for range 10 {
			w.write(c, 0)
		}
		plants := listAll(t, m.r.URL, program.Token)
		for _, f := range followers { // each has seen what will be gone
			f.wantCopy(t, plants)
		}
		m.kill()
		for _, file := range []string{m.store, m.store + "-wal", m.store + "-shm"} {
			if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		if how == "restored" {
			program.Output(t, "restore", "--store", m.store, backup)
		} else if err := os.Rename(backup, m.store); err != nil {
			t.Fatal(err)
		}
		m.launch(t)
		direct := m.r.Dial(t)
		for range 20 { // beyond the positions that are gone, before the followers connect
			w.write(direct, 0)
		}
		m.open()
		plants = listAll(t, m.r.URL, program.Token)
		for _, f := range followers {
			f.wantCopy(t, plants)
			f.wantGone(t, int64(n+1))
		}
	}
}

const crashURL = "http://plants.test"

// mortal is a service that is killed and started again. It has another address then,
// which its clients need not know.
type mortal struct {
	store string
	r     *program.Server
	addr  atomic.Pointer[string] // nil while it does not run
}

func (m *mortal) start(t *testing.T) {
	t.Helper()
	m.launch(t)
	m.open()
}

// launch is start, but the clients do not know the address until open is called.
func (m *mortal) launch(t *testing.T) {
	t.Helper()
	m.r = program.OneOf(t, m.store)
}

func (m *mortal) open() { m.addr.Store(new(strings.TrimPrefix(m.r.URL, "http://"))) }

func (m *mortal) kill() {
	m.addr.Store(nil) // another program may get the port
	m.r.Kill()
}

// httpClient returns a client with connections of its own.
func (m *mortal) httpClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			addr := m.addr.Load()
			if addr == nil {
				return nil, errors.New("the service does not run")
			}
			return new(net.Dialer).DialContext(ctx, network, *addr)
		},
	}}
}

// client returns a client that tries each request until the service responds.
func (m *mortal) client(t *testing.T) *client.Client {
	t.Helper()
	return m.clientWith(t, program.Token)
}

// named returns a client with a token of its own, which has a name.
func (m *mortal) named(t *testing.T, name string) *client.Client {
	t.Helper()
	return m.clientWith(t, strings.TrimSpace(program.Output(t, "token", "create", "--store", m.store, "--name", name)))
}

func (m *mortal) clientWith(t *testing.T, token string) *client.Client {
	t.Helper()
	c, err := client.New(crashURL, client.WithToken(token), client.WithHTTPClient(m.httpClient()),
		client.WithAttempts(1_000_000),
		client.WithBackoff(func(context.Context, int, error) time.Duration { return 5 * time.Millisecond }))
	must.NoError(t, err)
	return c
}
