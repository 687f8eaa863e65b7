// Package groupcommit lets concurrent writes share a transaction. A commit takes
// about the same time for one row as for a thousand, because it waits for the
// disk or the network.
//
// The package is independent of the database. A store creates a [Queue] with a
// function that runs a group of writes in one transaction and sets the error of
// each. One goroutine, the committer, calls this function with the writes that
// have queued during the previous call.
package groupcommit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ErrClosed means that the queue is closed. The work was not begun.
var ErrClosed = errors.New("store is closed")

// ErrExpired means that a work had not ended at its deadline. If it had begun, it
// may still succeed.
var ErrExpired = errors.New("deadline exceeded")

// Queue groups the works of concurrent calls of [Queue.Do].
type Queue[W any] struct {
	limit int // maximum size of a group
	run   func([]*Call[W])
	group []*Call[W]           // the running group; used by the committer only
	sizes prometheus.Histogram // of groups

	mu      sync.Mutex
	waiting []*Call[W]    // in order of arrival
	closed  bool          // set by Close; waiting does not grow any more
	arrived chan struct{} // wakes the committer; has a buffer of one, closed by Close
	ended   chan struct{} // closed when the committer ends
}

// Call is a work and its outcome.
type Call[W any] struct {
	Work W
	// Err is the error of this work. Nil means that the work is durable.
	Err error

	done chan struct{} // has a buffer of one; receives a value when Err is final
}

// New returns a queue that calls run with groups of 1 to limit calls, one group
// at a time. run must set Err of the calls that failed, return when the others
// are durable, and not keep the slice. Close stops the committer.
func New[W any](limit int, run func([]*Call[W])) *Queue[W] {
	q := &Queue[W]{
		limit: limit,
		run:   run,
		sizes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "plantstore_store_group_size",
			Help:    "Number of writes that share a transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11), // to 1024
		}),
		arrived: make(chan struct{}, 1),
		ended:   make(chan struct{}),
	}
	go q.commit()
	return q
}

// Metrics returns a histogram of the sizes of groups.
func (q *Queue[W]) Metrics() []prometheus.Collector { return []prometheus.Collector{q.sizes} }

// Do runs work in a group and returns its error. If ctx ends while the work is
// queued, it is not begun and Do returns the error of ctx. Work that has begun is
// finished even if ctx ends.
//
// When expired receives a value, Do returns [ErrExpired], even if the work has begun.
// The works of a group share their retries, and another work of the group may have a
// later deadline. With a nil channel, Do waits for that one.
func (q *Queue[W]) Do(ctx context.Context, work W, expired <-chan time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &Call[W]{Work: work, done: make(chan struct{}, 1)}
	if !q.enqueue(c) {
		return ErrClosed
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		if q.withdraw(c) {
			return ctx.Err()
		}
		select {
		case <-c.done:
		case <-expired:
			return ErrExpired
		}
	case <-expired:
		q.withdraw(c)
		return ErrExpired
	}
	return c.Err
}

// enqueue adds a call to the queue and wakes the committer. It returns false if
// the queue is closed.
func (q *Queue[W]) enqueue(c *Call[W]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting = append(q.waiting, c)
	select {
	case q.arrived <- struct{}{}:
	default: // there is a signal already
	}
	return true
}

// withdraw removes a call from the queue. It returns false if the call has begun.
func (q *Queue[W]) withdraw(c *Call[W]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, c)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// commit is the committer: it runs groups until the queue is closed and empty. It looks
// at the queue once more after Close has closed arrived, and no call is queued after that.
// So Close loses no call.
func (q *Queue[W]) commit() {
	defer close(q.ended)
	for open := true; open; _, open = <-q.arrived {
		for q.next() {
			q.runGroup()
		}
	}
}

// next moves waiting calls into the next group. It returns false if there are
// none.
func (q *Queue[W]) next() bool {
	q.gather()
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), q.limit)
	q.group = append(q.group[:0], q.waiting[:n]...)
	q.waiting = slices.Delete(q.waiting, 0, n)
	return n > 0
}

// gather yields to other goroutines as long as they queue more calls. Without it
// the committer continues before the goroutines that it has just woken can queue
// their next calls: on one processor, 256 clients then share a transaction in groups
// of 3.
func (q *Queue[W]) gather() {
	for before, now := -1, q.queued(); now > before && now < q.limit; {
		runtime.Gosched()
		before, now = now, q.queued()
	}
}

func (q *Queue[W]) queued() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// runGroup runs the group and wakes the goroutines that wait for its calls. If run
// panics, all calls of the group fail.
func (q *Queue[W]) runGroup() {
	q.sizes.Observe(float64(len(q.group)))
	failed := Try(func() error { q.run(q.group); return nil })
	for _, c := range q.group {
		c.Err = cmp.Or(failed, c.Err)
		c.done <- struct{}{}
	}
	clear(q.group) // lets the calls be freed before the next group
}

// Close lets further calls of Do fail, and returns when all queued work is done.
// It must be called only once.
func (q *Queue[W]) Close() {
	q.mu.Lock()
	q.closed = true
	close(q.arrived)
	q.mu.Unlock()
	<-q.ended
}

// Try calls fn and returns its error. If fn panics, the error has the stack of the panic.
// So a store can continue with the other works of the group.
func Try(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n\n%s", v, debug.Stack())
		}
	}()
	return fn()
}
