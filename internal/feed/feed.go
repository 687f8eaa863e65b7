// Package feed lets any number of clients wait for the changes of a store.
//
// One goroutine, the poller, reads the newest changes while at least one client
// waits, and shares each page with all clients that have read everything before it.
// A client that is further behind reads from the store itself, until it has caught
// up.
package feed

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

const (
	// interval is how often the poller looks for commits of other programs. Commits
	// of this one wake it at once.
	interval = 100 * time.Millisecond

	// gap is the minimum time between two reads of the poller. Under load the changes
	// of this time share a page, which costs one read and one write to each client.
	gap = 10 * time.Millisecond

	// idleTime is how long the poller continues after the last client has stopped
	// waiting. A client does not wait while it writes a page to its connection.
	idleTime = time.Second

	// readTime limits a read of the poller.
	readTime = 10 * time.Second

	pageLimit = 1000 // changes that the poller reads at once

	// keptPages is how many pages the poller keeps for clients that are a little behind. A page
	// ends at [plant.MaxPage], so with its text it takes up to 800 KiB.
	keptPages = 40
)

// Feed shares the changes of a store among clients. Its methods may be called from
// several goroutines at the same time.
type Feed struct {
	store   plant.Feed
	added   store.Signal    // a page was added, or the poller has ended
	ctx     context.Context // of the poller; ends with Stop
	stop    context.CancelFunc
	polling sync.WaitGroup

	mu      sync.Mutex
	waiting int            // clients
	left    time.Time      // when the last client stopped waiting
	running bool           // the poller
	tip     plant.Position // the end of the newest page
	read    time.Time      // when the poller began the read of tip
	pages   []*Page        // the newest pages; each begins where the one before ends
}

// New returns a feed of the changes of a store.
func New(changes plant.Feed) *Feed {
	f := &Feed{store: changes}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// Stop ends every wait, and waits for the poller. It may be called more than once.
func (f *Feed) Stop() {
	f.mu.Lock()
	f.stop() // no poller starts any more
	f.mu.Unlock()
	f.polling.Wait()
}

// Stopped returns a channel that is closed by Stop.
func (f *Feed) Stopped() <-chan struct{} { return f.ctx.Done() }

// Page is a page of the feed. Clients share pages and must not change them.
type Page struct {
	Changes []plant.Change
	Next    plant.Position // after the last change

	own  bool           // was read for the request that got it
	read time.Time      // when the poller began to read it
	from plant.Position // before the first change
	once sync.Once
	text []byte
}

// IsLast reports whether the page has every change that was committed before a request
// began. A page that is older than the request may have them all, too, but IsLast is false.
func (p *Page) IsLast(began time.Time) bool {
	return p.Next.IsLast() && (p.own || p.read.After(began))
}

// Text returns the result of encode for the page. It is called once for each page, so all
// calls must have the same function.
func (p *Page) Text(encode func(*Page) []byte) []byte {
	p.once.Do(func() { p.text = encode(p) })
	return p.text
}

// Next returns at most limit changes after a position; see [plant.Feed]. If there
// are none, it waits until there is one, but at most for the given time or until
// [Feed.Stop]. Then it returns a page without changes. The position of that page may
// be newer than the given one. Without a wait, Next reads the store.
func (f *Feed) Next(ctx context.Context, after *plant.Position, limit int, wait time.Duration) (*Page, error) {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for joined := false; ; {
		added := f.added.Wait()
		page, err := f.page(ctx, after, limit, wait > 0)
		if err != nil {
			return nil, err
		}
		if len(page.Changes) > 0 || wait <= 0 {
			return page, nil
		}
		after = &page.Next
		f.startPoller(*after, !joined)
		if !joined {
			defer f.leave()
			joined = true
		}
		select {
		case <-added:
		case <-deadline.C:
			return cmp.Or(f.recent(after, limit), page), nil
		case <-f.Stopped():
			return page, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// page returns the changes after a position, of the poller if it has them and they may be shared,
// and otherwise of the store.
func (f *Feed) page(ctx context.Context, after *plant.Position, limit int, shared bool) (*Page, error) {
	if shared {
		if page := f.recent(after, limit); page != nil {
			return page, nil
		}
	}
	changes, next, err := f.store.Changes(ctx, after, limit)
	return &Page{Changes: changes, Next: next, own: true}, err
}

// recent returns the changes after a position from the pages of the poller. The page
// has no changes if the position is that of the poller, and is nil if the poller does
// not have the changes.
//
// A page may be older than what the client has read. Then the client reads from the store.
func (f *Feed) recent(after *plant.Position, limit int) *Page {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.running || store.InWalk(after) {
		return nil
	}
	if after.Compare(f.tip) == 0 && isUpTo(*after, f.tip) {
		return &Page{Next: f.tip, read: f.read}
	}
	endsLater := func(i int) bool { return f.pages[i].Next.Compare(*after) > 0 }
	first := sort.Search(len(f.pages), endsLater)
	if first == len(f.pages) {
		return nil
	}
	page := f.pages[first]
	beginsLater := page.from.Compare(*after) > 0
	if beginsLater || !isUpTo(*after, page.Next) {
		return nil
	}
	return page.after(*after, limit)
}

// isUpTo reports whether a client has seen nothing that is newer than a page with an end.
func isUpTo(client, end plant.Position) bool {
	return client.Epoch == end.Epoch && client.Seen <= end.Seen
}

// after returns the changes of the page after a position.
func (p *Page) after(after plant.Position, limit int) *Page {
	changes := p.Changes
	for len(changes) > 0 && changes[0].Position.Compare(after) <= 0 {
		changes = changes[1:]
	}
	if len(changes) == len(p.Changes) && len(changes) <= limit {
		return p
	}
	next := p.Next
	if len(changes) > limit {
		changes, next = changes[:limit], changes[limit-1].Position
	}
	return &Page{Changes: changes, Next: next, read: p.read}
}

// startPoller starts the poller for a client that waits, and counts the client if it is
// new. If the poller does not run yet, and Stop was not called, it begins after a
// position that has no changes yet.
func (f *Feed) startPoller(after plant.Position, newClient bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if newClient {
		f.waiting++
	}
	if !f.running && f.ctx.Err() == nil {
		f.running, f.tip, f.read = true, after, time.Time{}
		f.polling.Go(f.poll)
	}
}

func (f *Feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.left = time.Now()
	}
}

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
	defer f.mu.Unlock()
	f.tip, f.read = next, began
	if len(changes) > 0 {
		f.add(&Page{Changes: changes, Next: next, read: began, from: tip})
		f.added.Send()
	}
	return next.At < next.Seen, nil
}

// add adds a page, and drops the oldest of too many.
func (f *Feed) add(p *Page) {
	f.pages = append(f.pages, p)
	if len(f.pages) > keptPages {
		f.pages = slices.Delete(f.pages, 0, 1)
	}
}

// done reports whether the poller ends: after Stop, if no client has waited for
// idleTime, or if the tip is not a valid position any more. In the last case the clients
// read from the store and get its error. After any other error the poller tries again.
func (f *Feed) done(err error) bool {
	isPermanent := errors.Is(err, plant.ErrNoChanges) || errors.Is(err, plant.ErrPosition)
	if isPermanent || f.ctx.Err() != nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting == 0 && time.Since(f.left) > idleTime
}

// end drops the pages of the poller, and lets the clients read from the store.
func (f *Feed) end() {
	f.mu.Lock()
	f.running, f.pages = false, nil
	f.mu.Unlock()
	f.added.Send()
}
