package system_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// TestLitestream loses the machine of a service that Litestream copies to a replica: a
// folder, then an S3 server. PLANTSTORE_TEST_LITESTREAM and PLANTSTORE_TEST_S3 are the
// programs; PLANTSTORE_TEST_LITESTREAM_ROUNDS is how often each.
func TestLitestream(t *testing.T) {
	needLitestream(t)
	rounds := must.Number(t, "PLANTSTORE_TEST_LITESTREAM_ROUNDS", 20)
	t.Run("folder", func(t *testing.T) { testMachineLost(t, "file://"+filepath.Join(t.TempDir(), "replica"), rounds) })
	t.Run("S3", func(t *testing.T) { testMachineLost(t, startS3(t), rounds) })
}

// TestLitestreamLoad measures writes with and without Litestream, and the length of the
// log, for PLANTSTORE_TEST_LITESTREAM_MINUTES.
func TestLitestreamLoad(t *testing.T) {
	needLitestream(t)
	const callers, period = 64, 30 * time.Second
	l := &litestream{dir: t.TempDir(), replica: startS3(t)}
	r := program.ServeIn(t, t.TempDir(), l.store())
	l.heartbeat = r.AdminURL + "/heartbeat"
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	var done [2]int64
	var longest [2]int64
	for n := range 2 * must.Number(t, "PLANTSTORE_TEST_LITESTREAM_MINUTES", 10) * int(time.Minute/period) {
		with := n % 2
		if with == 1 {
			l.start(t)
		}
		var writes atomic.Int64
		stop := wait.Repeat(callers, func(int) bool {
			resp, body, err := r.Send(web, http.MethodPut, fmt.Sprint("/plants/", rand.N(100_000)), `{"name":"Ficus lyrata"}`)
			if err != nil || resp.StatusCode >= 300 {
				t.Errorf("PUT = %v %s, %v", resp, body, err)
			}
			writes.Add(1)
			return !t.Failed()
		})
		for end := time.Now().Add(period); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			info, err := os.Stat(l.store() + "-wal")
			must.NoError(t, err)
			longest[with] = max(longest[with], info.Size())
		}
		stop()
		done[with] += writes.Load()
		if with == 1 {
			l.end(t, syscall.SIGTERM)
		}
	}
	t.Logf("figures: %d callers wrote %d times without and %d times with Litestream: %.2f; longest log %d and %d MB; %d snapshots that were not scheduled",
		callers, done[0], done[1], float64(done[1])/float64(done[0]), longest[0]/1e6, longest[1]/1e6, l.snapshots)
}

// TestLitestreamLarge measures the restore of a million plants, or of
// PLANTSTORE_TEST_LITESTREAM_PLANTS.
func TestLitestreamLarge(t *testing.T) {
	needLitestream(t)
	plants := int64(must.Number(t, "PLANTSTORE_TEST_LITESTREAM_PLANTS", 1_000_000))
	l := &litestream{dir: t.TempDir(), replica: startS3(t)}
	fillStore(t, l.store(), plants)
	l.run(t, "replicate", "-once", "-config", litestreamConfig)
	must.NoError(t, os.RemoveAll(l.dir))
	began := time.Now()
	l.restore(t)
	r := program.OneOf(t, l.store())
	t.Logf("figures: %d plants are served again %v after the restore began", plants, time.Since(began))
	r.Want(t, http.StatusOK, http.MethodGet, fmt.Sprint("/plants/", plants-1), "")
}

// TestLitestreamHeartbeat takes the storage away while a client writes. What the manual says
// of the metric must hold: at its time less a minute, the replica had every write.
func TestLitestreamHeartbeat(t *testing.T) {
	needLitestream(t)
	folder := filepath.Join(t.TempDir(), "replica")
	l := &litestream{dir: t.TempDir(), replica: "file://" + folder}
	r := program.ServeIn(t, t.TempDir(), l.store())
	l.heartbeat = r.AdminURL + "/heartbeat"
	heartbeat := func() time.Time {
		return time.Unix(int64(r.Metrics(t)["plantstore_litestream_heartbeat_timestamp_seconds"]), 0)
	}
	after := func(moment time.Time) {
		t.Helper()
		for end := time.Now().Add(3 * time.Minute); !heartbeat().After(moment); time.Sleep(time.Second) {
			if t.Failed() || time.Now().After(end) {
				t.Fatalf("there is no heartbeat after %v", moment)
			}
		}
	}
	l.start(t)
	c := r.Dial(t)
	id := int64(0)
	stop := wait.Repeat(1, func(int) bool {
		id++
		if err := c.Create(t.Context(), client.Plant{ID: id, Name: "Ficus lyrata"}); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Millisecond)
		return !t.Failed()
	})
	defer stop()
	after(time.Unix(0, 0))

	must.NoError(t, os.Rename(folder, folder+".away"))
	must.NoError(t, os.WriteFile(folder, nil, 0o600))
	gone := time.Now()
	time.Sleep(90 * time.Second)
	last := heartbeat()
	if last.Add(-time.Minute).After(gone) {
		t.Errorf("the storage is away since %v, and a heartbeat came at %v", gone, last)
	}
	time.Sleep(time.Minute)
	if again := heartbeat(); again != last {
		t.Errorf("a heartbeat came at %v without storage", again)
	}
	must.NoError(t, os.Remove(folder))
	must.NoError(t, os.Rename(folder+".away", folder))
	after(last)
	l.end(t, syscall.SIGTERM)
}

// litestreamConfig is the configuration that the manual installs.
const litestreamConfig = "../../cmd/plantstore/litestream.yml"

func needLitestream(t *testing.T) {
	t.Helper()
	if os.Getenv("PLANTSTORE_TEST_LITESTREAM") == "" {
		t.Skip("needs Litestream: .ci/drill test-litestream")
	}
}

// litestream is the sidecar of a service.
type litestream struct {
	dir       string // of the store
	replica   string // URL
	heartbeat string
	cmd       *exec.Cmd
	log       *os.File
	snapshots int // that a sync has made instead of copying what is new in the log
}

func (l *litestream) store() string { return filepath.Join(l.dir, "plants.db") }

func (l *litestream) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := program.Command(t, os.Getenv("PLANTSTORE_TEST_LITESTREAM"), args...)
	cmd.Env = []string{
		"HOME=" + t.TempDir(), "LITESTREAM_ACCESS_KEY_ID=test", "LITESTREAM_SECRET_ACCESS_KEY=test", "LOG_LEVEL=debug",
		"LITESTREAM_FILE=" + l.store(), "LITESTREAM_REPLICA_URL=" + l.replica, "LITESTREAM_HEARTBEAT_URL=" + l.heartbeat,
	}
	return cmd
}

// run runs a command of Litestream, which must succeed.
func (l *litestream) run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := l.command(t, args...).CombinedOutput(); err != nil {
		t.Fatalf("litestream %q: %v\n%.3000s", args, err, out)
	}
}

// start runs `litestream replicate` until end is called.
func (l *litestream) start(t *testing.T) {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), "litestream.")
	must.NoError(t, err)
	l.cmd, l.log = l.command(t, "replicate", "-config", litestreamConfig), log
	l.cmd.Stdout, l.cmd.Stderr = log, log
	must.NoError(t, l.cmd.Start())
	t.Cleanup(func() { _ = l.cmd.Process.Kill() })
}

// end ends Litestream, and counts the snapshots that it has made because it has lost its
// place in the log.
func (l *litestream) end(t *testing.T, signal syscall.Signal) {
	t.Helper()
	must.NoError(t, l.cmd.Process.Signal(signal))
	_ = l.cmd.Wait()
	_, err := l.log.Seek(0, 0)
	must.NoError(t, err)
	syncs := 0
	lines := bufio.NewScanner(l.log)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		if strings.Contains(lines.Text(), "msg=sync ") {
			syncs++
			if strings.Contains(lines.Text(), "snap=true") && syncs > 1 { // the first one is its start
				l.snapshots++
			}
		}
	}
	must.NoError(t, lines.Err())
	must.NoError(t, l.log.Close())
}

// restore does what the manual says.
func (l *litestream) restore(t *testing.T, flags ...string) {
	t.Helper()
	must.NoError(t, os.MkdirAll(l.dir, 0o700))
	replica := l.store() + ".replica"
	l.run(t, append(append([]string{"restore"}, flags...), "-o", replica, l.replica)...)
	program.Output(t, "restore", "--store", l.store(), replica)
	must.NoError(t, os.Remove(replica))
}

// startS3 starts an S3 server with a bucket, and returns the URL of a replica in it.
func startS3(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(os.Getenv("PLANTSTORE_TEST_S3"), "-H", "127.0.0.1", "-p", "0")
	stderr, err := cmd.StderrPipe()
	must.NoError(t, err)
	must.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if m := regexp.MustCompile(`Running on (http://127\S+)`).FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
	}()
	url := wait.For(t, "the address of the S3 server", address)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url+"/plants", nil)
	must.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	must.NoError(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the bucket is not created: %s", resp.Status)
	}
	return "s3://plants/store?region=us-east-1&forcePathStyle=true&endpoint=" + url
}

// testMachineLost kills a service and Litestream at random moments while clients write,
// and removes their files. What was acknowledged more than promise before must be in the
// store that is restored. A follower that has seen no more than this goes on; one that has
// begins again.
func testMachineLost(t *testing.T, replica string, rounds int) {
	const promise = 2 * time.Second
	l := &litestream{dir: filepath.Join(t.TempDir(), "machine"), replica: replica}
	must.NoError(t, os.Mkdir(l.dir, 0o700))
	m := &mortal{store: l.store()}
	created := &acknowledged{}
	create := func(c *client.Client) {
		id, began := created.next(), time.Now()
		if err := c.Create(t.Context(), client.Plant{ID: id, Name: fmt.Sprint(id)}); err == nil { // else the service was killed
			created.add(began, id)
		}
	}
	early, late := &follower{t: t, name: "has stopped early"}, &follower{t: t, name: "has seen everything"}
	early.begin()
	late.begin()
	follow := func(f *follower) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { f.run(ctx, m) })
		return func() { cancel(); following.Wait() }
	}
	m.start(t)
	defer func() { m.kill() }()
	var oldest time.Duration // of a lost write
	lost := 0
	for range rounds {
		l.heartbeat = m.r.URL // no admin listener here
		l.start(t)
		c := m.r.Dial(t, client.WithAttempts(1))
		stop := wait.Repeat(4, func(int) bool {
			create(c)
			time.Sleep(10 * time.Millisecond)
			return true
		})
		stopEarly, stopLate := follow(early), follow(late)
		time.Sleep(2 * time.Second)
		stopEarly()
		time.Sleep(promise + time.Second + rand.N(time.Second)) // at any moment
		l.end(t, syscall.SIGKILL)
		killed := time.Now()
		m.kill()
		stop()
		must.NoError(t, os.RemoveAll(l.dir))

		l.restore(t)
		m.launch(t)
		direct := m.r.Dial(t)
		for range 200 { // beyond the positions that are gone
			create(direct)
		}
		m.open()
		stopEarly = follow(early)
		plants := listAll(t, m.r.URL, program.Token)
		early.wantCopy(t, plants)
		late.wantCopy(t, plants)
		early.wantGone(t, 0)
		stopEarly()
		stopLate()
		for id, began := range created.began {
			if _, ok := plants[id]; ok {
				continue
			}
			lost++
			oldest = max(oldest, killed.Sub(began))
			delete(created.began, id)
		}
		if oldest > promise {
			t.Fatalf("a plant is missing that was created %v before the loss", oldest)
		}
	}
	t.Logf("figures: %d losses of the machine: %d of %d plants were lost, created up to %v before; a follower began again %d times, another one never",
		rounds, lost, created.count()+lost, oldest, late.gone.Load())

	// To a moment: what came after it is not there.
	l.start(t)
	c := m.r.Dial(t)
	create(c)
	before := created.last.Load()
	time.Sleep(promise)
	moment := time.Now().UTC().Format(time.RFC3339Nano)
	time.Sleep(time.Second)
	create(c)
	time.Sleep(promise)
	l.end(t, syscall.SIGTERM)
	m.kill()
	must.NoError(t, os.RemoveAll(l.dir))
	l.restore(t, "-timestamp", moment)
	m.start(t)
	m.r.Want(t, http.StatusOK, http.MethodGet, fmt.Sprint("/plants/", before), "")
	m.r.Want(t, http.StatusNotFound, http.MethodGet, fmt.Sprint("/plants/", before+1), "")

	// What Litestream alone has put in place is not served.
	m.kill()
	must.NoError(t, os.RemoveAll(l.dir))
	l.run(t, "restore", "-o", l.store(), l.replica)
	r, err := program.Launch(l.dir, nil, "--addr", "127.0.0.1:0", "--store", l.store())
	if err == nil {
		r.Kill()
	}
	if err == nil || !strings.Contains(err.Error(), "run plantstore restore") {
		t.Errorf("serve = %v, want that the file must be restored", err)
	}
}
