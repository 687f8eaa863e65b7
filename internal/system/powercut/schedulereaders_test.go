package powercut

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/plantstore/plantstore/internal/feed"
	"github.com/plantstore/plantstore/internal/plant"
	sqlitestore "github.com/plantstore/plantstore/internal/store/sqlite"
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

// slowFeed is a feed whose reads take longer, before and after the read of the store.
type slowFeed struct {
	*sqlitestore.Store
	poller *party
}

// reader is the key of the party that reads, in the context of a read. The poller has none.
type reader struct{}

func (f *slowFeed) Changes(
	ctx context.Context, after *plant.Position, limit int,
) ([]plant.Change, plant.Position, error) {
	p, ok := ctx.Value(reader{}).(*party)
	if !ok {
		p = f.poller
	}
	began := time.Now()
	p.sleep(3 * time.Millisecond)
	all, next, err := f.Store.Changes(ctx, after, limit)
	p.sleep(3 * time.Millisecond)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.longest = max(p.longest, time.Since(began))
	return all, next, err
}

// pollTime is how often package feed looks for changes, at most; see there.
const pollTime = 10 * time.Millisecond

// follow follows the changes until the writers have ended and it has all changes. No change
// comes late: a client that waits gets it with the next read of the poller.
func (p *party) follow(f *feed.Feed, ended <-chan struct{}) {
	var after *plant.Position
	seen := map[int64]int{}
	ctx := context.WithValue(context.Background(), reader{}, p)
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
		page, err := f.Next(ctx, after, limit, wait)
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

// allPlants returns all plants, and how many pages they take: each page is of one moment.
func allPlants(ctx context.Context, s *sqlitestore.Store) (plants []plant.Plant, pages int, err error) {
	page := plant.Page{Limit: 1000}
	for more := true; more; pages++ {
		var found []plant.Plant
		if found, more, err = s.List(ctx, page); err != nil {
			return nil, 0, err
		}
		if plants = append(plants, found...); len(plants) > 0 {
			page.After = &plants[len(plants)-1].ID
		}
	}
	return plants, pages, nil
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
		plants, pages, err := allPlants(context.Background(), p.store)
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
		if half && pages == 1 {
			p.fault("it has half a batch")
		}
	}
}
