package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"
)

// hostile is a way to misuse a service with connections alone.
type hostile struct {
	name        string
	connections int
	attack      func(c net.Conn, r *running) // until c is closed
}

var hostiles = []hostile{
	// One byte of a header now and then, and never the last one.
	{"slow-loris", 1000, func(c net.Conn, _ *running) {
		for _, b := range []byte("POST /plants HTTP/1.1\r\nHost: x\r\nX-Slow: " + strings.Repeat("x", 1<<20)) {
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
	}},
	// One request, and then nothing.
	{"idle keep-alive", 10_000, func(c net.Conn, r *running) {
		fmt.Fprintf(c, "GET /plants?limit=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", r.token)
		_, _ = io.Copy(io.Discard, c)
	}},
	// The largest response, requested every second and never read.
	{"never reads", 1000, func(c net.Conn, r *running) {
		_ = c.(*net.TCPConn).SetReadBuffer(4096)
		for err := error(nil); err == nil; time.Sleep(time.Second) {
			_, err = fmt.Fprintf(c, "GET /plants?limit=1000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", r.token)
		}
	}},
}

// BenchmarkHostile shows what hostile connections cost other clients: the 99th
// percentile of their response times and the memory of the program, before,
// during and after. Connections that the service cuts off are opened again.
func BenchmarkHostile(b *testing.B) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\nconnections\t\tresponses/s\tp50\tp99\tmax\tnot 200\tMiB before\tduring\tafter\tthat is\tcut off\t")
	for _, h := range hostiles {
		b.Run(strings.ReplaceAll(h.name, " ", "-"), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(0, "ns/op")
				tryHostile(b, table, h)
			}
		})
	}
	table.Flush()
}

const (
	// How long other clients send requests, before and during the misuse.
	observed = 15 * time.Second

	// How long the memory may take to return.
	settled = 3 * time.Minute
)

func tryHostile(b *testing.B, table io.Writer, h hostile) {
	r, err := launch(b.TempDir(), append(os.Environ(), "PLANTSTORE_TOKEN="), "--addr", "127.0.0.1:0", "--print-token")
	if err != nil {
		b.Fatal(err)
	}
	defer r.kill()
	name := strings.Repeat("x", 4<<10) // so that a page is 4 MiB
	for id := range 1000 {
		if status := r.create(http.DefaultClient, id, name); status != http.StatusOK {
			b.Fatalf("a create has the status %d", status)
		}
	}
	calm := r.observe(observed)
	before := r.memory()
	fmt.Fprintf(table, "none\t\t%s\t%d\t\t\t\t\t\n", calm, before>>20)

	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var cut atomic.Int64
	var wg sync.WaitGroup
	for range h.connections {
		wg.Go(func() {
			for ; ctx.Err() == nil; cut.Add(1) {
				c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
				if err != nil {
					time.Sleep(10 * time.Millisecond)
					continue
				}
				stop := context.AfterFunc(ctx, func() { c.Close() })
				h.attack(c, r)
				stop()
				c.Close()
				time.Sleep(time.Second)
			}
		})
	}
	arriving := r.observe(observed)
	staying := r.observe(observed)
	during := r.memory()
	cutOff := cut.Load()
	cancel()
	wg.Wait()

	ended := time.Now() // the others go on
	for r.memory() > before+before/4 && time.Since(ended) < settled {
		r.observe(time.Second)
	}
	fmt.Fprintf(table, "%s, arriving\t%d\t%s\t\t\t\t\t\t\n", h.name, h.connections, arriving)
	fmt.Fprintf(table, "%s, there\t%d\t%s\t%d\t%d\t%d\t%v\t%d\t\n", h.name, h.connections, staying,
		before>>20, during>>20, r.memory()>>20, time.Since(ended).Round(time.Second), cutOff)
}

// observation is what the other clients see.
type observation struct {
	perSecond     float64
	p50, p99, max time.Duration
	failed        int
}

func (o observation) String() string {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }
	return fmt.Sprintf("%.0f\t%s\t%s\t%s\t%d", o.perSecond, ms(o.p50), ms(o.p99), ms(o.max), o.failed)
}

// observe creates plants with 16 clients for a while.
func (r *running) observe(d time.Duration) (o observation) {
	const clients = 16
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	end := time.Now().Add(d)
	for i := range clients {
		wg.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				began := time.Now()
				status := r.create(client, -1-n*clients-i, "Ficus lyrata")
				mu.Lock()
				took = append(took, time.Since(began))
				if status != http.StatusOK {
					o.failed++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	o.perSecond = float64(len(took)) / d.Seconds()
	o.p50, o.p99, o.max = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	return o
}

// create creates a plant and returns the status of the response, or 0.
func (r *running) create(client *http.Client, id int, name string) int {
	req, _ := http.NewRequest(http.MethodPost, r.url+"/plants", strings.NewReader(fmt.Sprintf(`{"id":%d,"name":%q}`, id, name)))
	req.Header = http.Header{"Authorization": {"Bearer " + r.token}, "Content-Type": {"application/json"}}
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// memory returns how much memory the program uses, in bytes.
func (r *running) memory() int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}
