package httpapi

import (
	"net/http"
	"sync"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// exchange is a request on its way and the answer to it. It is the
// ResponseWriter that everybody writes to, so whoever learns something that the
// log or the metrics want to know leaves it here.
type exchange struct {
	http.ResponseWriter
	requestID string

	status    int                // of the answer; 0: it has not begun
	bytes     int64              // of its body, as far as it was written
	operation *operation         // nil: none, or not found yet
	page      pageTurn           // of a request for a list
	caller    string             // the public ID of the token, or its name if it has none
	code      plantapi.ErrorCode // 0: it did not fail
	err       error              // why it failed
	cut       error              // why the answer did not arrive whole
}

// exchanges are used again, so that a request costs no allocation for one.
var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// exchangeOf returns the exchange that a handler behind observe writes to.
func exchangeOf(w http.ResponseWriter) *exchange { return w.(*exchange) }

// begun reports whether the answer is under way.
func (x *exchange) begun() bool { return x.status != 0 }

// WriteHeader notes the status of the answer.
func (x *exchange) WriteHeader(status int) {
	if !x.begun() && status >= 200 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write notes how much of the answer was written.
func (x *exchange) Write(b []byte) (int, error) {
	if !x.begun() {
		x.status = http.StatusOK // as net/http has it
	}
	n, err := writePaced(x.ResponseWriter, b)
	x.bytes += int64(n)
	if err != nil && x.cut == nil {
		x.cut = err
	}
	return n, err
}

// Unwrap lets [http.ResponseController] reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }
