package run

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A request may end the credentials that all others need: it sets another password, or deletes the user. The service then
// refuses all that follows, and is right. So where credentials are refused after something has changed, a GET that they opened
// before is sent again. If that is refused, too, the run ends.

// validity is whether the credentials of a user are still accepted.
type validity struct {
	mu      sync.Mutex
	witness *scenario.Request // the first GET that was accepted with them
	change  *change           // the last one that was accepted
	checked *change           // after which they were still accepted
	ended   *change           // after which they were not
}

// change is an accepted request that may have changed something: any but a GET or HEAD.
type change struct{ request, operation string }

// noMore is why nothing is tested any more, or nothing.
func (v *validity) noMore() scenario.NotTested {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended == nil {
		return ""
	}
	return scenario.NotTested("the credentials were no longer accepted after " + v.ended.request)
}

// noteAccepted notes an accepted request: as the last change, or as the witness.
func (v *validity) noteAccepted(operation *document.Operation, request scenario.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch request.Method {
	case http.MethodHead:
	case http.MethodGet:
		if v.witness == nil && !operation.IsOpen() {
			v.witness = &request
		}
	default:
		v.change = &change{request.Method + " " + request.Path, operation.ID}
	}
}

// check returns the request that shows whether the credentials are accepted, once after each change. It takes for granted that
// they are: haveEnded says if they are not.
func (v *validity) check() (witness scenario.Request, isDue bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.witness == nil || v.change == v.checked {
		return witness, false
	}
	v.checked = v.change
	return *v.witness, true
}

// haveEnded notes the response to a request with the credentials of the run, and reports whether they are no longer accepted. It
// asks the service only after a 401.
func (s *session) haveEnded(operation *document.Operation, request scenario.Request, status int) bool {
	if operation == nil || !s.isOwn(request.Access) {
		return false
	}
	if status < http.StatusBadRequest {
		s.validity.noteAccepted(operation, request)
	}
	if status != http.StatusUnauthorized {
		return false
	}
	witness, isDue := s.validity.check()
	if !isDue || s.accepts(witness) {
		return false
	}
	s.validity.mu.Lock()
	defer s.validity.mu.Unlock()
	s.validity.ended = s.validity.checked
	return true
}

// accepts reports whether a request with the credentials of the run does not get 401. One without a response shows nothing.
func (s *session) accepts(request scenario.Request) bool {
	credentials, err := s.credentialsFor(s.Plan.Document.Serving(request.Method, request.Path), request.Access)
	if err != nil {
		return true
	}
	sent, err := s.newRequest(s.ctx, request, credentials)
	if err != nil {
		return true
	}
	response, _, err := s.exchange(sent, request.Body)
	return err != nil || response.StatusCode != http.StatusUnauthorized
}

// CredentialsEnded says after which request the credentials were no longer accepted, or nothing.
func (r *Runner) CredentialsEnded() string {
	r.validity.mu.Lock()
	defer r.validity.mu.Unlock()
	if r.validity.ended == nil {
		return ""
	}
	return fmt.Sprintf("after %s the service no longer accepted the credentials, and nothing more was tested: exclude %s (--exclude), or give credentials of another user",
		r.validity.ended.request, r.validity.ended.operation)
}
