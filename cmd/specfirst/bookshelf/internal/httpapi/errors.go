package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/plantstore/plantstore/api/contract"
)

// ErrNotWritten is returned by operations that are not written yet. The contract test lists them.
var ErrNotWritten = errors.New("this operation is not written yet")

// fail responds to a request whose operation has returned an error.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	for known, status := range h.Statuses {
		if errors.Is(err, known) {
			writeError(w, status, known.Error())
			return
		}
	}
	if errors.Is(err, ErrNotWritten) {
		writeError(w, http.StatusNotImplemented, err.Error())
		return
	}
	h.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	writeError(w, http.StatusInternalServerError, "internal error")
}

// refuse responds to a request that the document does not allow.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, refusal *contract.Refusal) {
	switch {
	case errors.Is(refusal, errNoKeys):
		h.Log.Error("cannot verify tokens", "err", refusal.Err)
		writeError(w, http.StatusServiceUnavailable, errNoKeys.Error())
	case refusal.Kind == contract.NotAuthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
		fallthrough
	default:
		writeError(w, refusal.Kind.Status(), refusal.Message)
	}
}

// invalid responds where generated code cannot read what the document allows.
func (h *handler) invalid(w http.ResponseWriter, _ *http.Request, err error) {
	writeError(w, http.StatusBadRequest, err.Error())
}

func (h *handler) notFound(w http.ResponseWriter, _ *http.Request) {
	writeError(w, http.StatusNotFound, "there is no such path")
}

// methodNotAllowed names the methods that the path has, as HTTP demands.
func (h *handler) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	var allowed []string
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
		if h.router.Match(chi.NewRouteContext(), method, path) {
			allowed = append(allowed, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeError(w, http.StatusMethodNotAllowed, "the path does not have this method")
}

// writeError is the only place that writes an error. Change it if your document has another form.
func writeError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"message": message}) // the client may be gone
}
