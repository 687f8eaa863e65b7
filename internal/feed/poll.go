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
			time.Sleep(gap - time.Since(began))
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

// done reports whether the poller ends: after Stop, if no client has waited for
// idleTime, or if the tip is not a valid position any more. In the last case the clients
// read from the store and get its error. After any other error the poller tries again.
func (f *Feed) done(err error) bool {
	_, noFeed := errors.AsType[plant.NoChangesError](err)
	if noFeed || errors.Is(err, plant.ErrPosition) || f.ctx.Err() != nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting == 0 && time.Since(f.left) > idleTime
}

// end drops the pages of the poller, and lets the clients read from the store.
func (f *Feed) end() {
	f.mu.Lock()
	f.running, f.pages, f.bytes = false, nil, 0
	f.mu.Unlock()
	f.added.Send()
}
