package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/limit"
	"github.com/plantstore/plantstore/internal/token"
)

// observer observes every request: it gives the request an id, counts it, and passes it to
// the log.
type observer struct {
	counts *counts
	log    *requestLog
	unread *limit.Account // responses until they are read
}

// nosniff tells browsers not to guess the media type of a response. All responses share
// the value.
var nosniff = []string{"nosniff"}

// observe gives the handlers behind it a [responseRecorder] as their writer.
func (o observer) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		recorder := &responseRecorder{ResponseWriter: w, unread: o.unread}
		recorder.scope.requestID[0] = requestID(r.Header, o.log.Tokens.Redact)
		w.Header()[requestIDHeader] = recorder.scope.requestID[:]
		w.Header()["X-Content-Type-Options"] = nosniff
		defer o.end(recorder, r, began) // also after a panic that cuts the connection off
		defer o.recoverPanic(recorder, r)
		next.ServeHTTP(recorder, r)
	})
}

// recoverPanic responds with 500 to a request whose handler panics. If the response has
// begun, the connection is cut off instead, so that the client does not take half a
// response for a complete one.
func (o observer) recoverPanic(recorder *responseRecorder, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	err, failures := fmt.Errorf("panic: %v\n%s", v, debug.Stack()), failures{o.counts}
	if recorder.begun() {
		failures.note(&recorder.scope, plantapi.CodeInternal, err)
		panic(http.ErrAbortHandler)
	}
	failures.write(recorder, r, err)
}

// end measures and logs a request whose response has ended.
func (o observer) end(recorder *responseRecorder, r *http.Request, began time.Time) {
	scope := &recorder.scope
	scope.end()
	took, failed := time.Since(began), scope.code/100 >= http.StatusInternalServerError
	switch {
	case failed:
		recorder.status = int(scope.code) / 100 // also if another status was sent before
	case recorder.status == 0 || recorder.cut != nil:
		recorder.status = statusClientClosed
	}
	o.log.end(recorder, r, took, failed)

	operation, status := noOperation, strconv.Itoa(recorder.status)
	if scope.operation != nil {
		operation = scope.operation.id
	}
	switch {
	case errors.Is(scope.err, token.ErrUnverified):
		o.counts.requests.WithLabelValues(unverified, status).Observe(took.Seconds())
	case scope.waits():
		o.counts.streamsEnded.WithLabelValues(operation, status).Inc()
	default:
		o.counts.requests.WithLabelValues(operation, status).Observe(took.Seconds())
	}
}

// requestIDHeader has the id of a request, in the request and in the response.
const requestIDHeader = "X-Request-Id"

// maxRequestID is the length of the longest id that is taken from a request.
const maxRequestID = 128

// idCharacters need no quotes in a log, a header or a command line. UUIDs, hexadecimal and
// Base64 numbers, and the ids of proxies ("Root=1-67a…") have only these.
const idCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~:+/=-"

// requestID returns the id that the request has, or a new one. An id that contains a token
// is replaced, because ids are logged and sent back.
func requestID(h http.Header, redact func(string) string) string {
	if given := h[requestIDHeader]; len(given) == 1 && given[0] != "" && len(given[0]) <= maxRequestID &&
		strings.Trim(given[0], idCharacters) == "" && redact(given[0]) == given[0] {
		return given[0]
	}
	return uuid.Must(uuid.NewV7()).String()
}

// responseRecorder is the ResponseWriter of all handlers behind observe. It records
// what the log and the metrics need to know about a response. A large response is in an account
// until the client has read it, because clients set the pace at which that happens.
type responseRecorder struct {
	http.ResponseWriter
	scope  scope // of the request
	unread *limit.Account

	status int   // 0: the response has not begun
	bytes  int64 // of the body, as far as it is written
	cut    error // why the response was not written completely
}

// recorderOf returns the recorder that is the writer of a handler behind observe.
func recorderOf(w http.ResponseWriter) *responseRecorder { return w.(*responseRecorder) }

// begun reports whether the response has begun.
func (rec *responseRecorder) begun() bool { return rec.status != 0 }

// WriteHeader records the status and sends it.
func (rec *responseRecorder) WriteHeader(status int) {
	if !rec.begun() && status >= 200 {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

// readTime is how long a client may take to read a response, or a part of a stream.
const readTime = 30 * time.Second

// Write sends a response that is made. A client that does not read it in time is cut off.
func (rec *responseRecorder) Write(text []byte) (int, error) {
	if len(text) > small {
		_ = http.NewResponseController(rec.ResponseWriter).SetWriteDeadline(time.Now().Add(readTime))
	}
	return rec.send(text)
}

// send sends a response, or a part of a stream, and records how much was sent. If others need
// the memory, a client that does not read it is cut off.
func (rec *responseRecorder) send(text []byte) (int, error) {
	if !rec.begun() {
		rec.status = http.StatusOK // as in net/http
	}
	if len(text) > small && rec.scope.operation != nil {
		held := &limit.Holding{Key: rec.scope.token, Text: text, Bytes: requestSize, Client: rec.ResponseWriter}
		rec.unread.Hold(held, true)
		defer held.Release()
	}
	sent, err := rec.ResponseWriter.Write(text)
	rec.bytes += int64(sent)
	if err != nil && rec.cut == nil {
		rec.cut = err
	}
	return sent, err
}

// closeConnection tells a client that has HTTP/1.1 to send no more requests on the
// connection. Otherwise a service that stops has to wait for one.
func closeConnection(w http.ResponseWriter) {
	if _, ok := recorderOf(w).ResponseWriter.(http.Hijacker); ok { // HTTP/1.1
		w.Header().Set("Connection", "close")
	}
}

// Unwrap lets [http.ResponseController] reach the connection.
func (rec *responseRecorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

// durationBuckets are in seconds. A read takes tenths of a millisecond, a durable
// write as long as the disk takes, and few clients wait longer than ten seconds.
var durationBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// noOperation is the label of requests without an operation: unknown paths and
// methods, and OPTIONS. So no request of a client makes a new label.
const noOperation = "none"

// unverified is the label of requests that get 503 because the key of their token is
// unknown and cannot be fetched from the identity provider now. Any client can send
// such a token, so these requests are apart from the others that fail.
const unverified = "unverified"

// statusClientClosed is the status in the log and the metrics of a request whose
// client closed the connection before it had the whole response. nginx uses the
// same number. It is never sent.
const statusClientClosed = 499

// counts are the metrics of all requests.
type counts struct {
	failures map[plantapi.ErrorCode]prometheus.Counter
	requests *prometheus.HistogramVec

	// Of requests that wait for changes. They take as long as the client wishes, so
	// they are not among the other requests.
	streamsEnded *prometheus.CounterVec
}

// slotsTaken returns the metric of requests that a limit counts.
func slotsTaken(name, help string, slots *limit.Slots) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(slots.Taken()) })
}

func newCounts(registry prometheus.Registerer) *counts {
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "plantstore_http_failures_total",
		Help: "Error responses by their number.",
	}, []string{"error"})
	c := &counts{
		failures: map[plantapi.ErrorCode]prometheus.Counter{},
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "plantstore_http_request_duration_seconds",
			Help: "Duration of requests in seconds by operation and status. " +
				"Operation none is every unknown path and method, operation unverified a token whose key " +
				"cannot be fetched now, status 499 a response that was cut off.",
			Buckets:                        durationBuckets,
			NativeHistogramBucketFactor:    1.1,
			NativeHistogramMaxBucketNumber: 100,
		}, []string{"operation", "status"}),
		streamsEnded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "plantstore_http_streams_total",
			Help: "Requests for changes that have ended, by operation and status.",
		}, []string{"operation", "status"}),
	}
	for code := plantapi.ErrorCode(400_00); code < 600_00; code++ {
		if code.Valid() {
			c.failures[code] = failures.WithLabelValues(strconv.Itoa(int(code)))
		}
	}
	registry.MustRegister(failures, c.requests, c.streamsEnded)
	return c
}
