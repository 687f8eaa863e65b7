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
type Queue[Work any] struct {
	maxGroup   int // maximum size of a group
	transact   func([]*Call[Work])
	group      []*Call[Work] // the running group; used by the committer only
	groupSizes prometheus.Histogram

	mutex   sync.Mutex
	waiting []*Call[Work] // in order of arrival
	closed  bool          // set by Close; waiting does not grow any more
	arrived chan struct{} // wakes the committer; has a buffer of one, closed by Close
	ended   chan struct{} // closed when the committer ends
}

// Call is a work and its outcome.
type Call[Work any] struct {
	Work Work
	// Err is the error of this work. Nil means that the work is durable.
	Err error

	finished chan struct{} // has a buffer of one; receives a value when Err is final
}

// New returns a queue that calls transact with groups of 1 to maxGroup calls, one group
// at a time. transact must set Err of the calls that failed, return when the others
// are durable, and not keep the slice. Close stops the committer.
func New[Work any](maxGroup int, transact func([]*Call[Work])) *Queue[Work] {
	queue := &Queue[Work]{
		maxGroup: maxGroup,
		transact: transact,
		groupSizes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "plantstore_store_group_size",
			Help:    "Number of writes that share a transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11), // to 1024
		}),
		arrived: make(chan struct{}, 1),
		ended:   make(chan struct{}),
	}
	go queue.commit()
	return queue
}

// Metrics returns a histogram of the sizes of groups.
func (queue *Queue[Work]) Metrics() []prometheus.Collector {
	return []prometheus.Collector{queue.groupSizes}
}

// Do runs work in a group and returns its error. If ctx ends while the work is
// queued, it is not begun and Do returns the error of ctx. Work that has begun is
// finished even if ctx ends.
//
// The channel expired is the deadline of the work; nil means none. When it receives a
// value, Do returns [ErrExpired] at once. Work that has begun then continues, because its
// group may contain works with later deadlines.
func (queue *Queue[Work]) Do(ctx context.Context, work Work, expired <-chan time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	call := &Call[Work]{Work: work, finished: make(chan struct{}, 1)}
	if !queue.enqueue(call) {
		return ErrClosed
	}
	select {
	case <-call.finished:
		return call.Err
	case <-expired:
		queue.withdraw(call)
		return ErrExpired
	case <-ctx.Done():
		if queue.withdraw(call) {
			return ctx.Err()
		}
	}
	select { // the work has begun
	case <-call.finished:
		return call.Err
	case <-expired:
		return ErrExpired
	}
}

// enqueue adds a call to the queue and wakes the committer. It returns false if
// the queue is closed.
func (queue *Queue[Work]) enqueue(call *Call[Work]) bool {
	queue.mutex.Lock()
	defer queue.mutex.Unlock()
	if queue.closed {
		return false
	}
	queue.waiting = append(queue.waiting, call)
	select {
	case queue.arrived <- struct{}{}:
	default: // there is a signal already
	}
	return true
}

// withdraw removes a call from the queue. It returns false if the call has begun.
func (queue *Queue[Work]) withdraw(call *Call[Work]) bool {
	queue.mutex.Lock()
	defer queue.mutex.Unlock()
	index := slices.Index(queue.waiting, call)
	if index < 0 {
		return false
	}
	queue.waiting = slices.Delete(queue.waiting, index, index+1)
	return true
}

// commit is the committer: it runs groups until the queue is closed and empty. It looks
// at the queue once more after Close has closed arrived, and no call is queued after that.
// So Close loses no call.
func (queue *Queue[Work]) commit() {
	defer close(queue.ended)
	for isOpen := true; isOpen; _, isOpen = <-queue.arrived {
		for queue.fillGroup() {
			queue.runGroup()
		}
	}
}

// fillGroup moves waiting calls into the next group. It returns false if there are
// none.
func (queue *Queue[Work]) fillGroup() bool {
	queue.gather()
	queue.mutex.Lock()
	defer queue.mutex.Unlock()
	count := min(len(queue.waiting), queue.maxGroup)
	queue.group = append(queue.group[:0], queue.waiting[:count]...)
	queue.waiting = slices.Delete(queue.waiting, 0, count)
	return count > 0
}

// gather yields to other goroutines as long as they queue more calls. Without it
// the committer continues before the goroutines that it has just woken can queue
// their next calls: on one processor, 256 clients then share a transaction in groups
// of 3.
func (queue *Queue[Work]) gather() {
	for previous, current := -1, queue.queued(); current > previous && current < queue.maxGroup; {
		runtime.Gosched()
		previous, current = current, queue.queued()
	}
}

func (queue *Queue[Work]) queued() int {
	queue.mutex.Lock()
	defer queue.mutex.Unlock()
	return len(queue.waiting)
}

// runGroup runs the group and wakes the goroutines that wait for its calls. If transact
// panics, all calls of the group fail.
func (queue *Queue[Work]) runGroup() {
	queue.groupSizes.Observe(float64(len(queue.group)))
	panicked := Try(func() error { queue.transact(queue.group); return nil })
	for _, call := range queue.group {
		call.Err = cmp.Or(panicked, call.Err)
		call.finished <- struct{}{}
	}
	clear(queue.group) // lets the calls be freed before the next group
}

// Close lets further calls of Do fail, and returns when all queued work is done.
// It must be called only once.
func (queue *Queue[Work]) Close() {
	queue.mutex.Lock()
	queue.closed = true
	close(queue.arrived)
	queue.mutex.Unlock()
	<-queue.ended
}

// Try calls work and returns its error. If work panics, the error has the stack of the panic.
// So a store can continue with the other works of the group.
func Try(work func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n\n%s", value, debug.Stack())
		}
	}()
	return work()
}
