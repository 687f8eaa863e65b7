package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"

	"github.com/plantstore/plantstore/internal/transfer"
)

const (
	barEvery  = 200 * time.Millisecond
	lineEvery = 5 * time.Second
)

// progress reports how far a long command has come: a bar on a terminal, a line
// every few seconds otherwise. A copy counts plants where import counts bytes.
type progress struct {
	out     io.Writer
	bar     *progressbar.ProgressBar // nil: lines
	started time.Time
	service *transfer.Service
	stop    context.CancelFunc
	stopped chan struct{}

	phase           atomic.Value // string, of a copy
	plants, refused atomic.Int64
	bytes           atomic.Int64 // read so far
	total           atomic.Int64 // of bytes; 0: unknown

	mu sync.Mutex // for out
}

// startProgress starts the reports; finish ends them. The total is in bytes; 0 if
// it is unknown.
func startProgress(out io.Writer, total int64, service *transfer.Service) *progress {
	ctx, cancel := context.WithCancel(context.Background())
	p := &progress{out: out, started: time.Now(), service: service, stop: cancel, stopped: make(chan struct{})}
	p.total.Store(total)
	every := lineEvery
	if isTerminal(out) {
		every = barEvery
		length := total
		if length == 0 {
			length = -1 // a spinner
		}
		p.bar = progressbar.NewOptions64(length,
			progressbar.OptionSetWriter(out),
			progressbar.OptionSetWidth(20),
			progressbar.OptionThrottle(0), // the ticker below does that
			progressbar.OptionClearOnFinish(),
			progressbar.OptionSetSpinnerChangeInterval(0),
		)
	}
	go func() {
		defer close(p.stopped)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				p.tell()
			}
		}
	}()
	return p
}

// tell reports the progress once.
func (p *progress) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		fmt.Fprintln(p.out, p.line())
		return
	}
	p.bar.Describe(p.counts())
	if total := p.total.Load(); total > 0 {
		p.bar.ChangeMax64(total)
	}
	_ = p.bar.Set64(p.bytes.Load())
}

// counts returns the number of plants and their rate.
func (p *progress) counts() string {
	plants := p.plants.Load()
	text := humanize.Comma(plants) + " plants"
	if phase, ok := p.phase.Load().(string); ok {
		text = phase + ": " + text
	}
	if refused := p.refused.Load(); refused > 0 {
		text += ", " + humanize.Comma(refused) + " refused"
	}
	if wait := p.service.Waiting(); wait != nil {
		text += fmt.Sprintf(", waiting for the service for %v", time.Since(wait.Since).Round(time.Second))
		if wait.Most > 0 {
			text += fmt.Sprintf(" (at most %v)", wait.Most)
		}
		return text
	}
	return fmt.Sprintf("%s, %s a second", text, humanize.Comma(int64(float64(plants)/p.elapsed().Seconds())))
}

// line returns counts, and what a bar would show.
func (p *progress) line() string {
	if wait := p.service.Waiting(); wait != nil {
		return fmt.Sprintf("%s: %v", p.counts(), wait.Reason)
	}
	done, total := p.bytes.Load(), p.total.Load()
	if total == 0 || done == 0 {
		return p.counts()
	}
	part := min(float64(done)/float64(total), 1)
	left := time.Duration(float64(p.elapsed()) * (1 - part) / part)
	return fmt.Sprintf("%s, %.0f%%, %v left", p.counts(), 100*part, left.Round(time.Second))
}

func (p *progress) elapsed() time.Duration { return max(time.Since(p.started), time.Millisecond) }

// say prints a line above the bar.
func (p *progress) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear() // tell draws it again
	}
	fmt.Fprintln(p.out, strings.TrimSuffix(line, "\n"))
}

// finish removes the bar and ends the reports.
func (p *progress) finish() {
	p.stop()
	<-p.stopped
	if p.bar != nil {
		_ = p.bar.Clear()
		_ = p.bar.Exit()
	}
}

// Write counts the bytes that are copied to p.
func (p *progress) Write(b []byte) (int, error) {
	p.bytes.Add(int64(len(b)))
	return len(b), nil
}
