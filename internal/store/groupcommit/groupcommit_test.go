package groupcommit_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/store/groupcommit"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// engine runs the works of a group one after the other and records the groups.
type engine struct {
	groups [][]string
	// before, if not nil, is called with each group before its works run.
	before func(names []string)
}

// job is a work with a name.
type job struct {
	name string
	do   func() error
}

func (e *engine) run(calls []*groupcommit.Call[job]) {
	var names []string
	for _, c := range calls {
		names = append(names, c.Work.name)
	}
	e.groups = append(e.groups, names)
	if e.before != nil {
		e.before(names)
	}
	for _, c := range calls {
		if c.Work.do != nil {
			c.Err = groupcommit.Try(c.Work.do)
		}
	}
}

// newQueue returns a queue that the test closes.
func newQueue[W any](t *testing.T, limit int, run func([]*groupcommit.Call[W])) *groupcommit.Queue[W] {
	t.Helper()
	q := groupcommit.New(limit, run)
	t.Cleanup(q.Close)
	return q
}

// together makes calls of Do that arrive one after the other while another group runs.
func (e *engine) together(t *testing.T, q *groupcommit.Queue[job], calls ...func()) {
	t.Helper()
	release := make(chan struct{})
	before := e.before
	e.before = func([]string) { <-release; e.before = before }
	var wg sync.WaitGroup
	first := func() { expect.Error(t, "first", q.Do(t.Context(), job{name: "first"}, nil), nil) }
	for _, call := range append([]func(){first}, calls...) {
		wg.Go(call)
		synctest.Wait() // so that they arrive in this order
	}
	close(release)
	wg.Wait()
}

func (e *engine) wantGroups(t *testing.T, want ...[]string) {
	t.Helper()
	if !slices.EqualFunc(e.groups, want, slices.Equal) {
		t.Errorf("groups were %q, want %q", e.groups, want)
	}
}

// Calls that arrive while a group runs share the next one, in order of arrival
// and up to the limit. Each returns its own error.
func TestWaitingCallsShareTheNextGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e engine
		q := newQueue(t, 3, e.run)
		errTaken := errors.New("taken")
		call := func(name string, want error) func() {
			return func() { expect.Error(t, name, q.Do(t.Context(), job{name, func() error { return want }}, nil), want) }
		}
		e.together(t, q, call("a", nil), call("b", errTaken), call("c", nil), call("d", nil))
		e.wantGroups(t, []string{"first"}, []string{"a", "b", "c"}, []string{"d"})
	})
}

// Goroutines share groups on one processor, too. There the committer could run before the
// goroutines that it has just woken, and a commit that waits for the disk keeps others from
// running.
func TestGroupsOnOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const clients = 64
	for name, c := range map[string]struct {
		each, most int // calls of a client, groups
		commit     func()
	}{
		"calls in a loop":    {100, 100 * 4 / 3, runtime.Gosched}, // as a commit does that waits for the disk
		"simultaneous calls": {1, 4, func() {}},
	} {
		t.Run(name, func(t *testing.T) {
			groups := 0
			q := newQueue(t, 1024, func([]*groupcommit.Call[int]) { groups++; c.commit() })
			var wg sync.WaitGroup
			for client := range clients {
				wg.Go(func() {
					for range c.each {
						expect.Error(t, "a call", q.Do(t.Context(), client, nil), nil)
					}
				})
			}
			returned := make(chan struct{})
			go func() { wg.Wait(); close(returned) }()
			wait.For(t, "all calls of Do to return", returned)
			if groups > c.most {
				t.Errorf("%d clients with %d calls each made %d groups, want at most %d", clients, c.each, groups, c.most)
			}
		})
	}
}

// If the context of a call ends while it is queued, Do returns immediately and the
// work is never begun. A call that has begun is finished.
func TestCanceledContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := engine{before: func([]string) { <-release }}
		q := newQueue(t, 8, e.run)
		var wg sync.WaitGroup
		begin := func(name string, want error) (cancel func(), done <-chan struct{}) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			wg.Go(func() {
				expect.Error(t, name, q.Do(ctx, job{name: name}, nil), want)
				close(ended)
			})
			synctest.Wait()
			return cancel, ended
		}
		cancelAlone, _ := begin("alone", nil)
		cancelFirst, _ := begin("first", nil)
		cancelQueued, returned := begin("queued", context.Canceled)
		cancelSecond, _ := begin("second", nil)
		cancelQueued()
		<-returned // while the first group runs
		cancelAlone()
		release <- struct{}{}
		synctest.Wait()
		cancelFirst()
		cancelSecond()
		synctest.Wait()
		release <- struct{}{}
		wg.Wait()

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		expect.Error(t, "a call with a cancelled context", q.Do(ctx, job{name: "late"}, nil), context.Canceled)
		e.wantGroups(t, []string{"alone"}, []string{"first", "second"})
	})
}

// A work that has not ended at its limit is given up, whether it is queued or runs.
// One that is queued is never begun; one that runs does not delay the next group.
func TestExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := engine{before: func([]string) { <-release }}
		q := newQueue(t, 8, e.run)
		began := time.Now()
		var wg sync.WaitGroup
		within := func(name string, limit time.Duration, want error) {
			queued := time.Now()
			wg.Go(func() {
				expect.Error(t, name, q.Do(t.Context(), job{name: name}, time.After(limit)), want)
				if waited := time.Since(queued); waited > limit {
					t.Errorf("%s: Do returned after %v, want at most %v", name, waited, limit)
				}
			})
			synctest.Wait()
		}
		within("runs", 8*time.Second, groupcommit.ErrExpired)
		within("queued", 7*time.Second, groupcommit.ErrExpired)
		time.Sleep(2 * time.Second)
		within("next", 8*time.Second, groupcommit.ErrExpired) // runs when it expires
		time.Sleep(7 * time.Second)                           // the first two have expired
		within("with it", 8*time.Second, nil)
		release <- struct{}{}
		time.Sleep(2 * time.Second)
		release <- struct{}{}
		wg.Wait()
		if took := time.Since(began); took != 11*time.Second {
			t.Errorf("took %v, want 11s", took)
		}
		e.wantGroups(t, []string{"runs"}, []string{"next", "with it"})
	})
}

// A panic of a work is the error of this work only, with the stack of the work. A panic of the engine is
// that of every call of the group.
func TestPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine{before: func(names []string) {
			if names[0] == "broken engine" {
				panic("engine")
			}
		}}
		q := newQueue(t, 8, e.run)
		call := func(name, value string) func() {
			return func() { wantPanic(t, value, q.Do(t.Context(), job{name, func() error { panic(value) }}, nil)) }
		}
		other := func() { expect.Error(t, "other", q.Do(t.Context(), job{name: "other"}, nil), nil) }
		e.together(t, q, other, call("panics", "work"))
		e.wantGroups(t, []string{"first"}, []string{"other", "panics"})
		call("alone", "work")()
		e.together(t, q, call("broken engine", "engine"), call("one", "engine"), call("two", "engine"))
		other()
	})
}

func TestCloseWaitsForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := engine{before: func([]string) { <-release }}
		q := groupcommit.New(8, e.run)
		var wg sync.WaitGroup
		for _, name := range []string{"a", "b"} {
			wg.Go(func() { expect.Error(t, name, q.Do(t.Context(), job{name: name}, nil), nil) })
			synctest.Wait()
		}
		closed := make(chan struct{})
		wg.Go(func() { q.Close(); close(closed) })
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close returned before the queued calls")
		default:
		}
		expect.Error(t, "a call after Close", q.Do(t.Context(), job{name: "late"}, nil), groupcommit.ErrClosed)
		close(release)
		wg.Wait()
		if len(e.groups) != 2 {
			t.Errorf("groups were %q, want both calls", e.groups)
		}
	})
}

func wantPanic(t *testing.T, value string, err error) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), "panic: "+value+"\n") ||
		!strings.Contains(err.Error(), "groupcommit_test.go") {
		t.Errorf("got %v, want a panic with %q and its stack", err, value)
	}
}
