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
)

// engine runs the works of a group one after the other and remembers the groups.
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

// A single call allocates nothing of its own.
func TestAllocations(t *testing.T) {
	var e engine
	q := newQueue(t, 8, e.run)
	allocs := testing.AllocsPerRun(100, func() {
		e.groups = e.groups[:0]
		if err := q.Do(t.Context(), job{name: "a"}); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 1 { // the list of names
		t.Errorf("one call allocates %v times", allocs)
	}
}

// Whoever comes while a group runs shares the next one, in order of arrival, up
// to the limit, each with its own outcome.
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

// Callers who come back at once find one another again, on one processor too,
// where the next leader may well run before those who have just been served.
func TestGroupsDoNotCollapse(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const callers, each = 64, 100
	groups := 0
	q := newQueue(t, 1024, func([]*groupcommit.Call[int]) {
		groups++
		runtime.Gosched() // as a commit does that waits for the disk
	})
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for range each {
				if err := q.Do(t.Context(), c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	waitFor(t, &wg)
	if mean := callers * each / groups; mean < callers*3/4 {
		t.Errorf("a group has %d works, want at least %d of %d", mean, callers*3/4, callers)
	}
}

// Callers who come at once, as when many connections turn out to be readable,
// share a group on one processor too, though a commit that waits for the disk
// lets nobody else run there.
func TestSimultaneousCallsShareAGroup(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const callers = 64
	groups := 0
	q := newQueue(t, 1024, func([]*groupcommit.Call[int]) { groups++ })
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			if err := q.Do(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
	waitFor(t, &wg)
	if groups > 4 {
		t.Errorf("%d callers at once made %d groups, want one or hardly more", callers, groups)
	}
}

// Whose context ends while the call queues is answered there and then, and the
// call is never begun; a call that has begun ends as if nothing had happened.
func TestCanceledContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := engine{before: func([]string) { <-release }}
		q := newQueue(t, 8, e.run)
		var wg sync.WaitGroup
		begin := func(name string, want error) (hangUp func(), done <-chan struct{}) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			wg.Go(func() {
				wantErr(t, name, q.Do(ctx, job{name: name}), want)
				close(ended)
			})
			synctest.Wait()
			return cancel, ended
		}
		hangUpAlone, _ := begin("alone", nil)
		hangUpLeader, _ := begin("leader", nil)
		giveUp, gone := begin("queued", context.Canceled)
		hangUpMember, _ := begin("member", nil)
		giveUp()
		<-gone // while the first group runs
		hangUpAlone()
		release <- struct{}{}
		synctest.Wait()
		hangUpLeader()
		hangUpMember()
		synctest.Wait()
		release <- struct{}{}
		wg.Wait()

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantErr(t, "a call that comes too late", q.Do(ctx, job{name: "late"}), context.Canceled)
		want := [][]string{{"alone"}, {"leader", "member"}}
		if !slices.EqualFunc(e.groups, want, slices.Equal) {
			t.Errorf("groups were %q, want %q", e.groups, want)
		}
	})
}

// A panic of the engine, or the end of its goroutine, reaches every caller of the
// group: none of them may take its work for durable.
func TestEnginePanicReachesEveryCall(t *testing.T) {
	for name, fail := range map[string]func(){
		"panic":  func() { panic("engine") },
		"Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				e := engine{before: func(names []string) {
					if names[0] == "first" {
						<-release
						return
					}
					fail()
				}}
				q := newQueue(t, 8, e.run)
				var wg sync.WaitGroup
				wg.Go(func() { wantErr(t, "first", q.Do(t.Context(), job{name: "first"}), nil) })
				synctest.Wait()
				for _, caller := range []string{"one", "two", "three"} {
					wg.Go(func() {
						defer func() {
							if _, ok := recover().(*groupcommit.Panic); !ok {
								t.Errorf("Do of the %s did not panic", caller)
							}
						}()
						err := q.Do(t.Context(), job{name: caller})
						t.Errorf("Do of the %s returned %v", caller, err)
					})
					synctest.Wait() // so that they share the second group, in this order
				}
				close(release)
				wg.Wait()
				if want := [][]string{{"first"}, {"one", "two", "three"}}; !slices.EqualFunc(e.groups, want, slices.Equal) {
					t.Errorf("groups were %q, want %q", e.groups, want)
				}
			})
		})
	}
}

// A panic reaches the caller whose work it ended, with the place where it
// happened, and nobody else.
func TestPanicReachesItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := engine{before: func(names []string) {
			switch names[0] {
			case "first":
				<-release
			case "broken engine":
				panic("engine")
			case "ended engine":
				runtime.Goexit()
			}
		}}
		q := newQueue(t, 8, e.run)
		var wg sync.WaitGroup
		wg.Go(func() { wantErr(t, "first", q.Do(t.Context(), job{name: "first"}), nil) })
		synctest.Wait()
		wg.Go(func() { wantErr(t, "neighbour", q.Do(t.Context(), job{name: "neighbour"}), nil) })
		synctest.Wait()
		wg.Go(func() {
			wantPanic(t, "work", func() {
				_ = q.Do(t.Context(), job{"panics", func() error { panic("work") }})
			})
		})
		synctest.Wait()
		close(release)
		wg.Wait()
		if len(e.groups) != 2 || len(e.groups[1]) != 2 {
			t.Fatalf("groups were %q, want two in the second", e.groups)
		}

		wantPanic(t, "alone", func() { _ = q.Do(t.Context(), job{"panics", func() error { panic("alone") }}) })
		wantPanic(t, "engine", func() { _ = q.Do(t.Context(), job{name: "broken engine"}) })
		func() {
			defer func() {
				if _, ok := recover().(*groupcommit.Panic); !ok {
					t.Error("Do did not panic after the end of the committer's goroutine")
				}
			}()
			_ = q.Do(t.Context(), job{name: "ended engine"})
		}()
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
			t.Error("Close did not wait")
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

// waitFor waits for callers outside of synctest, which would notice by itself
// that they wait for ever.
func waitFor(t *testing.T, callers *sync.WaitGroup) {
	t.Helper()
	returned := make(chan struct{})
	go func() { callers.Wait(); close(returned) }()
	select {
	case <-returned:
	case <-time.After(time.Minute):
		t.Fatal("waited a minute for all calls of Do to return")
	}
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s ended with %v, want %v", what, got, want)
	}
}

func wantPanic(t *testing.T, value string, fn func()) {
	t.Helper()
	defer func() {
		t.Helper()
		p, ok := recover().(*groupcommit.Panic)
		if !ok || p.Value != value || !strings.Contains(p.Error(), "groupcommit_test.go") {
			t.Errorf("panicked with %v, want %q and where it happened", p, value)
		}
	}()
	fn()
	t.Errorf("did not panic, want %q", value)
}
