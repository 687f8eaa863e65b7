package feed

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
)

// poll reads the newest changes until no client waits.
func (f *Feed) poll() {
	defer f.end()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		began := time.Now()
		changed := f.store.Changed()
		more, err := f.readPage()
		if f.done(err) {
			return
		}
		if more {
			continue
		}
		select {
		case <-changed:
			pause(f.ctx, gap-time.Since(began))
		case <-tick.C:
		case <-f.ctx.Done():
		}
	}
}

// readPage adds a page of the changes after the tip, and reports whether there may
// be more.
func (f *Feed) readPage() (more bool, err error) {
	ctx, cancel := context.WithTimeout(f.ctx, readTime)
	defer cancel()
	tip, began := f.tip, time.Now() // only the poller changes the tip
	changes, next, err := f.store.Changes(ctx, &tip, pageLimit)
	if err != nil {
		return false, err
	}
	f.mu.Lock()
	f.tip, f.read = next, began
	if len(changes) > 0 {
		f.add(&Page{Changes: changes, Next: next, Shared: true, read: began, from: tip})
	}
	f.mu.Unlock()
	if len(changes) > 0 {
		f.added.Send()
	}
	return next.At < next.Seen, nil
}

// add adds a page.
func (f *Feed) add(p *Page) {
	p.bytes = p.Size()
	f.pages, f.bytes = append(f.pages, p), f.bytes+p.bytes
	f.dropOldest()
}

// dropOldest drops the oldest pages if the pages take too much memory.
func (f *Feed) dropOldest() {
	for len(f.pages) > 1 && f.bytes > keptBytes {
		f.bytes -= f.pages[0].bytes
		f.pages = slices.Delete(f.pages, 0, 1)
	}
}

// done reports whether the poller ends: no client has waited for a while, or the
// position is not valid any more. Then each client reads from the store, which tells
// it so. After any other error the poller tries again.
func (f *Feed) done(err error) bool {
	if _, ok := errors.AsType[plant.NoChangesError](err); ok || errors.Is(err, plant.ErrPosition) || f.ctx.Err() != nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting == 0 && time.Since(f.left) > linger
}

// end drops the pages of the poller, and lets the clients read from the store.
func (f *Feed) end() {
	f.mu.Lock()
	f.running, f.pages, f.bytes = false, nil, 0
	f.mu.Unlock()
	f.added.Send()
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
