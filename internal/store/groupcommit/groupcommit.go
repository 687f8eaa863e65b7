// Package groupcommit lets writes that would wait for one another share a
// transaction: a commit costs the same for one row as for a thousand, because
// it waits for the disk or the network.
//
// It knows no database. An engine gives a [Queue] one function that runs a
// group of works in one transaction and says how each of them ended. One
// goroutine, the committer, calls it with what has queued since the last call.
package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// ErrClosed means that the queue takes no more work; nothing was begun.
var ErrClosed = errors.New("store is closed")

// Queue groups the works of concurrent calls of [Queue.Do].
type Queue[W any] struct {
	limit int
	run   func([]*Call[W])
	calls sync.Pool            // of *Call[W] with an empty done
	group []*Call[W]           // belongs to the committer
	sizes prometheus.Histogram // of groups

	mu      sync.Mutex
	waiting []*Call[W]    // in order of arrival
	closed  bool          // no call may join waiting
	arrived chan struct{} // wakes the committer; has room for one signal, closed by Close
	ended   chan struct{} // closed by the committer when it ends
}

// Call is one work and how it ended.
type Call[W any] struct {
	Work W
	// Err is the outcome of this work. Nil means that the work is durable.
	Err error

	done chan struct{} // receives once Err is final
}

// New returns a queue that calls run with groups of 1 to limit calls, one group
// at a time. run sets Err of the calls that failed, returns once the others are
// durable, and does not keep the slice. Close ends the goroutine of the queue.
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
	q.calls.New = func() any { return &Call[W]{done: make(chan struct{}, 1)} }
	go q.commit()
	return q
}

// Metrics tells how many works share each transaction.
func (q *Queue[W]) Metrics() []prometheus.Collector { return []prometheus.Collector{q.sizes} }

// Do returns once work is done, with its own outcome. If ctx ends while work
// still queues, it is not begun and Do returns the error of ctx. Work that has
// begun is finished even if ctx ends. If work panicked, so does Do, with a
// [*Panic].
func (q *Queue[W]) Do(ctx context.Context, work W) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := q.calls.Get().(*Call[W])
	c.Work = work
	if !q.enqueue(c) {
		return ErrClosed
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		if q.withdraw(c) {
			return ctx.Err()
		}
		<-c.done
	}
	err := c.Err
	*c = Call[W]{done: c.done}
	q.calls.Put(c)
	if p, ok := err.(*Panic); ok {
		panic(p)
	}
	return err
}

// enqueue adds a call and wakes the committer. It reports false if the queue is
// closed.
func (q *Queue[W]) enqueue(c *Call[W]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting = append(q.waiting, c)
	select {
	case q.arrived <- struct{}{}:
	default: // the committer will wake up anyway
	}
	return true
}

// withdraw takes a call out of the queue and reports whether it was still there.
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

// commit is the committer: it runs group after group until the queue is closed
// and empty.
func (q *Queue[W]) commit() {
	finished := false
	defer func() {
		if !finished { // run ended this goroutine, and more calls may wait
			go q.commit()
			return
		}
		close(q.ended)
	}()
	for open := true; open; _, open = <-q.arrived {
		for q.next() {
			q.runGroup()
		}
	}
	finished = true
}

// next moves the calls that wait into the next group, and reports whether there
// are any.
func (q *Queue[W]) next() bool {
	q.gather()
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), q.limit)
	q.group = append(q.group[:0], q.waiting[:n]...)
	q.waiting = slices.Delete(q.waiting, 0, n)
	return n > 0
}

// gather lets other goroutines queue their calls, as long as more of them come.
// Without it the committer runs before the clients that it has just served can
// send their next write: on one processor, groups of 256 clients shrink to 3.
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

// runGroup runs the group and wakes its callers. A panic, or the end of the
// goroutine, becomes the outcome of every call: none may take its work for
// durable.
func (q *Queue[W]) runGroup() {
	q.sizes.Observe(float64(len(q.group)))
	returned := false
	defer func() {
		if !returned {
			failed := &Panic{recover(), debug.Stack()}
			for _, c := range q.group {
				c.Err = failed
			}
		}
		for _, c := range q.group {
			c.done <- struct{}{}
		}
		clear(q.group) // the next group may be long in coming
	}()
	q.run(q.group)
	returned = true
}

// Close refuses further work and returns once all work that was taken is done.
// It must be called once.
func (q *Queue[W]) Close() {
	q.mu.Lock()
	q.closed = true
	close(q.arrived)
	q.mu.Unlock()
	<-q.ended
}

// Panic is a panic on its way from the work or the engine to the caller of
// [Queue.Do], which is another goroutine.
type Panic struct {
	Value any    // nil: the goroutine was ended
	Stack []byte // where it happened
}

func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Try calls fn and returns what it returns, or its panic as a [*Panic], so that
// an engine can go on with the other works of a group.
func Try(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Panic{v, debug.Stack()}
		}
	}()
	return fn()
}
