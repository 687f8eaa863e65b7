package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// requestLog logs requests. A disk that is full makes thousands of requests fail
// in a second, so it logs that the store is not available any more, and when it
// is again, and bounds the lines about single requests.
type requestLog struct {
	log    *slog.Logger
	all    bool                // log every request, not only failed and slow ones
	slow   time.Duration       // from here on a request is slow; 0: none is
	redact func(string) string // makes the tokens in a text useless

	failed, cut, late lineLimit
	reads, writes     outage // a full disk lets reads succeed
}

func newRequestLog(log *slog.Logger, all bool, slow time.Duration, redact func(string) string) *requestLog {
	return &requestLog{
		log: log, all: all, slow: slow, redact: redact,
		failed: lineLimit{log: log, line: "request failed"},
		cut:    lineLimit{log: log, line: "answer cut short"},
		late:   lineLimit{log: log, line: "slow request"},
		reads:  outage{log: log, scope: token.Read},
		writes: outage{log: log, scope: token.Write},
	}
}

// end logs a request that has ended, if it is one to log.
func (l *requestLog) end(rec *responseRecorder, r *http.Request, took time.Duration, broken bool) {
	l.noteStore(rec)
	switch {
	case broken:
		l.limited(&l.failed, rec, r, took, slog.LevelError, rec.err)
	case rec.cut != nil:
		l.limited(&l.cut, rec, r, took, slog.LevelWarn, rec.cut)
	case l.slow > 0 && took >= l.slow:
		l.limited(&l.late, rec, r, took, slog.LevelWarn, nil)
	case l.all:
		l.write(rec, r, took, slog.LevelInfo, "request", nil)
	}
}

// noteStore tells the outage that a request belongs to how the request went.
func (l *requestLog) noteStore(rec *responseRecorder) {
	if rec.operation == nil {
		return
	}
	o := &l.reads
	if rec.operation.scope == token.Write {
		o = &l.writes
	}
	switch {
	case errors.Is(rec.err, plant.ErrUnavailable):
		o.failed(l.redact(rec.err.Error()))
	case rec.code == 0 && rec.cut == nil:
		o.succeeded()
	}
}

// limited logs a request unless there were too many of its kind. If all requests
// are to be logged, there are never too many.
func (l *requestLog) limited(limit *lineLimit, rec *responseRecorder, r *http.Request, took time.Duration, level slog.Level, err error) {
	if l.all || limit.allow() {
		l.write(rec, r, took, level, limit.line, err)
	}
}

// write logs a request: who asked for what, and what became of it. Neither
// header, query nor body is ever logged; what is might still hold a token that
// somebody put in the wrong place.
func (l *requestLog) write(rec *responseRecorder, r *http.Request, took time.Duration, level slog.Level, message string, err error) {
	attrs := []slog.Attr{
		slog.String("request_id", rec.requestID),
		slog.String("method", l.redact(r.Method)),
		slog.String("path", l.redact(r.URL.Path)),
		slog.Int("status", rec.status),
		slog.Float64("seconds", took.Seconds()),
		slog.Int64("bytes", rec.bytes),
		slog.String("remote", r.RemoteAddr),
	}
	if rec.operation != nil {
		attrs = append(attrs, slog.String("operation", rec.operation.id))
	}
	if rec.caller != "" {
		attrs = append(attrs, slog.String("token", rec.caller))
	}
	if rec.code != 0 {
		attrs = append(attrs, slog.Int("error", int(rec.code)))
	}
	if err != nil {
		attrs = append(attrs, slog.String("err", l.redact(err.Error())))
	}
	l.log.LogAttrs(context.WithoutCancel(r.Context()), level, message, attrs...)
}

// maxLines is how many lines of a kind are logged in a second.
const maxLines = 10

// lineLimit bounds lines of one kind. It logs how many were left out, once the
// second is over: rate.Limiter does not count them, and allows a burst beside
// its rate.
type lineLimit struct {
	log  *slog.Logger
	line string

	mu      sync.Mutex
	logged  int // in this second, which begins with the first line
	leftOut int
}

// allow reports whether the line is to be logged.
func (l *lineLimit) allow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.logged == 0 {
		time.AfterFunc(time.Second, l.endSecond)
	}
	if l.logged == maxLines {
		l.leftOut++
		return false
	}
	l.logged++
	return true
}

func (l *lineLimit) endSecond() {
	l.mu.Lock()
	leftOut := l.leftOut
	l.logged, l.leftOut = 0, 0
	l.mu.Unlock()
	if leftOut > 0 {
		l.log.Warn("lines left out", "line", l.line, "count", leftOut)
	}
}

// calm is how long no request may have failed before the store counts as
// available again: on a full disk a small write may succeed between two others.
const calm = time.Second

// outage logs when the store becomes unavailable to the operations of a scope,
// and when it is available again.
type outage struct {
	log   *slog.Logger
	scope token.Scope

	begun       atomic.Bool // so that a request that succeeds takes no lock
	mu          sync.Mutex
	first, last time.Time // failures
	count       int
}

func (o *outage) failed(cause string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	o.count++
	if !o.begun.Swap(true) {
		o.first, o.count = o.last, 1
		o.log.Error("store unavailable", "scope", string(o.scope), "err", cause)
	}
}

func (o *outage) succeeded() {
	if !o.begun.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.begun.Load() || time.Since(o.last) < calm {
		return
	}
	o.begun.Store(false)
	o.log.Info("store available again", "scope", string(o.scope), "failed_requests", o.count, "seconds", o.last.Sub(o.first).Seconds())
}
