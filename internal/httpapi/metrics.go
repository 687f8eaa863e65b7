package httpapi

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/metrics"
)

// durationBuckets are in seconds: a read takes tenths of a millisecond, a
// durable write as long as the disk does, and after ten seconds nobody waits.
var durationBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// noOperation is the label of requests that reached none: unknown paths and
// methods, and OPTIONS. Whatever a client sends, it makes no label of its own.
const noOperation = "none"

// hungUp is the status of a request whose caller did not wait for the answer.
// The number is that of nginx; nobody ever receives it.
const hungUp = 499

// counts is what there is to know of all requests.
type counts struct {
	inFlight  atomic.Int64
	failures  map[plantapi.ErrorCode]*atomic.Uint64
	durations map[*operation]*durations // nil: of no operation
}

// durations are the histograms of one operation by status. They are made when
// the first such answer is given, and then found without a look-up of labels.
type durations struct {
	byStatus [600]atomic.Pointer[metrics.Histogram]
}

func newCounts(operations operations) *counts {
	c := &counts{
		failures:  map[plantapi.ErrorCode]*atomic.Uint64{},
		durations: map[*operation]*durations{nil: {}},
	}
	for code := plantapi.ErrorCode(400_00); code < 600_00; code++ {
		if code.Valid() {
			c.failures[code] = new(atomic.Uint64)
		}
	}
	for _, op := range operations {
		c.durations[op] = new(durations)
	}
	return c
}

// observe counts a finished request.
func (c *counts) observe(op *operation, status int, took time.Duration) {
	c.durations[op].of(status).Observe(took.Seconds())
}

// of returns the histogram for a status.
func (d *durations) of(status int) *metrics.Histogram {
	if known := d.byStatus[status].Load(); known != nil {
		return known
	}
	d.byStatus[status].CompareAndSwap(nil, metrics.NewHistogram(durationBuckets))
	return d.byStatus[status].Load()
}

// write is the [metrics.Source] of what was counted.
func (c *counts) write(w *metrics.Writer) {
	w.Histogram("plantstore_http_request_duration_seconds",
		"Requests by operation and status, and the seconds from their headers to the end of the answer; "+
			"operation none is every unknown path and method, status 499 a caller who hung up.")
	byID := func(a, b *operation) int { return strings.Compare(a.label(), b.label()) }
	for _, op := range slices.SortedFunc(maps.Keys(c.durations), byID) {
		for status := range c.durations[op].byStatus {
			if h := c.durations[op].byStatus[status].Load(); h != nil {
				w.Buckets(h, "operation", op.label(), "status", strconv.Itoa(status))
			}
		}
	}
	w.Gauge("plantstore_http_requests_in_flight", "Requests whose answer is not finished.")
	w.Sample(float64(c.inFlight.Load()))
	w.Counter("plantstore_http_failures_total", "Requests that were refused or failed, by the number in the answer.")
	for _, code := range slices.Sorted(maps.Keys(c.failures)) {
		w.Sample(float64(c.failures[code].Load()), "error", strconv.Itoa(int(code)))
	}
}

// label is the operation as metrics have it.
func (op *operation) label() string {
	if op == nil {
		return noOperation
	}
	return op.id
}
