package httpapi

import (
	"net/http"
	"time"
)

// observer gives every request an id, counts it, and logs it where somebody
// will want to know.
type observer struct {
	counts *counts
	log    *requestLog
}

// observe is the first to see a request and the last to see its answer. Of a
// request that succeeds in time it costs no allocation but that of an id, where
// the request brought none.
func (o observer) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		rec := &responseRecorder{ResponseWriter: w, requestID: requestID(r.Header, o.log.redact)}
		w.Header().Set(requestIDHeader, rec.requestID)
		o.counts.inFlight.Inc()
		defer o.end(rec, r, began) // also if a half-written answer is cut by a panic
		next.ServeHTTP(rec, r)
	})
}

// end notes how an exchange ended.
func (o observer) end(rec *responseRecorder, r *http.Request, began time.Time) {
	took := time.Since(began)
	o.counts.inFlight.Dec()
	broken := rec.code/100 >= http.StatusInternalServerError
	switch {
	case broken:
		rec.status = int(rec.code) / 100 // also where an answer had begun
	case rec.status == 0 || rec.cut != nil:
		rec.status = hungUp
	}
	o.counts.observe(rec.operation, rec.status, took)
	o.log.end(rec, r, took, broken)
}
