package powercut

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/feed"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
	sqlitestore "github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A schedule is one order of what happens in a store: clients write, with deadlines, others
// follow the changes through package feed or list the plants, and the log is long enough for
// checkpoints. The clock is the fake one of testing/synctest, and everything takes a random
// time on it, also each call of the disk. So the seed of the random numbers decides the order,
// and the same seed gives it again.
type schedule struct {
	seed   uint64
	store  *sqlitestore.Store
	queue  *groupcommit.Queue[*op] // nil: writes go to the store
	path   string
	large  bool          // batches fill the log, and checkpoints copy it
	slow   time.Duration // what a call of the disk takes at most
	pauses time.Duration // of the writers, at most
	began  time.Time
	closed chan struct{} // the queue is closed

	mu      sync.Mutex
	events  []happening
	faults  []string
	plants  map[int64]*state
	longest time.Duration // that a read has taken
	disk    map[uintptr]*party
}

// happening is something that has happened, and when.
type happening struct {
	at   time.Duration
	what string
}

// state is what clients know of a plant. Its version is the beginning of its name.
type state struct {
	begun, done int // the versions that were written last: the write has begun, has returned
	at          time.Time
	batch       []int64 // plants that were created with it
	failed      []int   // versions of writes that changed nothing
}

const gone = math.MaxInt // the version of a plant that was deleted

// op is a write of a client.
type op struct {
	ids     []int64
	version int
	create  bool
	size    int  // of a name
	begun   bool // its group runs
	failed  bool // its client has seen it fail
	ended   chan struct{}
}

// The numbers of the parties.
const (
	firstWriter, firstFollower, lister = 1, 10, 20
	committer, poller, firstDisk       = 30, 31, 40
	parties                            = 256
)

// party is a client, with random numbers of its own, or another one that takes time.
type party struct {
	*schedule
	name   string
	number int
	random *rand.Rand
}

func (s *schedule) party(number int, name string) *party {
	return &party{s, fmt.Sprint(name, " ", number), number, rand.New(rand.NewPCG(s.seed, uint64(number)))}
}

// sleep lets the party sleep. Each order of magnitude is as probable as the others.
func (p *party) sleep(most time.Duration) {
	p.sleepFor(p.number, time.Duration(math.Exp(p.random.Float64()*math.Log(float64(most)))))
}

// sleepFor lets a party sleep for about a time. No two parties act in the same nanosecond, when
// the seed would not decide which is first.
func (s *schedule) sleepFor(number int, about time.Duration) {
	until := (int64(time.Since(s.began)+about)/parties+1)*parties + int64(number)
	time.Sleep(time.Duration(until) - time.Since(s.began))
}

func (p *party) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, happening{time.Since(p.began), p.name + " " + fmt.Sprintf(format, args...)})
}

func (p *party) fault(format string, args ...any) {
	p.note("FAULT: "+format, args...)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, p.name+": "+fmt.Sprintf(format, args...))
}

// pause lets a call of the disk take time. Each open file has random numbers of its own.
func (s *schedule) pause(handle uintptr) {
	s.mu.Lock()
	d := s.disk[handle]
	if d == nil {
		d = s.party(firstDisk+len(s.disk), "disk")
		s.disk[handle] = d
	}
	s.mu.Unlock()
	if d.random.IntN(4) == 0 {
		s.sleepFor(d.number, time.Duration(d.random.Int64N(int64(s.slow))))
	}
}

// do runs a write in the store.
func (s *schedule) do(ctx context.Context, o *op) (err error) {
	name := fmt.Sprint(o.version, " ", strings.Repeat("n", o.size))
	switch {
	case o.create:
		var plants []plant.Plant
		for _, id := range o.ids {
			plants = append(plants, plant.Plant{ID: id, Name: name})
		}
		_, err = s.store.CreateAll(ctx, plants)
	case o.version == gone:
		err = s.store.Delete(ctx, o.ids[0], plant.Precondition{})
	default:
		_, _, err = s.store.Put(ctx, plant.Plant{ID: o.ids[0], Name: name}, plant.Precondition{})
	}
	return err
}

// begin notes that a write begins, and end what became of it.
func (s *schedule) begin(o *op) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range o.ids {
		if s.plants[id] == nil {
			s.plants[id] = &state{batch: o.ids}
		}
		s.plants[id].begun = o.version
	}
}

func (s *schedule) end(o *op, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.failed = !done
	for _, id := range o.ids {
		if p := s.plants[id]; done {
			p.done, p.at = o.version, time.Now()
		} else {
			p.begun, p.failed = p.done, append(p.failed, o.version)
		}
	}
}

// writer writes, and then reads what it wrote.
func (p *party) writer(first int64, ops int) {
	var alive []int64
	for version := 1; version <= ops; version++ {
		p.sleep(p.pauses)
		o := &op{version: version, size: p.random.IntN(900), ended: make(chan struct{})}
		switch kind := p.random.IntN(4); {
		case kind < 2 || len(alive) == 0:
			n := 1 + p.random.IntN(3)
			if p.large {
				n = 1 + p.random.IntN(40)
			}
			for range n {
				o.ids = append(o.ids, first)
				first++
			}
			o.create = true
		default:
			o.ids = []int64{alive[p.random.IntN(len(alive))]}
			if kind == 3 {
				o.version = gone
			}
		}
		p.begin(o)
		began := time.Now()
		p.note("begins %d of %d", o.version, o.ids)
		err := p.write(o)
		p.note("has %d of %d: %v", o.version, o.ids, err)
		p.end(o, err == nil)
		if errors.Is(err, groupcommit.ErrClosed) {
			return
		}
		if err == nil && o.create {
			alive = append(alive, o.ids...)
		}
		if err == nil && o.version == gone {
			alive = slices.DeleteFunc(alive, func(id int64) bool { return id == o.ids[0] })
		}
		if time.Since(began) > time.Minute {
			p.fault("a write took %v", time.Since(began))
		}
		p.sleep(time.Millisecond)
		p.check(o.ids[len(o.ids)-1])
	}
}

// write runs a write, maybe with a deadline. It returns what became of it.
func (p *party) write(o *op) error {
	ctx, limit := context.Background(), time.Duration(math.MaxInt64)
	if p.random.IntN(3) == 0 {
		limit = parties * time.Duration(1+p.random.Int64N(int64(10*time.Millisecond/parties)))
	}
	began := time.Now()
	onTime := func(err error) {
		if took := time.Since(began); took != limit {
			p.fault("a write with %v returned %v after %v", limit, err, took)
		}
	}
	if p.queue == nil {
		if limit < time.Minute {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		err := p.do(ctx, o)
		if errors.Is(err, context.DeadlineExceeded) { // it must not have begun
			onTime(err)
		} else if err != nil {
			p.fault("a write failed: %v", err)
		}
		return err
	}
	var expired <-chan time.Time
	if limit < time.Minute {
		expired = time.After(limit)
	}
	err := p.queue.Do(ctx, o, expired)
	switch {
	case errors.Is(err, groupcommit.ErrExpired):
		onTime(err)
		p.mu.Lock()
		begun := o.begun
		p.mu.Unlock()
		if begun { // it may succeed
			<-o.ended
			err = nil
		}
	case errors.Is(err, groupcommit.ErrClosed):
		select {
		case <-p.closed:
		default:
			p.fault("an open queue returned %v", err)
		}
	case err != nil:
		p.fault("a write failed: %v", err)
	}
	return err
}

// group runs a group of writes of the queue.
func (p *party) group(calls []*groupcommit.Call[*op]) {
	for _, c := range calls {
		o := c.Work
		p.mu.Lock()
		wrong := o.begun || o.failed
		o.begun = true
		p.mu.Unlock()
		if wrong {
			p.fault("the write %d of %d begins again, or after its client has seen it fail", o.version, o.ids)
		}
	}
	p.sleep(5 * time.Millisecond)
	for _, c := range calls {
		c.Err = p.do(context.Background(), c.Work)
		close(c.Work.ended)
	}
}

// check reads a plant as its only writer.
func (p *party) check(id int64) {
	p.mu.Lock()
	want := p.plants[id].done
	p.mu.Unlock()
	have := 0
	switch stored, err := p.store.Get(context.Background(), id); {
	case err == nil:
		have = version(&stored)
	case !errors.Is(err, plant.ErrNotFound):
		p.fault("Get(%d) = %v", id, err)
	case want == gone:
		have = gone
	}
	if have != want {
		p.fault("its plant %d has the version %d, want %d", id, have, want)
	}
	if info, err := os.Stat(p.path + "-wal"); err == nil && info.Size() > longestLog {
		p.fault("the log has %d bytes, want at most %d", info.Size(), longestLog)
	}
}

// longestLog is the length of the log at which a checkpoint is due, 1,000 pages, and that of
// a large group. Without checkpoints a schedule with large groups fills 2,000 pages.
const (
	pageSize   = 512
	longestLog = 1500 * (pageSize + 24)
)

func version(p *plant.Plant) (v int) {
	if p == nil {
		return gone
	}
	_, _ = fmt.Sscan(p.Name, &v)
	return v
}

// sees notes that a client has seen a version, and reports a state older than one that it has
// seen, and one that no write has stored.
func (p *party) sees(seen map[int64]int, id int64, v int) {
	p.mu.Lock()
	s := *p.plants[id]
	p.mu.Unlock()
	switch {
	case v < seen[id]:
		p.fault("plant %d has the version %d after %d", id, v, seen[id])
	case v > s.begun:
		p.fault("plant %d has the version %d, but only %d was begun", id, v, s.begun)
	case slices.Contains(s.failed, v) && v != gone:
		p.fault("plant %d has the version %d, whose write has failed", id, v)
	}
	seen[id] = v
}

// misses returns a plant of which a client has not seen what was written before a time. One that
// the client has never seen may be deleted already, before the delete returns.
func (p *party) misses(seen map[int64]int, before time.Time) (id int64, found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, s := range p.plants {
		if s.done > seen[id] && s.at.Before(before) && (s.begun != gone || seen[id] != 0) {
			return id, true
		}
	}
	return 0, false
}

// slowly lets a read of the store take longer, before and after it.
func (p *party) slowly(changes feed.Read) feed.Read {
	return func(ctx context.Context, after *plant.Position, limit int) ([]plant.Change, plant.Position, error) {
		began := time.Now()
		p.sleep(3 * time.Millisecond)
		all, next, err := changes(ctx, after, limit)
		p.sleep(3 * time.Millisecond)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.longest = max(p.longest, time.Since(began))
		return all, next, err
	}
}

// slowFeed is the feed that the poller reads.
type slowFeed struct {
	*sqlitestore.Store
	read feed.Read
}

func (f *slowFeed) Changes(
	ctx context.Context, after *plant.Position, limit int,
) ([]plant.Change, plant.Position, error) {
	return f.read(ctx, after, limit)
}

// pollTime is how often package feed looks for changes, at most; see there.
const pollTime = 10 * time.Millisecond

// follow follows the changes until the writers have ended and it has all changes. No change
// comes late: a client that waits gets it with the next read of the poller.
func (p *party) follow(f *feed.Feed, ended <-chan struct{}) {
	var after *plant.Position
	seen := map[int64]int{}
	read := p.slowly(p.store.Changes)
	for {
		p.sleep(2 * time.Second)
		wait, limit := time.Duration(p.random.Int64N(int64(time.Second))), 1+p.random.IntN(10)
		last := false
		select {
		case <-ended:
			wait, limit, last = 0, 1000, true
		default:
			if p.random.IntN(4) == 0 {
				wait = 0
			}
		}
		began := time.Now()
		p.note("waits %v", wait)
		page, err := f.Next(context.Background(), after, limit, wait, read)
		if err != nil {
			p.fault("Next = %v", err)
			return
		}
		now := time.Now()
		p.note("has %d changes", len(page.Changes))
		p.mu.Lock()
		late := pollTime + 3*p.longest // a read that is too early, that of the poller, and that of a client behind it
		first := now
		for _, c := range page.Changes {
			if s := p.plants[c.ID]; s.done > seen[c.ID] && s.at.Before(first) {
				first = s.at
			}
		}
		p.mu.Unlock()
		if first.Before(began) {
			first = began
		}
		if waited := now.Sub(first); len(page.Changes) > 0 && waited > late {
			p.fault("a change came %v after its commit, want at most %v", waited, late)
		}
		for i, c := range page.Changes {
			before := after
			if i > 0 {
				before = &page.Changes[i-1].Position
			}
			if before != nil && before.Walk == nil && cmp.Or(
				cmp.Compare(before.At, c.Position.At), cmp.Compare(before.Index, c.Position.Index)) >= 0 {
				p.fault("the change at %+v came after that at %+v", c.Position, before)
			}
		}
		for _, c := range page.Changes {
			p.sees(seen, c.ID, version(c.Plant))
		}
		complete := now // what was written before must be there
		switch {
		case page.IsLast(began):
			complete = began
		case len(page.Changes) == 0:
			complete = now.Add(-late)
		default:
			complete = p.began
		}
		if id, missed := p.misses(seen, complete); missed {
			p.fault("it lacks a change of plant %d", id)
		}
		after = &page.Next
		if last && len(page.Changes) == 0 {
			return
		}
	}
}

// list lists all plants, until the writers have ended.
func (p *party) list(ended <-chan struct{}) {
	seen := map[int64]int{}
	for last := false; !last; {
		p.sleep(time.Second)
		select {
		case <-ended:
			last = true
		default:
		}
		began := time.Now()
		plants, _, err := p.store.List(context.Background(), plant.Page{Limit: 100_000})
		if err != nil {
			p.fault("List = %v", err)
			return
		}
		p.note("has %d plants", len(plants))
		now := map[int64]int{}
		for i := range plants {
			now[plants[i].ID] = version(&plants[i])
		}
		for id := range seen {
			if now[id] == 0 {
				p.sees(seen, id, gone)
			}
		}
		for id, v := range now {
			p.sees(seen, id, v)
		}
		if id, missed := p.misses(seen, began); missed {
			p.fault("it lacks plant %d", id)
		}
		p.mu.Lock()
		half := slices.ContainsFunc(plants, func(one plant.Plant) bool {
			return slices.ContainsFunc(p.plants[one.ID].batch, func(id int64) bool {
				return now[id] == 0 && p.plants[id].begun != gone
			})
		})
		p.mu.Unlock()
		if half {
			p.fault("it has half a batch")
		}
	}
}

// run runs the schedule of a seed on a copy of an empty store, and returns what has happened.
func runSchedule(t *testing.T, seed uint64, empty []byte) (events []happening) {
	folder, err := os.MkdirTemp(inMemory, "plantstore-schedule-")
	must.NoError(t, err)
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, storeName)
	must.NoError(t, os.WriteFile(path, empty, 0o600))
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := &schedule{
			seed: seed, path: path, large: seed%8 == 0, slow: 1 << (2 + random.IntN(16)), pauses: time.Millisecond << (2 * random.IntN(6)),
			began: time.Now(), closed: make(chan struct{}), plants: map[int64]*state{}, disk: map[uintptr]*party{},
		}
		s.store, err = sqlitestore.Open(t.Context(), path)
		must.NoError(t, err)
		pause = s.pause
		defer func() { pause = nil }()
		if seed%2 == 1 { // as the store of PostgreSQL: each write with a limit
			s.queue = groupcommit.New(1+random.IntN(4), s.party(committer, "committer").group)
		}
		f := feed.New(&slowFeed{s.store, s.party(poller, "poller").slowly(s.store.Changes)})
		var writers, others sync.WaitGroup
		for i := range 4 {
			writers.Go(func() { s.party(firstWriter+i, "writer").writer(int64(i+1)*1_000_000, 12) })
		}
		ended, all := make(chan struct{}), make(chan struct{})
		for i := range 1 + random.IntN(3) {
			others.Go(func() { s.party(firstFollower+i, "follower").follow(f, ended) })
		}
		others.Go(func() { s.party(lister, "list").list(ended) })
		main := s.party(0, "main")
		go func() {
			if s.queue != nil && seed%3 == 0 { // while they write
				main.sleep(100 * time.Millisecond)
				close(s.closed)
				s.queue.Close()
				main.note("the queue is closed")
			}
			writers.Wait()
			close(ended)
			others.Wait()
			if s.queue != nil && seed%3 != 0 {
				close(s.closed)
				s.queue.Close()
			}
			f.Stop()
			close(all)
		}()
		select {
		case <-all:
			expect.NoError(t, s.store.Close())
		case <-time.After(10 * time.Minute):
			main.fault("a call never returns")
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		events = slices.SortedFunc(slices.Values(s.events), func(a, b happening) int { // which is first in an instant does not count
			return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.what, b.what))
		})
		for i, e := range events {
			if len(s.faults) > 0 && i > len(events)-40 {
				t.Logf("%12v %.200s", e.at, e.what)
			}
		}
		for _, fault := range s.faults[:min(10, len(s.faults))] {
			t.Error(fault)
		}
	})
	return events
}

// emptyStore returns the file of a store whose pages are small, so that few plants fill
// the log.
func emptyStore(t *testing.T) []byte {
	path := filepath.Join(t.TempDir(), storeName)
	s, err := sqlitestore.Open(t.Context(), path)
	must.NoError(t, err)
	must.NoError(t, s.BeginEpoch(t.Context()))
	must.NoError(t, s.Close())
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must.NoError(t, err)
	for _, statement := range []string{"PRAGMA journal_mode = DELETE", fmt.Sprint("PRAGMA page_size = ", pageSize), "VACUUM"} {
		must.NoError(t, sqlitex.ExecuteTransient(conn, statement, nil))
	}
	must.NoError(t, conn.Close())
	content, err := os.ReadFile(path)
	must.NoError(t, err)
	return content
}

// TestSchedules tries many schedules. The name of a test that fails has the seed, and repeats
// the schedule.
func TestSchedules(t *testing.T) {
	empty := emptyStore(t)
	n, all, repeated, other := must.Number(t, "PLANTSTORE_TEST_SCHEDULES", 16), 0, 0, 0
	for seed := range uint64(n) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			events := runSchedule(t, seed, empty)
			all += len(events)
			if seed%8 == 1 && repeated < 25 && !t.Failed() {
				repeated++
				if !slices.Equal(events, runSchedule(t, seed, empty)) {
					other++
				}
			}
		})
	}
	t.Logf("figures: %d schedules with %d events; of %d repeated ones %d were another one", n, all, repeated, other)
	// The poller of package feed may find two channels ready, and Go takes one at random.
	if other > repeated/5 {
		t.Errorf("of %d schedules, %d were another one when repeated: the seed does not decide them", repeated, other)
	}
}
