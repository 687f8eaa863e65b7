package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/group"
	"github.com/plantstore/plantstore/internal/token"
)

const (
	sideRounds = 5           // of which the median counts
	sideTime   = time.Second // of one side in one round
	manyPlants = 5_000_000

	// serveStores, if set, makes the test binary the server that
	// BenchmarkSideBySide sends requests to.
	serveStores = "PLANTSTORE_TEST_SERVE_STORES"
	sideToken   = "a-static-token-of-ours"
)

// BenchmarkSideBySide compares the store with itself without groups, and with
// bare SQLite. Both sides of a line run in turn, so that whatever else the
// machine does slows down both, and the medians of their ratios are printed with
// what they have to be. It takes some minutes and is meant for make bench-store.
func BenchmarkSideBySide(b *testing.B) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	line := func(what string, value, bound, aim string) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", what, value, bound, aim)
	}
	line("", "measured", "bound", "aim")
	atStore(b, line)
	overHTTP(b, line)
	withManyPlants(b, line)
	for b.Loop() { // all has been measured
	}
	fmt.Println()
	_ = table.Flush()
}

// measure is what one side has done in one round.
type measure struct {
	n      int
	wall   time.Duration
	cpu    time.Duration
	allocs float64
	p99    time.Duration
}

func (m measure) rate() float64 { return float64(m.n) / m.wall.Seconds() }
func (m measure) cpuEach() time.Duration {
	return m.cpu / time.Duration(max(m.n, 1))
}

// inTurn runs both sides in turn and returns the rounds of each.
func inTurn(b *testing.B, one, other func() measure) (ones, others []measure) {
	b.Helper()
	for range sideRounds {
		ones, others = append(ones, one()), append(others, other())
	}
	return ones, others
}

// ratio returns the median of the ratios of the rounds.
func ratio(ones, others []measure, of func(measure) float64) float64 {
	var ratios []float64
	for i := range ones {
		ratios = append(ratios, of(ones[i])/of(others[i]))
	}
	return middle(ratios)
}

func median(ms []measure, of func(measure) float64) float64 {
	var values []float64
	for _, m := range ms {
		values = append(values, of(m))
	}
	return middle(values)
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// clocked measures what fn does; fn returns how often it did it.
func clocked(fn func() int) measure {
	allocs, cpu, began := mallocs(), cpuTime(), time.Now()
	n := fn()
	m := measure{n: n, wall: time.Since(began), cpu: cpuTime() - cpu}
	m.allocs = float64(mallocs()-allocs) / float64(max(n, 1))
	return m
}

// sides opens two stores with nothing in them; the second has no groups.
func sides(b *testing.B) (grouped, single *Store) {
	b.Helper()
	grouped = openStore(b, filepath.Join(b.TempDir(), "grouped.db"))
	single = openStore(b, filepath.Join(b.TempDir(), "single.db"))
	single.writes = group.New(1, single.commit)
	return grouped, single
}

func numbered(id int64) plant.Plant {
	return plant.Plant{ID: id, Name: "Ficus lyrata", Tag: new("Moraceae")}
}

// creates has so many callers create plants with ever higher IDs.
func creates(b *testing.B, s *Store, callers int, last *atomic.Int64) measure {
	return clocked(func() int {
		var done atomic.Int64
		var all sync.WaitGroup
		began := time.Now()
		for range callers {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(b.Context(), time.Minute) // as a request has
				defer cancel()
				for time.Since(began) < sideTime {
					if err := s.Create(ctx, numbered(last.Add(1))); err != nil {
						b.Error(err)
						return
					}
					done.Add(1)
				}
			})
		}
		all.Wait()
		return int(done.Load())
	})
}

func atStore(b *testing.B, line func(_, _, _, _ string)) {
	grouped, single := sides(b)
	bare := openStore(b, filepath.Join(b.TempDir(), "bare.db"))
	conn := <-bare.writer
	defer func() { bare.writer <- conn }()
	var a, z, bareID atomic.Int64
	// insertBare inserts rows in transactions of some size, with the same
	// statement on the same kind of connection.
	insertBare := func(size int) measure {
		return clocked(func() (n int) {
			for began := time.Now(); time.Since(began) < sideTime; n += size {
				err := inTransaction(conn, func() error {
					for range size {
						if _, _, err := insertPlant(conn, numbered(bareID.Add(1))); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
				bare.log.bound(conn, &bare.reads)
			}
			return n
		})
	}
	g, s := inTurn(b, func() measure { return creates(b, grouped, 64, &a) }, func() measure { return creates(b, single, 64, &z) })
	line("store, 64 callers: creates/s over one transaction each",
		fmt.Sprintf("%.1fx (%.0f/s, %.1f allocs)", ratio(g, s, measure.rate), median(g, measure.rate), median(g, func(m measure) float64 { return m.allocs })), "15x", "25x")
	g, s = inTurn(b, func() measure { return creates(b, grouped, 1, &a) }, func() measure { return insertBare(1) })
	line("store, one caller: creates/s over a bare transaction each",
		fmt.Sprintf("%.2fx (%.0f/s)", ratio(g, s, measure.rate), median(g, measure.rate)), "0.95x", "1.0x")
	for size, bounds := range map[int][2]string{64: {"0.5x", "0.6x"}, 256: {"0.65x", "0.75x"}} {
		g, s = inTurn(b, func() measure { return creates(b, grouped, size, &a) }, func() measure { return insertBare(size) })
		line(fmt.Sprintf("store, %d callers: creates/s over bare transactions of %d", size, size),
			fmt.Sprintf("%.2fx (%.0f/s; CPU %.2f)", ratio(g, s, measure.rate), median(g, measure.rate),
				ratio(g, s, func(m measure) float64 { return float64(m.cpuEach()) })), bounds[0], bounds[1])
	}
}

func overHTTP(b *testing.B, line func(_, _, _, _ string)) {
	server := startServer(b, filepath.Join(b.TempDir(), "grouped.db"), filepath.Join(b.TempDir(), "single.db"))
	for _, c := range []struct {
		callers int
		bounds  [2]string
	}{{64, [2]string{"5x", "7x"}}, {256, [2]string{"8x", "9x"}}} {
		g, s := inTurn(b,
			func() measure { return server.creates(b, server.grouped, c.callers, sequence()) },
			func() measure { return server.creates(b, server.single, c.callers, sequence()) })
		line(fmt.Sprintf("HTTP, %d callers: creates/s over one transaction each", c.callers),
			fmt.Sprintf("%.1fx (%.0f/s, %.0f allocs)", ratio(g, s, measure.rate), median(g, measure.rate), median(g, func(m measure) float64 { return m.allocs })),
			c.bounds[0], c.bounds[1])
		line(fmt.Sprintf("HTTP, %d callers: CPU of the server per create, likewise", c.callers),
			fmt.Sprintf("%.2fx", ratio(g, s, func(m measure) float64 { return float64(m.cpuEach()) })), "0.3x", "0.23x")
		line(fmt.Sprintf("HTTP, %d callers: p99", c.callers),
			fmt.Sprintf("%.1f ms", median(g, func(m measure) float64 { return m.p99.Seconds() * 1e3 })), "", "20 ms")
	}
}

func withManyPlants(b *testing.B, line func(_, _, _, _ string)) {
	few := openStore(b, filepath.Join(b.TempDir(), "few.db"))
	manyPath := filepath.Join(b.TempDir(), "many.db")
	many := openStore(b, manyPath)
	insertMany(b, few, 1000)
	insertMany(b, many, manyPlants)
	gets := func(s *Store, plants int64) measure {
		return clocked(func() (n int) {
			for began := time.Now(); time.Since(began) < sideTime; n++ {
				if _, err := s.Get(b.Context(), rand.Int64N(plants)); err != nil {
					b.Fatal(err)
				}
			}
			return n
		})
	}
	for range 2 * readers { // until each connection has seen the pages of the file
		gets(many, manyPlants)
	}
	g, s := inTurn(b, func() measure { return gets(many, manyPlants) }, func() measure { return gets(few, 1000) })
	line("get at 5,000,000 plants over 1,000, CPU",
		fmt.Sprintf("%.2fx (%.1f µs)", ratio(g, s, func(m measure) float64 { return float64(m.cpuEach()) }), median(g, func(m measure) float64 { return m.cpuEach().Seconds() * 1e6 })), "1.25x", "1.15x")

	server := startServer(b, manyPath, filepath.Join(b.TempDir(), "single.db"))
	for range 3 {
		server.creates(b, server.grouped, 64, func() int64 { return manyPlants + rand.Int64N(1<<40) })
	}
	line("RssAnon under load with 5,000,000 plants", server.anonymous(b), "150 MiB", "80 MiB")
}

func insertMany(b *testing.B, s *Store, n int64) {
	for first := int64(0); first < n; first += 1000 {
		err := s.write(b.Context(), func(conn *sqlite.Conn) error {
			for id := first; id < min(first+1000, n); id++ {
				if _, _, err := insertPlant(conn, numbered(id)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// server is the test binary in another process, serving two stores: so what the
// callers cost is not counted.
type server struct {
	pid                    int
	grouped, single, usage string // addresses
}

func startServer(b *testing.B, grouped, single string) *server {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveStores+"="+grouped+"\n"+single)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s := &server{pid: cmd.Process.Pid}
	if _, err := fmt.Fscanln(pipe, &s.grouped, &s.single, &s.usage); err != nil {
		b.Fatal(err)
	}
	return s
}

// serveTwo serves two stores, the second without groups, and what the process
// has used so far, until it is killed.
func serveTwo(paths string) error {
	grouped, single, _ := strings.Cut(paths, "\n")
	var handlers []http.Handler
	for i, path := range []string{grouped, single} {
		s, err := Open(context.Background(), path)
		if err != nil {
			return err
		}
		if i == 1 {
			s.writes = group.New(1, s.commit)
		}
		tokens, err := token.NewVerifier(s, sideToken)
		if err != nil {
			return err
		}
		h, err := httpapi.New(httpapi.Options{Plants: s, Tokens: tokens, Log: slog.New(slog.DiscardHandler), MaxBody: 1 << 20})
		if err != nil {
			return err
		}
		handlers = append(handlers, h)
	}
	handlers = append(handlers, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, int64(cpuTime()), mallocs())
	}))
	failed := make(chan error)
	var addresses []any
	for _, h := range handlers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addresses = append(addresses, l.Addr())
		go func() { failed <- http.Serve(l, h) }()
	}
	fmt.Println(addresses...)
	return <-failed
}

// used returns the CPU time and the allocations of the server.
func (s *server) used(b *testing.B) (cpu time.Duration, mallocs uint64) {
	b.Helper()
	resp, err := http.Get("http://" + s.usage)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := fmt.Fscanln(resp.Body, &cpu, &mallocs); err != nil {
		b.Fatal(err)
	}
	return cpu, mallocs
}

// anonymous is the memory of the server that is no file's.
func (s *server) anonymous(b *testing.B) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		b.Log(err)
		return "not measured"
	}
	for text := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(text, "RssAnon:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(value)[0])
			return fmt.Sprintf("%d MiB", kib>>10)
		}
	}
	return "not measured"
}

var lastID atomic.Int64

func sequence() func() int64 { return func() int64 { return lastID.Add(1) } }

// creates has so many callers create plants over connections of their own. They
// do without a client library, which would cost more than the server.
func (s *server) creates(b *testing.B, address string, callers int, next func() int64) measure {
	cpu, allocs := s.used(b)
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	began := time.Now()
	for range callers {
		all.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			answers := bufio.NewReader(conn)
			var mine []time.Duration
			for time.Since(began) < sideTime {
				t := time.Now()
				if err := create(conn, answers, next()); err != nil {
					b.Error(err)
					return
				}
				mine = append(mine, time.Since(t))
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
		})
	}
	all.Wait()
	m := measure{n: len(took), wall: time.Since(began)}
	cpuAfter, allocsAfter := s.used(b)
	m.cpu, m.allocs = cpuAfter-cpu, float64(allocsAfter-allocs)/float64(max(m.n, 1))
	if slices.Sort(took); m.n > 0 {
		m.p99 = took[m.n*99/100]
	}
	return m
}

func create(conn io.Writer, answers *bufio.Reader, id int64) error {
	body := fmt.Appendf(nil, `{"id":%d,"name":"Ficus lyrata","tag":"Moraceae"}`, id)
	request := fmt.Appendf(nil, "POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", sideToken, len(body), body)
	if _, err := conn.Write(request); err != nil {
		return err
	}
	length := 0
	for first := true; ; first = false {
		line, err := answers.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
			return fmt.Errorf("answered %s", line)
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
		if len(line) <= 2 {
			_, err := answers.Discard(length)
			return err
		}
	}
}
