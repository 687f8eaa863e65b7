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
// client, and the memory of the program for each stream. Every tenth stream counts the
// changes and reads their times; the others have as many. The clients use the same processors.
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
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{}}
	open := make(chan struct{}, streams)
	for i := range streams {
		wg.Go(func() {
			req, _ := r.NewRequest(http.MethodGet, "/changes:stream?after="+present, "")
			resp, err := client.Do(req.WithContext(ctx))
			if err != nil || resp.StatusCode != http.StatusOK {
				b.Errorf("a stream is %v, %v", resp, err)
				return
			}
			defer resp.Body.Close()
			open <- struct{}{}
			if i%10 != 0 {
				_, _ = io.Copy(io.Discard, resp.Body)
			}
			for lines := bufio.NewScanner(resp.Body); i%10 == 0 && lines.Scan(); {
				if _, sent, ok := bytes.Cut(lines.Bytes(), []byte(`"name":"at `)); ok {
					text, _, _ := bytes.Cut(sent, []byte(`"`))
					at, _ := strconv.ParseInt(string(text), 10, 64)
					mu.Lock()
					took = append(took, time.Since(time.Unix(0, at)))
					mu.Unlock()
				}
			}
			if ctx.Err() == nil {
				b.Error("a stream has ended")
			}
		})
	}
	for range streams {
		wait.For(b, "a stream to begin", open)
	}
	during := r.Memory("VmRSS")

	var created, id atomic.Int64
	began := time.Now()
	tick := time.NewTicker(time.Second * plantsInRequest / time.Duration(rate))
	defer tick.Stop()
	stop := wait.Repeat(8, func(int) bool { // or a slow response would hold back the next request
		<-tick.C
		body := batchOf(id.Add(plantsInRequest), plantsInRequest, fmt.Sprint("at ", time.Now().UnixNano()))
		resp, _, err := r.Send(client, http.MethodPost, "/plants:batch", body)
		if err == nil && resp.StatusCode == http.StatusOK {
			created.Add(plantsInRequest)
		}
		return true
	})
	time.Sleep(10 * time.Second)
	stop()
	seconds := time.Since(began).Seconds()
	mu.Lock()
	delivered := 10 * len(took)
	mu.Unlock()
	busy := r.Memory("VmRSS")
	cancel()
	wg.Wait()
	slices.Sort(took)
	if len(took) == 0 {
		b.Fatal("no change was delivered")
	}
	fmt.Printf("\n%d streams, %.0f creates/s, %.0f events/s delivered; from the request of a create to a client: p50 %v, p99 %v\n",
		streams, float64(created.Load())/seconds, float64(delivered)/seconds, took[len(took)/2], took[len(took)*99/100])
	fmt.Printf("memory: %d MiB without streams, %d MiB with idle ones (%d KiB each), %d MiB with busy ones\n",
		before>>20, during>>20, (during-before)>>10/int64(streams), busy>>20)
}

// present returns the position after the last change. A thousand streams that began
// with all plants would only show how long so many walks take.
func present(t testing.TB, r *program.Server) string {
	t.Helper()
	position, err := r.Dial(t).Now(t.Context())
	must.NoError(t, err)
	return string(position)
}
