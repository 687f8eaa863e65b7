package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/mattn/go-isatty"

	"github.com/plantstore/plantstore/internal/ticker"
	"github.com/plantstore/plantstore/internal/transfer"
)

const (
	redrawEvery = 200 * time.Millisecond
	lineEvery   = 5 * time.Second
)

// reports prints a text again and again while a command works: in one line of a terminal
// that changes, or a new line every few seconds.
type reports struct {
	out  io.Writer
	stop func()

	mu    sync.Mutex // for width and out
	width int        // of the text in the line that changes
}

// startReports starts reports of text, which is left out while it is empty. Call finish
// to end them.
func startReports(out io.Writer, inPlace bool, text func() string) *reports {
	r := &reports{out: out}
	every := lineEvery
	if inPlace {
		every = redrawEvery
	}
	r.stop = ticker.Start(context.Background(), every, func(context.Context) {
		if line := text(); line != "" {
			r.print(line, !inPlace)
		}
	})
	return r
}

// print prints a line in place of the one that changes. If keep is true, it stays.
func (r *reports) print(line string, keep bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.width > 0 {
		fmt.Fprintf(r.out, "\r%*s\r", r.width, "")
	}
	r.width = 0
	if keep {
		line += "\n"
	} else {
		r.width = utf8.RuneCountInString(line)
	}
	fmt.Fprint(r.out, line)
}

// say prints a line that stays.
func (r *reports) say(line string) { r.print(line, true) }

// finish ends the reports.
func (r *reports) finish() {
	r.stop()
	r.print("", false)
}

// progress reports how far import, export or copy has come. A copy counts plants where
// import counts bytes.
type progress struct {
	*reports
	inPlace bool
	started time.Time
	service *transfer.Service

	phase           atomic.Value // string, of a copy
	plants, refused atomic.Int64
	bytes           atomic.Int64 // read so far
	total           atomic.Int64 // of bytes; 0: unknown
}

// startProgress starts the reports; finish ends them. The total is in bytes; 0 if
// it is unknown.
func startProgress(out io.Writer, total int64, service *transfer.Service) *progress {
	p := &progress{inPlace: isTerminal(out), started: time.Now(), service: service}
	p.total.Store(total)
	p.reports = startReports(out, p.inPlace, p.line)
	return p
}

// line returns how many plants there are, and what is left or what the command waits for.
// A line of a terminal that changes must be short, so it has no reason.
func (p *progress) line() string {
	plants := p.plants.Load()
	text := amount(int(plants), "plant")
	if phase, ok := p.phase.Load().(string); ok {
		text = phase + ": " + text
	}
	if refused := p.refused.Load(); refused > 0 {
		text += ", " + humanize.Comma(refused) + " refused"
	}
	if wait := p.service.Waiting(); wait != nil {
		text += ", " + wait.String()
		if !p.inPlace {
			text += ": " + wait.Reason.Error()
		}
		return text
	}
	text += fmt.Sprintf(", %s a second", humanize.Comma(int64(float64(plants)/p.elapsed().Seconds())))
	done, total := p.bytes.Load(), p.total.Load()
	if total == 0 || done == 0 {
		return text
	}
	part := min(float64(done)/float64(total), 1)
	left := time.Duration(float64(p.elapsed()) * (1 - part) / part)
	return fmt.Sprintf("%s, %.0f%%, %v left", text, 100*part, left.Round(time.Second))
}

func (p *progress) elapsed() time.Duration {
	return max(time.Since(p.started).Round(time.Millisecond), time.Millisecond)
}

// Write counts the bytes that are copied to p.
func (p *progress) Write(b []byte) (int, error) {
	p.bytes.Add(int64(len(b)))
	return len(b), nil
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
