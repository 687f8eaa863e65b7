package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// observer gives every request an id, counts it, and logs it where somebody
// will want to know.
type observer struct {
	counts *counts
	log    *slog.Logger
	all    bool                // log every request, not only failed and slow ones
	slow   time.Duration       // from here on a request is slow; 0: none is
	redact func(string) string // makes the tokens in a text useless
}

// observe is the first to see a request and the last to see its answer. Of a
// request that succeeds in time it costs no allocation but that of an id, where
// the request brought none.
func (o observer) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		id := requestID(r.Header, began, o.redact)
		w.Header()[requestIDHeader] = id
		x := exchanges.Get().(*exchange)
		*x = exchange{ResponseWriter: w, requestID: id[0]}
		o.counts.inFlight.Add(1)
		defer o.end(x, r, began) // also if a half-written answer is cut by a panic
		next.ServeHTTP(x, r)
	})
}

// end notes how an exchange ended.
func (o observer) end(x *exchange, r *http.Request, began time.Time) {
	took := time.Since(began)
	o.counts.inFlight.Add(-1)
	broken := x.code/100 >= http.StatusInternalServerError
	switch {
	case broken:
		x.status = int(x.code) / 100 // also where an answer had begun
	case x.status == 0 || x.cut != nil:
		x.status = hungUp
	}
	o.counts.observe(x.operation, x.status, took)
	switch {
	case broken:
		o.write(x, r, took, slog.LevelError, "request failed", x.err)
	case x.cut != nil:
		o.write(x, r, took, slog.LevelWarn, "answer cut short", x.cut)
	case o.slow > 0 && took >= o.slow:
		o.write(x, r, took, slog.LevelWarn, "slow request", nil)
	case o.all:
		o.write(x, r, took, slog.LevelInfo, "request", nil)
	}
	*x = exchange{} // keep nothing of the request alive
	exchanges.Put(x)
}

// write logs a request: who asked for what, and what became of it. Neither
// header, query nor body is ever logged; what is might still hold a token that
// somebody put in the wrong place.
func (o observer) write(x *exchange, r *http.Request, took time.Duration, level slog.Level, message string, err error) {
	attrs := []slog.Attr{
		slog.String("request_id", x.requestID),
		slog.String("method", o.redact(r.Method)),
		slog.String("path", o.redact(r.URL.Path)),
		slog.Int("status", x.status),
		slog.Float64("seconds", took.Seconds()),
		slog.Int64("bytes", x.bytes),
		slog.String("remote", r.RemoteAddr),
	}
	if x.operation != nil {
		attrs = append(attrs, slog.String("operation", x.operation.id))
	}
	if x.caller != "" {
		attrs = append(attrs, slog.String("token", x.caller))
	}
	if x.code != 0 {
		attrs = append(attrs, slog.Int("error", int(x.code)))
	}
	if err != nil {
		attrs = append(attrs, slog.String("err", o.redact(err.Error())))
	}
	o.log.LogAttrs(context.WithoutCancel(r.Context()), level, message, attrs...)
}
