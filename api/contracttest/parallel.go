package contracttest

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
)

// Tests that run at the same time must not see each other's work, or a right service would be accused: a list that
// is read page by page changes while another test creates something in it. Tests of one request do not look at
// others. Sequences do, so those of one area of the service run one after the other, beside those of other areas, and not beside
// tests of one request. And each phase of a run ends before the next one begins: what may end the service still comes last.

// tryTogether tries tests, at most so many at a time.
func (c *Contract) tryTogether(ctx context.Context, most int, try func(Case)) {
	g := together{try: try, slots: make(chan struct{}, most), sequences: map[string][]Case{}}
	phase := plan.FirstRequests
	for test := range c.Tests(ctx) {
		area := test.test.Area // empty: a test of one request
		isAfterSequences := len(g.sequences) > 0 && area == ""
		if test.test.Phase != phase || isAfterSequences {
			g.finish()
			phase = test.test.Phase
		}
		switch {
		case phase == plan.FirstRequests: // which tests come next depends on it
			try(test)
		case area != "":
			g.sequences[area] = append(g.sequences[area], test)
		default:
			g.begin(test)
		}
	}
	g.finish()
}

// together are tests that run at the same time, and the sequences that run when these have ended.
type together struct {
	try       func(Case)
	slots     chan struct{} // as many as tests may run
	running   sync.WaitGroup
	sequences map[string][]Case // by area
}

// begin begins a test, when a slot is free.
func (g *together) begin(test Case) {
	g.slots <- struct{}{}
	g.running.Go(func() {
		g.try(test)
		<-g.slots
	})
}

// finish waits for the tests that were begun, and runs the sequences: those of one area one after the other.
func (g *together) finish() {
	g.running.Wait()
	for _, tests := range g.sequences {
		g.running.Go(func() {
			for _, test := range tests {
				g.slots <- struct{}{}
				g.try(test)
				<-g.slots
			}
		})
	}
	g.running.Wait()
	clear(g.sequences)
}

// pairs is a handler whose requests begin two by two. The race detector takes what one request does after another one
// has been written for ordered, and most handlers end within microseconds: without it they would hardly ever meet.
type pairs struct {
	next http.Handler

	mu      sync.Mutex
	waiting chan struct{} // closed by the second one; nil: no request waits
}

// longestWait is how long a request waits for another one.
const longestWait = time.Millisecond

// ServeHTTP waits for another request, but not for long. Nothing orders what the two do then.
func (p *pairs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if met := p.meet(); met != nil {
		select {
		case <-met:
		case <-time.After(longestWait):
			p.leave(met)
		}
	}
	p.next.ServeHTTP(w, r)
}

// meet lets the request that waits begin, and returns nil; or, if none waits, returns what is closed when another one comes.
func (p *pairs) meet() (met chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting != nil {
		close(p.waiting)
		p.waiting = nil
		return nil
	}
	p.waiting = make(chan struct{})
	return p.waiting
}

// leave ends the wait of a request, unless another one has come meanwhile.
func (p *pairs) leave(met chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == met {
		p.waiting = nil
	}
}
