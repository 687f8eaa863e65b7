package httpapi

import (
	"net/http"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// responseRecorder is the ResponseWriter of all handlers behind observe. It records
// what the log and the metrics need to know about a request and its response.
type responseRecorder struct {
	http.ResponseWriter
	requestID string

	status    int                // 0: the response has not begun
	bytes     int64              // of the body, as far as it is written
	operation *operation         // nil: none, or not found yet
	permit    listPermit         // to make a list
	reader    *reader            // of a large list
	stream    bool               // waits for changes, and is not in flight any more
	token     string             // the public ID of the token, or its name if it has none
	code      plantapi.ErrorCode // 0: the request has not failed
	err       error              // why the request failed
	cut       error              // why the response was not written completely
}

// recorderOf returns the recorder that is the writer of a handler behind observe.
func recorderOf(w http.ResponseWriter) *responseRecorder { return w.(*responseRecorder) }

// waits reports whether the request is one that waits for changes.
func (rec *responseRecorder) waits() bool { return rec.operation != nil && rec.operation.waits }

// begun reports whether the response has begun.
func (rec *responseRecorder) begun() bool { return rec.status != 0 }

// WriteHeader records the status and sends it. The body is ready then, so a list does
// not need its permit any more.
func (rec *responseRecorder) WriteHeader(status int) {
	rec.permit.release()
	if !rec.begun() && status >= 200 {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

// Write writes at the pace of the client, and records how much was written.
func (rec *responseRecorder) Write(b []byte) (int, error) {
	if !rec.begun() {
		rec.status = http.StatusOK // as in net/http
	}
	write := rec.ResponseWriter.Write
	if len(b) > smallResponse {
		write = rec.writePaced
	}
	n, err := write(b)
	rec.bytes += int64(n)
	if err != nil && rec.cut == nil {
		rec.cut = err
	}
	return n, err
}

// Unwrap lets [http.ResponseController] reach the connection.
func (rec *responseRecorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }
