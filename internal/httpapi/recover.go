package httpapi

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/plantstore/plantstore/internal/token"
)

// recoverPanics answers a request whose handler panicked. A half-written answer
// cannot be mended; its connection is cut, so that nobody takes it for a whole
// one.
func (fs failures) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rw := &responseWriter{ResponseWriter: w}
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			err := fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			if rw.begun {
				fs.log.Error("panic in an answer", "method", r.Method, "path", token.Redact(r.URL.Path), "err", err)
				panic(http.ErrAbortHandler)
			}
			fs.write(rw, r, err)
		}()
		next.ServeHTTP(rw, r)
	})
}

// responseWriter remembers whether an answer has begun.
type responseWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *responseWriter) WriteHeader(status int) {
	w.begun = w.begun || status >= 200
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseWriter) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
