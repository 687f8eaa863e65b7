package httpapi

import (
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
			h.writeError(w, r, status, known.Error())
			return
		}
	}
	if errors.Is(err, ErrNotWritten) {
		h.writeError(w, r, http.StatusNotImplemented, err.Error())
		return
	}
	h.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	h.writeError(w, r, http.StatusInternalServerError, "internal error")
}

// refuse responds to a request that the document does not allow.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, refusal *contract.Refusal) {
	status := refusal.Kind.Status()
	switch {
	case errors.Is(refusal, errNoKeys):
		h.Log.Error("cannot verify tokens", "err", refusal.Err)
		status, refusal.Message = http.StatusServiceUnavailable, errNoKeys.Error()
	case refusal.Kind == contract.NotAuthorized:
		if challenge := challengeOf(refusal.Operation); challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
		}
	}
	h.writeErrorOf(w, refusal.Operation, status, refusal.Message)
}

// invalid responds where generated code cannot read what the document allows.
func (h *handler) invalid(w http.ResponseWriter, r *http.Request, err error) {
	h.writeError(w, r, http.StatusBadRequest, err.Error())
}

func (h *handler) notFound(w http.ResponseWriter, r *http.Request) {
	h.writeError(w, r, http.StatusNotFound, "there is no such path")
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
	h.writeError(w, r, http.StatusMethodNotAllowed, "the path does not have this method")
}

func (h *handler) writeError(w http.ResponseWriter, r *http.Request, status int, message string) {
	h.writeErrorOf(w, contract.OperationOf(r.Context()), status, message)
}

// writeErrorOf is the only place that writes an error. It has the form that the document gives to errors.
func (h *handler) writeErrorOf(w http.ResponseWriter, operation *contract.Operation, status int, message string) {
	mediaType, text := h.checker.ErrorBody(operation, status, message)
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may be gone
}
