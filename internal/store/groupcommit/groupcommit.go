// Package groupcommit lets writes that would wait for one another share a
// transaction: a commit costs the same for one row as for a thousand, because
// what it waits for is the disk or the network.
//
// It knows no database. An engine gives a [Queue] one function that runs a
// group of works in one transaction and says how each of them ended.
package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/plantstore/plantstore/internal/metrics"
)

// ErrClosed means that the queue takes no more work; nothing was begun.
var ErrClosed = errors.New("store is closed")

// patience is how often a leader lets others run while none of them comes back.
// With 1, groups are a sixth smaller on two processors; above 4 they hardly grow.
const patience = 4

// Queue groups the works of its callers. One caller at a time leads: it runs
// the group that it belongs to and then names the next leader from those who
// queued meanwhile. No goroutine stands in between, so whoever comes alone runs
// its work where it stands.
type Queue[W any] struct {
	limit int
	run   func([]*Call[W])
	calls sync.Pool          // of *Call[W] with an empty wake
	group []*Call[W]         // belongs to the leader
	sizes *metrics.Histogram // of groups

	mu      sync.Mutex
	led     bool          // somebody leads; if not, nobody waits
	waiting []*Call[W]    // in order of arrival
	closed  chan struct{} // made by Close, closed once nobody leads
}

// Call is one caller's work and how it ended.
type Call[W any] struct {
	Work W
	// Err is the caller's own outcome. Nil means that the work is durable.
	Err error

	wake chan role
}

// role is what a caller who has queued wakes up to.
type role bool

const (
	served role = false // its call is done
	leader role = true  // it runs the next group, its own call first
)

// New returns a queue that calls run with groups of 1 to limit calls, one group
// at a time. It sets Err of the calls that failed, returns once the others are
// durable, and does not keep the slice.
func New[W any](limit int, run func([]*Call[W])) *Queue[W] {
	q := &Queue[W]{limit: limit, run: run, sizes: metrics.NewHistogram([]float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024})}
	q.calls.New = func() any { return &Call[W]{wake: make(chan role, 1)} }
	return q
}

// Metrics is a [metrics.Source]: how many works shared each transaction.
func (q *Queue[W]) Metrics(w *metrics.Writer) {
	w.Histogram("plantstore_store_group_size", "Transactions, by how many writes shared each.")
	w.Buckets(q.sizes)
}

// Do returns once work is done, with its own outcome. If ctx ends while work
// still queues, it is not begun and Do returns the error of ctx. Work that has
// begun is finished whatever becomes of ctx. If work panicked, so does Do, with
// a [*Panic].
func (q *Queue[W]) Do(ctx context.Context, work W) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := q.calls.Get().(*Call[W])
	c.Work = work
	q.mu.Lock()
	if q.closed != nil {
		q.mu.Unlock()
		return ErrClosed
	}
	if q.led {
		q.waiting = append(q.waiting, c)
		q.mu.Unlock()
		return q.wait(ctx, c)
	}
	q.led = true
	q.mu.Unlock()
	// Whoever could run but does not must queue first. On one processor they
	// cannot while the leader waits for the disk: each would lead a group of one.
	runtime.Gosched()
	q.lead(c)
	return q.outcome(c)
}

// wait is what a caller does who found another one leading.
func (q *Queue[W]) wait(ctx context.Context, c *Call[W]) error {
	var r role
	select {
	case r = <-c.wake:
	case <-ctx.Done():
		if q.withdraw(c) {
			return ctx.Err()
		}
		r = <-c.wake
	}
	if r == leader {
		q.lead(c)
	}
	return q.outcome(c)
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

// lead runs the group of first and of those who wait by now.
func (q *Queue[W]) lead(first *Call[W]) {
	q.mu.Lock()
	n := min(len(q.waiting), q.limit-1)
	q.group = append(append(q.group[:0], first), q.waiting[:n]...)
	q.waiting = slices.Delete(q.waiting, 0, n)
	q.mu.Unlock()
	q.sizes.Observe(float64(len(q.group)))

	returned := false
	defer func() {
		if !returned { // a panic, or the end of the goroutine
			failed := &Panic{recover(), debug.Stack()}
			for _, c := range q.group {
				c.Err = failed
			}
		}
		for _, c := range q.group[1:] {
			c.wake <- served
		}
		if len(q.group) > 1 {
			q.gather(len(q.group) - 1)
		}
		clear(q.group) // the next group may be long in coming
		q.handOver()
	}()
	q.run(q.group)
	returned = true
}

// gather lets the callers who have just been served come back with their next
// work. Without it the next leader may run before them, and groups collapse: on
// one processor to 3 of 256. One yield is enough there; elsewhere an idle
// processor takes up at once what yields, so gather goes on while they come.
func (q *Queue[W]) gather(served int) {
	n := q.queued()
	all := min(n+served, q.limit)
	for idle := 0; n < all && idle < patience; idle++ {
		runtime.Gosched()
		if now := q.queued(); now > n {
			n, idle = now, 0
		}
	}
}

func (q *Queue[W]) queued() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// handOver makes the one who has waited longest the leader, if anybody waits.
func (q *Queue[W]) handOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		next := q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		next.wake <- leader
		return
	}
	q.led = false
	if q.closed != nil {
		close(q.closed)
	}
}

// Close refuses further work and returns once all that was taken is done. It is
// called once.
func (q *Queue[W]) Close() {
	q.mu.Lock()
	q.closed = make(chan struct{})
	if !q.led {
		close(q.closed)
	}
	q.mu.Unlock()
	<-q.closed
}

// outcome returns how a call ended and keeps the rest of it for another one.
func (q *Queue[W]) outcome(c *Call[W]) error {
	err := c.Err
	*c = Call[W]{wake: c.wake}
	q.calls.Put(c)
	if p, ok := err.(*Panic); ok {
		panic(p)
	}
	return err
}

// Panic is a panic on its way from the work it ended to the caller of
// [Queue.Do], who may be another goroutine.
type Panic struct {
	Value any    // nil: the goroutine of the leader was ended
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
