package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"
)

// A Replica is a copy of all plants of a service in memory, which follows their changes:
//
//	plants, ended := client.NewReplica(c, nil), make(chan error, 1)
//	go func() { ended <- plants.Run(ctx) }()
//	select {
//	case <-plants.Ready():
//	case err := <-ended:
//		return err
//	}
//
// It is safe for concurrent use. It is empty until Run has read all plants, and keeps what it
// has while the service is not available.
type Replica struct {
	client   *Client
	onChange func(before, after *Plant)
	ready    chan struct{}

	mu     sync.RWMutex
	plants map[int64]*Plant // only Run writes; nil: Run has not read all plants yet
}

// NewReplica returns an empty replica, which [Replica.Run] fills. If onChange is not nil,
// Run calls it for each plant that is new (before is nil), has changed, or was deleted (after
// is nil), after the replica has the change. The calls come one after another, and Run waits
// for each. OnChange may read the replica, but must not change the two plants.
func NewReplica(c *Client, onChange func(before, after *Plant)) *Replica {
	if onChange == nil {
		onChange = func(before, after *Plant) {}
	}
	return &Replica{client: c, onChange: onChange, ready: make(chan struct{})}
}

// Run reads all plants and applies every change, until ctx ends, and returns ctx.Err(). Any
// other error that ends [Client.Changes] ends Run, too, except [ErrPositionGone]: then Run
// reads all plants again. Until it has them, the replica keeps the plants of before. Then it
// replaces them all in one step, and calls onChange for each difference. Call Run once.
func (r *Replica) Run(ctx context.Context) error {
	// A fill takes all plants, without waiting: only then a page says whether it is the last.
	fill, wait, after := map[int64]*Plant{}, int32(0), Position("")
	for client, current := r.client, ctx; ; client, current = r.client.patient(ctx) {
		page, err := client.changesAfter(current, after, wait)
		if errors.Is(err, ErrPositionGone) {
			fill, wait, after = map[int64]*Plant{}, 0, ""
			if err = r.client.pause(withoutDeadline{ctx}, 1, err); err == nil {
				continue
			}
		}
		if err != nil {
			return cmp.Or(ctx.Err(), err)
		}
		for _, change := range page.Changes {
			if fill != nil {
				change.apply(fill)
			} else {
				r.apply(change)
			}
		}
		if fill != nil && page.last() {
			r.replace(fill)
			fill, wait = nil, r.client.wait
		}
		after = page.Position
	}
}

// apply stores or removes a plant.
func (c Change) apply(plants map[int64]*Plant) {
	if c.Plant == nil {
		delete(plants, c.ID)
	} else {
		plants[c.ID] = c.Plant
	}
}

func (r *Replica) apply(c Change) {
	before := r.plants[c.ID]
	r.mu.Lock()
	c.apply(r.plants)
	r.mu.Unlock()
	r.tell(before, c.Plant)
}

// replace replaces all plants at once.
func (r *Replica) replace(plants map[int64]*Plant) {
	old := r.plants
	r.mu.Lock()
	r.plants = plants
	r.mu.Unlock()
	for id, p := range old {
		if plants[id] == nil {
			r.tell(p, nil)
		}
	}
	for id, p := range plants {
		r.tell(old[id], p)
	}
	if old == nil {
		close(r.ready)
	}
}

// tell calls onChange if there is a difference: a change can appear more than once.
func (r *Replica) tell(before, after *Plant) {
	if versionOf(before) != versionOf(after) {
		r.onChange(before, after)
	}
}

// versionOf returns the version of a plant, which is empty if there is none.
func versionOf(plant *Plant) ETag {
	if plant == nil {
		return ""
	}
	return plant.ETag
}

// Ready returns a channel that is closed when the replica has all plants and onChange has
// returned for each. If Run returns before that, it stays open.
func (r *Replica) Ready() <-chan struct{} { return r.ready }

// Get returns a copy of a plant and whether there is one.
func (r *Replica) Get(id int64) (Plant, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if p := r.plants[id]; p != nil {
		return p.clone(), true
	}
	return Plant{}, false
}

// Len returns the number of plants.
func (r *Replica) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.plants)
}

// All returns copies of the plants at the time when the loop begins, in the order of their
// ids. It sorts all plants for each loop: to find some of many, keep an index in onChange.
func (r *Replica) All() iter.Seq[Plant] {
	return func(yield func(Plant) bool) {
		r.mu.RLock()
		plants := slices.Collect(maps.Values(r.plants))
		r.mu.RUnlock()
		slices.SortFunc(plants, func(p, q *Plant) int { return cmp.Compare(p.ID, q.ID) })
		for _, p := range plants {
			if !yield(p.clone()) {
				return
			}
		}
	}
}
