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

// Calls that arrive while a group runs share the next one, in order of arrival
// and up to the limit. Each returns its own error.
func TestWaitingCallsShareTheNextGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := engine{before: func(names []string) {
			if names[0] == "first" {
				<-release
			}
		}}
		q := newQueue(t, 3, e.run)
		errTaken := errors.New("taken")
		var wg sync.WaitGroup
		wg.Go(func() { wantErr(t, "first", q.Do(t.Context(), job{name: "first"}), nil) })
		synctest.Wait()
		for _, name := range []string{"a", "b", "c", "d"} {
			want := map[string]error{"b": errTaken}[name]
			wg.Go(func() {
				wantErr(t, name, q.Do(t.Context(), job{name, func() error { return want }}), want)
			})
			synctest.Wait() // so that they arrive in this order
		}
		close(release)
		wg.Wait()
		want := [][]string{{"first"}, {"a", "b", "c"}, {"d"}}
		if !slices.EqualFunc(e.groups, want, slices.Equal) {
			t.Errorf("groups were %q, want %q", e.groups, want)
		}
	})
}

// Goroutines that call Do in a loop continue to share groups. On one processor the
// committer could run before the goroutines that it has just woken.
func TestGroupsDoNotCollapse(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const clients, each = 64, 100
	groups := 0
	q := newQueue(t, 1024, func([]*groupcommit.Call[int]) {
		groups++
		runtime.Gosched() // as a commit does that waits for the disk
	})
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for range each {
				if err := q.Do(t.Context(), c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	waitFor(t, &wg)
	if mean := clients * each / groups; mean < clients*3/4 {
		t.Errorf("mean size of a group = %d works, want at least %d of %d", mean, clients*3/4, clients)
	}
}

// Simultaneous calls share a group, also on one processor, where a commit that
// waits for the disk keeps other goroutines from running.
func TestSimultaneousCallsShareAGroup(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const clients = 64
	groups := 0
	q := newQueue(t, 1024, func([]*groupcommit.Call[int]) { groups++ })
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			if err := q.Do(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
	waitFor(t, &wg)
	if groups > 4 {
		t.Errorf("%d simultaneous calls made %d groups, want at most 4", clients, groups)
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
				wantErr(t, name, q.Do(ctx, job{name: name}), want)
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
		wantErr(t, "a call with a cancelled context", q.Do(ctx, job{name: "late"}), context.Canceled)
		want := [][]string{{"alone"}, {"first", "second"}}
		if !slices.EqualFunc(e.groups, want, slices.Equal) {
			t.Errorf("groups were %q, want %q", e.groups, want)
		}
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
				wantErr(t, name, q.DoWithin(t.Context(), limit, job{name: name}), want)
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
		want := [][]string{{"runs"}, {"next", "with it"}}
		if !slices.EqualFunc(e.groups, want, slices.Equal) {
			t.Errorf("groups were %q, want %q", e.groups, want)
		}
	})
}

// If the engine panics, every call of the group fails with the panic.
func TestEnginePanicReachesEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := engine{before: func(names []string) {
			if names[0] != "first" {
				panic("engine")
			}
			<-release
		}}
		q := newQueue(t, 8, e.run)
		var wg sync.WaitGroup
		wg.Go(func() { wantErr(t, "first", q.Do(t.Context(), job{name: "first"}), nil) })
		synctest.Wait()
		for _, name := range []string{"one", "two", "three"} {
			wg.Go(func() { wantPanic(t, "engine", q.Do(t.Context(), job{name: name})) })
			synctest.Wait() // so that they share the second group, in this order
		}
		close(release)
		wg.Wait()
		if want := [][]string{{"first"}, {"one", "two", "three"}}; !slices.EqualFunc(e.groups, want, slices.Equal) {
			t.Errorf("groups were %q, want %q", e.groups, want)
		}
	})
}

// A panic of a work is the error of this work only, with the stack of the work.
func TestPanicReachesItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := engine{before: func(names []string) {
			switch names[0] {
			case "first":
				<-release
			case "broken engine":
				panic("engine")
			}
		}}
		q := newQueue(t, 8, e.run)
		var wg sync.WaitGroup
		wg.Go(func() { wantErr(t, "first", q.Do(t.Context(), job{name: "first"}), nil) })
		synctest.Wait()
		wg.Go(func() { wantErr(t, "other", q.Do(t.Context(), job{name: "other"}), nil) })
		synctest.Wait()
		wg.Go(func() {
			wantPanic(t, "work", q.Do(t.Context(), job{"panics", func() error { panic("work") }}))
		})
		synctest.Wait()
		close(release)
		wg.Wait()
		if len(e.groups) != 2 || len(e.groups[1]) != 2 {
			t.Fatalf("groups were %q, want two in the second", e.groups)
		}

		wantPanic(t, "alone", q.Do(t.Context(), job{"panics", func() error { panic("alone") }}))
		wantPanic(t, "engine", q.Do(t.Context(), job{name: "broken engine"}))
		wantErr(t, "the next one", q.Do(t.Context(), job{name: "next"}), nil)
	})
}

func TestCloseWaitsForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := engine{before: func([]string) { <-release }}
		q := groupcommit.New(8, e.run)
		var wg sync.WaitGroup
		for _, name := range []string{"a", "b"} {
			wg.Go(func() { wantErr(t, name, q.Do(t.Context(), job{name: name}), nil) })
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
		wantErr(t, "a call after Close", q.Do(t.Context(), job{name: "late"}), groupcommit.ErrClosed)
		close(release)
		wg.Wait()
		if len(e.groups) != 2 {
			t.Errorf("groups were %q, want both calls", e.groups)
		}
	})
}

// waitFor waits for goroutines. Tests that use synctest do not need it: there a
// deadlock fails the test.
func waitFor(t *testing.T, clients *sync.WaitGroup) {
	t.Helper()
	returned := make(chan struct{})
	go func() { clients.Wait(); close(returned) }()
	wait.For(t, "all calls of Do to return", returned)
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: Do = %v, want %v", what, got, want)
	}
}

func wantPanic(t *testing.T, value string, err error) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), "panic: "+value+"\n") ||
		!strings.Contains(err.Error(), "groupcommit_test.go") {
		t.Errorf("got %v, want a panic with %q and its stack", err, value)
	}
}
