package httpapi

import (
	"net/http"
	"time"
)

// observer gives every request an id, measures it, and passes it to the log.
type observer struct {
	counts *counts
	log    *requestLog
}

// observe gives the handlers behind it a [responseRecorder] as their writer.
func (o observer) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		rec := &responseRecorder{ResponseWriter: w, requestID: requestID(r.Header, o.log.redact)}
		w.Header().Set(requestIDHeader, rec.requestID)
		o.counts.inFlight.Inc()
		defer o.end(rec, r, began) // also after a panic that cuts a response off
		next.ServeHTTP(rec, r)
	})
}

// end measures and logs a request whose response has ended.
func (o observer) end(rec *responseRecorder, r *http.Request, began time.Time) {
	took := time.Since(began)
	if rec.stream {
		o.counts.streams.Dec()
	} else {
		o.counts.inFlight.Dec()
	}
	failed := rec.code/100 >= http.StatusInternalServerError
	switch {
	case failed:
		rec.status = int(rec.code) / 100 // also if another status was sent before
	case rec.status == 0 || rec.cut != nil:
		rec.status = statusClientClosed
	}
	o.counts.observe(rec, took)
	o.log.end(rec, r, took, failed)
}
