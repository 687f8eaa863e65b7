package system_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// The streams of BenchmarkStreams, and the plants that are created in a second.
const (
	benchStreams    = 1000
	createsASecond  = 5000
	plantsInRequest = 50
)

// BenchmarkStreams creates plants at a fixed rate while a thousand clients stream the
// changes. It shows how long a change takes from the request of its create to a
// client, and the memory of the program for each stream. Every tenth stream reads the
// times; the others only count. The clients use the same processors.
func BenchmarkStreams(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(0, "ns/op")
		tryStreams(b)
	}
}

func tryStreams(b *testing.B) {
	streams := must.Number(b, "PLANTSTORE_TEST_BENCH_STREAMS", benchStreams)
	r := program.Serve(b, "plantstore.db", "--max-streams", fmt.Sprint(2*streams)) // one token may have half of them
	rate := must.Number(b, "PLANTSTORE_TEST_BENCH_CREATES", createsASecond)
	before, present := r.Memory("VmRSS"), present(b, r)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var delivered atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{}}
	open := make(chan struct{}, streams)
	for i := range streams {
		wg.Go(func() {
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+"/changes:stream?after="+present, nil)
			req.Header.Set("Authorization", "Bearer "+r.Token)
			resp, err := client.Do(req)
			if err != nil || resp.StatusCode != http.StatusOK {
				b.Errorf("a stream is %v, %v", resp, err)
				return
			}
			defer resp.Body.Close()
			open <- struct{}{}
			if i%10 != 0 {
				_, _ = io.Copy(&eventCounter{events: &delivered}, resp.Body)
				return
			}
			in := bufio.NewReaderSize(resp.Body, 64<<10)
			for {
				line, err := in.ReadSlice('\n')
				if err != nil {
					return
				}
				if line[0] != 'd' { // data
					continue
				}
				delivered.Add(1)
				if _, sent, ok := bytes.Cut(line, []byte(`"name":"at `)); ok {
					text, _, _ := bytes.Cut(sent, []byte(`"`))
					at, _ := strconv.ParseInt(string(text), 10, 64)
					mu.Lock()
					took = append(took, time.Since(time.Unix(0, at)))
					mu.Unlock()
				}
			}
		})
	}
	for range streams {
		select {
		case <-open:
		case <-time.After(wait.Limit):
			b.Fatal("not all streams are open after a minute")
		}
	}
	during := r.Memory("VmRSS")

	const length = 10 * time.Second
	var created, id atomic.Int64
	id.Store(1_000_000_000)
	began, sent := time.Now(), delivered.Load()
	tick := time.NewTicker(time.Second * plantsInRequest / time.Duration(rate))
	defer tick.Stop()
	var creating sync.WaitGroup
	for range 8 { // or a slow response would hold back the next request
		creating.Go(func() {
			for time.Since(began) < length {
				<-tick.C
				var plants []string
				for last := id.Add(plantsInRequest); len(plants) < plantsInRequest; last-- {
					plants = append(plants, fmt.Sprintf(`{"id":%d,"name":"at %d"}`, last, time.Now().UnixNano()))
				}
				body := `{"plants":[` + strings.Join(plants, ",") + `]}`
				if resp, _, err := r.Send(client, http.MethodPost, "/plants:batch", body); err == nil &&
					resp.StatusCode == http.StatusOK {
					created.Add(plantsInRequest)
				}
			}
		})
	}
	creating.Wait()
	seconds := time.Since(began).Seconds()
	fanned := float64(delivered.Load()-sent) / seconds
	busy := r.Memory("VmRSS")
	cancel()
	wg.Wait()
	slices.Sort(took)
	if len(took) == 0 {
		b.Fatal("no change was delivered")
	}
	fmt.Printf("\n%d streams, %.0f creates/s, %.0f events/s delivered; from the request of a create to a client: p50 %v, p99 %v\n",
		streams, float64(created.Load())/seconds, fanned, took[len(took)/2], took[len(took)*99/100])
	fmt.Printf("memory: %d MiB without streams, %d MiB with idle ones (%d KiB each), %d MiB with busy ones\n",
		before>>20, during>>20, (during-before)>>10/int64(streams), busy>>20)
}

// eventCounter counts the events of a stream. An event has three lines, and the comment
// of an idle stream, one in 15 seconds, has two.
type eventCounter struct {
	events *atomic.Int64
	lines  int // of an event that is not complete
}

func (c *eventCounter) Write(text []byte) (int, error) {
	c.lines += bytes.Count(text, []byte("\n"))
	c.events.Add(int64(c.lines / 3))
	c.lines %= 3
	return len(text), nil
}

// present returns the position after the last change. A thousand streams that began
// with all plants would only show how long so many walks take.
func present(t testing.TB, r *program.Server) string {
	t.Helper()
	position, err := r.Dial(t).Now(t.Context())
	must.NoError(t, err)
	return string(position)
}
