package httpapi

import (
	"net/http"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// exchange is a request on its way and the answer to it. It is the
// ResponseWriter that everybody writes to, so whoever learns something that the
// log or the metrics want to know leaves it here.
type responseRecorder struct {
	http.ResponseWriter
	requestID string

	status    int                // of the answer; 0: it has not begun
	bytes     int64              // of its body, as far as it was written
	operation *operation         // nil: none, or not found yet
	list      listPermit         // of a request for a list
	caller    string             // the public ID of the token, or its name if it has none
	code      plantapi.ErrorCode // 0: it did not fail
	err       error              // why it failed
	cut       error              // why the answer did not arrive whole
}

// recorderOf returns the recorder that a handler behind observe writes to.
func recorderOf(w http.ResponseWriter) *responseRecorder { return w.(*responseRecorder) }

// begun reports whether the answer is under way.
func (rec *responseRecorder) begun() bool { return rec.status != 0 }

// WriteHeader notes the status of the answer.
func (rec *responseRecorder) WriteHeader(status int) {
	if !rec.begun() && status >= 200 {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

// Write notes how much of the answer was written.
func (rec *responseRecorder) Write(b []byte) (int, error) {
	if !rec.begun() {
		rec.status = http.StatusOK // as net/http has it
	}
	n, err := writePaced(rec.ResponseWriter, b)
	rec.bytes += int64(n)
	if err != nil && rec.cut == nil {
		rec.cut = err
	}
	return n, err
}

// Unwrap lets [http.ResponseController] reach the connection.
func (rec *responseRecorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }
