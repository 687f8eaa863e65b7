package httpapi

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// recoverPanics responds with 500 to a request whose handler panics. If the response
// has begun, the connection is cut off instead, so that the client does not take
// half a response for a complete one.
func (fs failures) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			err := fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			if rec := recorderOf(w); rec.begun() {
				fs.note(rec, plantapi.CodeInternal, err)
				panic(http.ErrAbortHandler)
			}
			fs.write(w, r, err)
		}()
		next.ServeHTTP(w, r)
	})
}
