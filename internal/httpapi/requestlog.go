package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
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
	*Options

	mu    sync.Mutex
	lines map[string]int // of each message in this second, which begins with the first line

	reads, writes outage
}

func newRequestLog(opts *Options) *requestLog {
	return &requestLog{
		Options: opts,
		lines:   map[string]int{},
		reads:   outage{log: opts.Log, scope: token.Read},
		writes:  outage{log: opts.Log, scope: token.Write},
	}
}

// end logs a request that has ended, if it failed, its token was refused for a reason, its
// response was cut short, it is slow, or all are logged.
func (l *requestLog) end(recorder *responseRecorder, r *http.Request, took time.Duration, failed bool) {
	l.noteStore(recorder)
	switch {
	case failed && recorder.scope.err != errReadOnly: // the operator knows
		l.write(recorder, r, took, slog.LevelError, "request failed", recorder.scope.err)
	case recorder.cut != nil:
		l.write(recorder, r, took, slog.LevelWarn, "response cut short", recorder.cut)
	case hasReason(recorder.scope.err):
		l.write(recorder, r, took, slog.LevelWarn, "token refused", recorder.scope.err)
	case l.LogSlow > 0 && took >= l.LogSlow && !recorder.scope.waits():
		l.write(recorder, r, took, slog.LevelWarn, "slow request", nil)
	case l.LogAll:
		l.write(recorder, r, took, slog.LevelInfo, "request", nil)
	}
}

// hasReason reports whether a token was refused for a reason that only the log has.
func hasReason(err error) bool {
	_, ok := errors.AsType[*token.RefusedError](err)
	return ok
}

// noteStore updates the outage of reads or of writes.
func (l *requestLog) noteStore(recorder *responseRecorder) {
	if recorder.scope.operation == nil {
		return
	}
	o := &l.reads
	if recorder.scope.operation.requiredScope == token.Write {
		o = &l.writes
	}
	switch {
	case errors.Is(recorder.scope.err, plant.ErrOtherUnicode), errors.Is(recorder.scope.err, plant.ErrLocked):
		// says nothing about other requests
	case errors.Is(recorder.scope.err, plant.ErrUnavailable):
		o.failed(l.Tokens.Redact(recorder.scope.err.Error()))
	case recorder.scope.code == 0 && recorder.cut == nil:
		o.succeeded()
	}
}

// write logs a request, unless too many lines have the message and not all requests are logged. It never logs headers,
// query or body, except the ids of X-Request-Id and traceparent. The method, the path
// and the error are redacted, because a client may have put a token there.
func (l *requestLog) write(
	recorder *responseRecorder, r *http.Request, took time.Duration, level slog.Level, message string, err error,
) {
	if !l.LogAll && !l.allow(message) {
		return
	}
	traceID, parentSpanID := l.traceOf(r.Header)
	attrs := []slog.Attr{
		slog.String("request_id", recorder.scope.requestID[0]),
		slog.String("trace_id", traceID),
		slog.String("span_id", fmt.Sprintf("%016x", rand.Uint64())),
		slog.String("method", l.Tokens.Redact(r.Method)),
		slog.String("path", l.Tokens.Redact(r.URL.Path)),
		slog.Int("status", recorder.status),
		slog.Float64("seconds", took.Seconds()),
		slog.Int64("bytes", recorder.bytes),
		slog.String("remote", r.RemoteAddr),
	}
	if parentSpanID != "" {
		attrs = append(attrs, slog.String("parent_span_id", parentSpanID))
	}
	if recorder.scope.operation != nil {
		attrs = append(attrs, slog.String("operation", recorder.scope.operation.id))
	}
	if recorder.scope.token != "" {
		attrs = append(attrs, slog.String("token", recorder.scope.token))
	}
	if recorder.scope.code != 0 {
		attrs = append(attrs, slog.Int("error", int(recorder.scope.code)))
	}
	if err != nil {
		attrs = append(attrs, slog.String("err", l.Tokens.Redact(err.Error())))
	}
	l.Log.LogAttrs(context.WithoutCancel(r.Context()), level, message, attrs...)
}

// traceparents matches the header Traceparent (W3C Trace Context, levels 1 and 2): the
// fields of version 00, and what a later version may add.
var traceparents = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// traceOf returns the ids of the distributed trace that the request is a part of. The
// service records no spans: the ids find the log line of a request. A new trace, without
// a parent, begins if the request has no valid traceparent, or one that contains a token.
func (l *requestLog) traceOf(h http.Header) (traceID, parentSpanID string) {
	if given := h["Traceparent"]; len(given) == 1 && l.Tokens.Redact(given[0]) == given[0] {
		if m := traceparents.FindStringSubmatch(given[0]); m != nil {
			valid := m[1] != "ff" && (m[1] != "00" || m[4] == "")
			if valid && strings.Trim(m[2], "0") != "" && strings.Trim(m[3], "0") != "" { // an id of zeros is none
				return m[2], m[3]
			}
		}
	}
	return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()), ""
}

// maxLines is how many lines with the same message are logged in a second.
const maxLines = 10

// allow counts a line, and reports whether it is within the limit.
// [golang.org/x/time/rate] does not count what it refuses, and allows a burst in addition
// to its rate.
func (l *requestLog) allow(message string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		time.AfterFunc(time.Second, l.endSecond)
	}
	l.lines[message]++
	return l.lines[message] <= maxLines
}

// endSecond logs how many lines were left out in the second that ends.
func (l *requestLog) endSecond() {
	l.mu.Lock()
	lines := maps.Clone(l.lines)
	clear(l.lines)
	l.mu.Unlock()
	for message, n := range lines {
		if n > maxLines {
			l.Log.Warn("lines left out", "line", message, "count", n-maxLines)
		}
	}
}

// outageEnd is the time without a failure after which the store counts as available
// again. On a full disk a small write may succeed between two others that fail.
const outageEnd = time.Second

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
	if time.Since(o.last) >= outageEnd && o.begun.Swap(false) {
		o.log.Info("store available again", "scope", string(o.scope),
			"failed_requests", o.count, "seconds", o.last.Sub(o.first).Seconds())
	}
}
