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
		id := requestID(r.Header, began, o.log.redact)
		w.Header()[requestIDHeader] = id
		x := exchanges.Get().(*exchange)
		*x = exchange{ResponseWriter: w, requestID: id[0]}
		o.counts.inFlight.Inc()
		defer o.end(x, r, began) // also if a half-written answer is cut by a panic
		next.ServeHTTP(x, r)
	})
}

// end notes how an exchange ended.
func (o observer) end(x *exchange, r *http.Request, began time.Time) {
	took := time.Since(began)
	o.counts.inFlight.Dec()
	broken := x.code/100 >= http.StatusInternalServerError
	switch {
	case broken:
		x.status = int(x.code) / 100 // also where an answer had begun
	case x.status == 0 || x.cut != nil:
		x.status = hungUp
	}
	o.counts.observe(x.operation, x.status, took)
	o.log.end(x, r, took, broken)
	*x = exchange{} // keep nothing of the request alive
	exchanges.Put(x)
}
