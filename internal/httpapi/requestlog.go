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

// requestLog logs requests. If the store is unavailable, thousands of requests may
// fail in a second. So the log says once that the store is unavailable and once
// that it is available again, and the lines about single requests are limited.
type requestLog struct {
	log    *slog.Logger
	all    bool                // log every request, not only failed and slow ones
	slow   time.Duration       // a request is slow if it takes at least this long; 0: none is
	redact func(string) string // removes tokens from a text

	failed, cut, late lineLimit
	refused           lineLimit // tokens of an identity provider
	reads, writes     outage
}

func newRequestLog(log *slog.Logger, all bool, slow time.Duration, redact func(string) string) *requestLog {
	return &requestLog{
		log: log, all: all, slow: slow, redact: redact,
		failed: lineLimit{log: log, line: "request failed"},
		cut:    lineLimit{log: log, line: "response cut short"},
		late:   lineLimit{log: log, line: "slow request"},

		refused: lineLimit{log: log, line: "token refused"},
		reads:   outage{log: log, scope: token.Read},
		writes:  outage{log: log, scope: token.Write},
	}
}

// end logs a request that has ended, if it failed, its token was refused for a reason,
// it is slow, or all are logged.
func (l *requestLog) end(rec *responseRecorder, r *http.Request, took time.Duration, failed bool) {
	l.noteStore(rec)
	switch {
	case failed && rec.err != errReadOnly: // the operator knows
		l.limited(&l.failed, rec, r, took, slog.LevelError, rec.err)
	case rec.cut != nil:
		l.limited(&l.cut, rec, r, took, slog.LevelWarn, rec.cut)
	case hasReason(rec.err):
		l.limited(&l.refused, rec, r, took, slog.LevelWarn, rec.err)
	case l.slow > 0 && took >= l.slow && !rec.waits():
		l.limited(&l.late, rec, r, took, slog.LevelWarn, nil)
	case l.all:
		l.write(rec, r, took, slog.LevelInfo, "request", nil)
	}
}

// hasReason reports whether a token was refused for a reason that only the log has.
func hasReason(err error) bool {
	_, ok := errors.AsType[*token.RefusedError](err)
	return ok
}

// noteStore updates the outage of reads or of writes.
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

// limited logs a request within the limit for its kind. There is no limit if all
// requests are logged.
func (l *requestLog) limited(limit *lineLimit, rec *responseRecorder, r *http.Request, took time.Duration, level slog.Level, err error) {
	if l.all || limit.allow() {
		l.write(rec, r, took, level, limit.line, err)
	}
}

// write logs a request. It never logs headers, query or body, except the ids of
// X-Request-Id and traceparent. The method, the path
// and the error are redacted, because a client may have put a token there.
func (l *requestLog) write(rec *responseRecorder, r *http.Request, took time.Duration, level slog.Level, message string, err error) {
	trace := newTraceContext(r.Header, l.redact)
	attrs := []slog.Attr{
		slog.String("request_id", rec.requestID),
		slog.String("trace_id", trace.traceID),
		slog.String("span_id", trace.spanID),
		slog.String("method", l.redact(r.Method)),
		slog.String("path", l.redact(r.URL.Path)),
		slog.Int("status", rec.status),
		slog.Float64("seconds", took.Seconds()),
		slog.Int64("bytes", rec.bytes),
		slog.String("remote", r.RemoteAddr),
	}
	if trace.parentSpanID != "" {
		attrs = append(attrs, slog.String("parent_span_id", trace.parentSpanID))
	}
	if rec.operation != nil {
		attrs = append(attrs, slog.String("operation", rec.operation.id))
	}
	if rec.token != "" {
		attrs = append(attrs, slog.String("token", rec.token))
	}
	if rec.code != 0 {
		attrs = append(attrs, slog.Int("error", int(rec.code)))
	}
	if err != nil {
		attrs = append(attrs, slog.String("err", l.redact(err.Error())))
	}
	l.log.LogAttrs(context.WithoutCancel(r.Context()), level, message, attrs...)
}

// maxLines is how many lines of one kind are logged in a second.
const maxLines = 10

// lineLimit limits the lines of one kind in a second, and then logs how many were
// left out. [golang.org/x/time/rate] does not count what it refuses, and allows a
// burst in addition to its rate.
type lineLimit struct {
	log  *slog.Logger
	line string

	mu      sync.Mutex
	logged  int // in the current second, which begins with the first line
	leftOut int
}

// allow reports whether a line is within the limit, and counts it.
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

// calm is how long no request must have failed before the store counts as
// available again. On a full disk a small write may succeed between two others.
const calm = time.Second

// outage logs when the store becomes unavailable for reads or for writes, and when
// it is available again. A full disk makes writes fail and lets reads succeed.
type outage struct {
	log   *slog.Logger
	scope token.Scope

	begun       atomic.Bool // not under mu: requests that succeed take no lock
	mu          sync.Mutex
	first, last time.Time // of the failures
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
