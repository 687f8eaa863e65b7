package client_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

const (
	walkers = 8   // goroutines
	own     = 100 // ids of each
	shared  = 5   // plants that all of them update
)

// TestFaultProxy sends operations in random order through a proxy that fails,
// and compares what the client says of each with what the service has stored and
// what the proxy has seen. It sends as many as PLANTSTORE_TEST_CLIENT_OPERATIONS says.
func TestFaultProxy(t *testing.T) {
	t.Parallel()
	operations := must.Number(t, "PLANTSTORE_TEST_CLIENT_OPERATIONS", 1000)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host got %s %s with Authorization %q", r.Method, r.URL, r.Header["Authorization"])
	}))
	t.Cleanup(elsewhere.Close)
	service := clienttest.New(t)
	proxy := &faultProxy{
		service: service, elsewhere: elsewhere.URL, closed: refusingAddress(t),
		rand: rand.New(rand.NewPCG(seed, 0)), seen: map[string][]passage{}, used: map[string]int{},
	}
	url := handle(t, proxy.ServeHTTP)
	transport := &http.Transport{DialContext: proxy.dial, MaxIdleConnsPerHost: walkers}
	t.Cleanup(transport.CloseIdleConnections)
	run := &randomRun{t: t, proxy: proxy, direct: service.Client()}
	run.client = at(t, url, client.WithToken(service.Token), client.WithHTTPClient(&http.Client{Transport: transport, Timeout: time.Minute}),
		client.WithTraceparent(func(ctx context.Context) string { return ctx.Value(operation{}).(string) }),
		client.WithBackoff(func(ctx context.Context, attempt int, err error) time.Duration {
			pause := client.Backoff(ctx, attempt, err)
			if e, ok := errors.AsType[*client.Error](err); ok && pause < e.RetryAfter {
				t.Errorf("a pause of %v after %+v", pause, e)
			}
			return 0
		}))
	for id := range int64(shared) {
		must.NoError(t, run.direct.Create(t.Context(), client.Plant{ID: -1 - id, Name: "0"}))
	}
	var group sync.WaitGroup
	for n := range walkers {
		w := &walker{randomRun: run, first: int64(n) * own, rand: rand.New(rand.NewPCG(seed, uint64(n+1))), plants: map[int64]client.Plant{}}
		group.Go(func() {
			for run.operations.Add(1) <= int64(operations) && !t.Failed() {
				w.step()
			}
		})
	}
	group.Wait()
	run.checkShared()
	for _, fault := range []string{"429", "redirect with 307", "closed before the response", "closed in the middle of the response"} {
		if proxy.used[fault] == 0 {
			t.Errorf("no request had the fault %q", fault)
		}
	}
	t.Logf("figures: %d operations: %d successes, %d failures, %d of an unknown outcome; %d connections refused, and by fault %v",
		operations, run.succeeded.Load(), run.failed.Load(), run.unknown.Load(), proxy.refusals.Load(), proxy.used)
}

type operation struct{}

// randomRun is what the walkers have in common.
type randomRun struct {
	t              *testing.T
	proxy          *faultProxy
	client, direct *client.Client // through the proxy, and not

	operations                 atomic.Int64
	succeeded, failed, unknown atomic.Int64
	updates                    [shared]atomic.Int64 // that the service carried out
}

// walker does one operation after another on ids of its own, and knows what must
// be stored.
type walker struct {
	*randomRun
	first  int64
	rand   *rand.Rand
	plants map[int64]client.Plant
}

func (w *walker) step() {
	number := fmt.Sprintf("%d-%d", w.first, w.rand.Uint64())
	ctx, cancel := context.WithTimeout(context.WithValue(w.t.Context(), operation{}, number), time.Minute)
	defer cancel()
	id := w.first + w.rand.Int64N(own)
	old, exists := w.plants[id]
	fresh := client.Plant{ID: id, Name: number}
	if w.rand.IntN(2) == 0 {
		fresh.Tag = new(number)
	}
	s := step{ctx: ctx, number: number, id: id, want: old, wantExists: exists}
	var got client.Plant
	switch kind := w.rand.IntN(9); kind {
	case 0, 1:
		s.name, s.repeats, s.want, s.wantExists = "create", true, fresh, true
		if exists {
			s.code, s.want = client.ErrIDTaken, old
			if kind == 1 { // the same plant is a success
				fresh, s.code = old, 0
			}
		}
		s.err = w.client.Create(ctx, fresh)
	case 2:
		s.name, s.repeats, s.want, s.wantExists = "createBatch", true, fresh, true
		if exists {
			s.code, s.want = client.ErrIDTaken, old
		}
		_, s.err = w.client.CreateBatch(ctx, []client.Plant{fresh})
	case 3:
		s.name, s.repeats, s.reads = "get", true, true
		if !exists {
			s.code = client.ErrNoSuchPlant
		}
		got, s.err = w.client.Get(ctx, id)
	case 4:
		s.name, s.want, s.wantExists = "put", fresh, true
		var conditions []client.IfMatch
		if exists && w.rand.IntN(2) == 0 {
			conditions = append(conditions, client.IfMatch(old.ETag))
		} else if w.rand.IntN(2) == 0 {
			conditions = append(conditions, client.IfMatch("0"))
			s.code = client.ErrPreconditionFailed
		}
		got, s.err = w.client.Put(ctx, fresh, conditions...)
	case 5:
		s.name = "patch"
		if s.want.Name = fresh.Name; !exists {
			s.code = client.ErrNoSuchPlant
		}
		got, s.err = w.client.Patch(ctx, id, client.Patch{Name: &fresh.Name})
	case 6:
		s.name, s.wantExists = "delete", false
		if !exists {
			s.code = client.ErrNoSuchPlant
		}
		s.err = w.client.Delete(ctx, id)
	case 7:
		w.updateShared(ctx, number)
		return
	case 8:
		s.name, s.repeats, s.reads = "all", true, true
		s.err = w.checkAll(ctx)
	}
	if s.err == nil && got.ETag != "" && (got.ID != id || got.Name != s.want.Name) {
		w.t.Errorf("%s returned %+v, want %+v", s.name, got, s.want)
	}
	w.check(s, old, exists)
}

// step is one operation and what is expected of it.
type step struct {
	ctx        context.Context
	name       string
	number     string
	id         int64
	repeats    bool // the client may repeat it
	reads      bool // it changes nothing
	code       client.Code
	want       client.Plant
	wantExists bool
	err        error
}

// check compares an operation with what is stored and with what the proxy saw.
func (w *walker) check(s step, old client.Plant, existed bool) {
	now, err := w.direct.Get(w.t.Context(), s.id)
	if err != nil && !errors.Is(err, client.ErrNoSuchPlant) {
		w.t.Errorf("read: %v", err)
		return
	}
	exists := err == nil
	isOld := exists == existed && (!exists || now.ETag == old.ETag)
	isNew := exists == s.wantExists && (!exists || now.Name == s.want.Name && sameTag(now.Tag, s.want.Tag))
	e, _ := errors.AsType[*client.Error](s.err)
	says := fmt.Sprintf("%s of plant %d: error %v; before %t %+v, now %t %+v", s.name, s.id, s.err, existed, old, exists, now)
	switch {
	case s.err == nil:
		w.succeeded.Add(1)
		if s.code != 0 || !isNew {
			w.t.Errorf("%s: want code %d or %+v", says, s.code, s.want)
		}
	case errors.Is(s.err, client.ErrOutcomeUnknown):
		w.unknown.Add(1)
		if s.reads || !isOld && (s.code != 0 || !isNew) {
			w.t.Errorf("%s: want the old or the new plant", says)
		}
	default:
		w.failed.Add(1)
		if !isOld {
			w.t.Errorf("%s: want the old plant", says)
		}
		if e != nil && e.Code != 0 && e.Code != s.code {
			w.t.Errorf("%s: want code %d", says, s.code)
		}
	}
	w.checkPassages(s)
	if exists {
		w.plants[s.id] = now
	} else {
		delete(w.plants, s.id)
	}
}

// checkPassages looks for requests that were sent again and must not be.
func (w *walker) checkPassages(s step) {
	seen := w.proxy.take(s.number)
	changes := 0
	for i, p := range seen {
		last := i == len(seen)-1
		if p.method != http.MethodGet && p.status/100 == 2 {
			changes++
		}
		if !last && s.name != "all" && p.final || !last && !s.repeats && !p.refused {
			w.t.Errorf("%s was sent again after %+v", s.name, p)
		}
	}
	if len(seen) == 0 && s.err == nil || !s.repeats && changes > 1 {
		w.t.Errorf("%s was carried out %d times: %+v", s.name, changes, seen)
	}
}

// take returns the requests of an operation and forgets them.
func (p *faultProxy) take(operation string) []passage {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer delete(p.seen, operation)
	return p.seen[operation]
}

// updateShared adds one to a plant that every walker updates.
func (w *walker) updateShared(ctx context.Context, number string) {
	i := w.rand.IntN(shared)
	_, err := w.client.Update(ctx, -1-int64(i), func(p *client.Plant) error {
		var n int
		if _, err := fmt.Sscan(p.Name, &n); err != nil {
			return err
		}
		p.Name = fmt.Sprintf("%d after %s", n+1, number) // no other update writes the same
		return nil
	})
	done := 0
	for _, p := range w.proxy.take(number) {
		if p.method == http.MethodPatch && p.status == http.StatusOK {
			done++
		}
	}
	w.updates[i].Add(int64(done))
	switch unknown := errors.Is(err, client.ErrOutcomeUnknown); {
	case err == nil && done == 1:
		w.succeeded.Add(1)
	case unknown && done <= 1:
		w.unknown.Add(1)
	case err != nil && !unknown && done == 0:
		w.failed.Add(1)
	default:
		w.t.Errorf("an update was carried out %d times and returned %v", done, err)
	}
}

// checkShared compares the shared plants with the updates that were carried out.
func (r *randomRun) checkShared() {
	for i := range r.updates {
		p, err := r.direct.Get(r.t.Context(), -1-int64(i))
		if err != nil {
			r.t.Error(err)
			continue
		}
		var n int64
		if _, err := fmt.Sscan(p.Name, &n); err != nil || n != r.updates[i].Load() {
			r.t.Errorf("plant %d has the name %q, want %d updates", p.ID, p.Name, r.updates[i].Load())
		}
	}
}

// checkAll walks over the plants of w.
func (w *walker) checkAll(ctx context.Context) error {
	var got, want []int64
	for p, err := range w.client.All(ctx, client.StartAfter(w.first-1), client.PageSize(1+w.rand.Int32N(own))) {
		if err != nil {
			return err
		}
		if p.ID >= w.first+own {
			break
		}
		got = append(got, p.ID)
		if w.plants[p.ID].ETag != p.ETag {
			w.t.Errorf("All returned %+v, want %+v", p, w.plants[p.ID])
		}
	}
	for id := range w.plants {
		want = append(want, id)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("All returned %v, want %v", got, want)
	}
	return nil
}

func sameTag(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}
