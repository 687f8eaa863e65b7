package powercut

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
)

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
