package run

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A request may end what all others need.
//
//   - It ends the credentials: it sets another password, or deletes the user. The service then refuses all that follows, and is
//     right.
//   - It breaks the service: with a setting that is stored and cannot be read again, each request fails. That is one mistake, of
//     the operation that has stored it.
//   - It ends the service: see restart.go.
//
// So where credentials are refused, or something fails, after something has changed, GETs that were accepted before are sent
// again. If they are refused or fail, too, the run ends.

// serviceState is what a run knows of the service as a whole.
type serviceState struct {
	mu        sync.Mutex
	witnesses []witness                        // a GET of each part of the service that was accepted
	change    *scenario.Interaction            // the last one that was accepted: any but a GET or HEAD
	checked   map[ending]*scenario.Interaction // the change after which it was still well
	ended     *scenario.Interaction            // the change after which it was not
	how       ending
	responded bool                  // to any request
	silent    *scenario.Interaction // the last request without a response, if no other one has had one since
}

// witness is a GET that was accepted with the credentials of the run.
type witness struct {
	scenario.Request
	area   string
	isOpen bool // without credentials, too
}

// ending is how a change ends what all other requests need.
type ending string

const (
	credentialsEnd ending = "the service no longer accepted the credentials"
	breaks         ending = "every request failed"
	gone           ending = "the service accepted no connection"
)

const (
	// fewParts is how many parts of a service are asked at least before it is broken as a whole: one may fail because of a
	// thing that is stored there. mostParts is how many are asked.
	fewParts  = 2
	mostParts = 3
)

// endingOf is the ending that a status may be a sign of, or nothing. A service that is closed for a while responds with 503.
func endingOf(status int) ending {
	switch {
	case status == http.StatusUnauthorized:
		return credentialsEnd
	case status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable:
		return breaks
	}
	return ""
}

// noMore is why nothing is tested any more, or nothing.
func (s *serviceState) noMore() scenario.NotTested {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		return ""
	}
	return scenario.NotTested(fmt.Sprintf("after %s %.80s %s", s.ended.Method, s.ended.Path, s.how))
}

// noteAccepted notes an accepted request: as the last change, or as a witness.
func (s *serviceState) noteAccepted(area string, isOpen bool, request scenario.Request, x scenario.Interaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch x.Method {
	case http.MethodHead:
	case http.MethodGet:
		s.noteWitness(witness{request, area, isOpen})
	default:
		s.change = &x
	}
}

// noteWitness keeps the first GET of each part of the service, or the first one that needs credentials. The lock is held.
func (s *serviceState) noteWitness(one witness) {
	i := slices.IndexFunc(s.witnesses, func(other witness) bool { return other.area == one.area })
	if i < 0 {
		s.witnesses = append(s.witnesses, one)
	} else if s.witnesses[i].isOpen && !one.isOpen {
		s.witnesses[i] = one
	}
}

// due returns the requests that show whether the service has ended in some way, once after each change. It takes for granted that
// it has not: end says if it has.
func (s *serviceState) due(how ending) (witnesses []witness) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.change == s.checked[how] {
		return nil
	}
	least, most := fewParts, mostParts
	witnesses = slices.Clone(s.witnesses)
	if how == credentialsEnd {
		least, most = 1, 1
		witnesses = slices.DeleteFunc(witnesses, func(one witness) bool { return one.isOpen })
	}
	if len(witnesses) < least {
		return nil
	}
	if s.checked == nil {
		s.checked = map[ending]*scenario.Interaction{}
	}
	s.checked[how] = s.change
	return witnesses[:min(len(witnesses), most)]
}

// end notes how the service has ended after the last change that was checked.
func (s *serviceState) end(how ending) scenario.Interaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.how = s.checked[how], how
	return *s.ended
}

// noteResponse notes that the service is there, and has not ended.
func (s *serviceState) noteResponse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.responded, s.silent = true, nil
}

// hasResponded reports whether the service has ever been there.
func (s *serviceState) hasResponded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.responded
}

// noteSilent notes a request without a response.
func (s *serviceState) noteSilent(x scenario.Interaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = &x
}

// endGone notes that the service is gone since the last request without a response, or else since this one, for which it accepts no
// connection: package http sends a GET again on its own if the service ends without a response. One that was never there may come.
func (s *serviceState) endGone(x scenario.Interaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.responded {
		s.ended, s.how = cmp.Or(s.silent, &x), gone
	}
}

// hasEnded notes the response to a request with the credentials of the run. It returns an error if this and others show that the
// service has ended for the run.
func (s *session) hasEnded(operation *document.Operation, request scenario.Request, x scenario.Interaction) error {
	if operation == nil || !s.isOwn(request.Access) {
		return nil
	}
	if x.Status < http.StatusBadRequest {
		s.state.noteAccepted(s.Plan.Document.Area(operation), operation.IsOpen(), request, x)
	}
	how := endingOf(x.Status)
	if how == "" {
		return nil
	}
	witnesses := s.state.due(how)
	isWell := func(one witness) bool { return endingOf(s.statusOf(one.Request)) != how }
	if len(witnesses) == 0 || slices.ContainsFunc(witnesses, isWell) {
		return nil
	}
	change := s.state.end(how)
	if how == credentialsEnd {
		return s.state.noMore()
	}
	s.steps.keep(change, x) // what came between does not matter
	return scenario.Broken{
		Cause:   scenario.Cause{Kind: scenario.BreaksService, Operation: s.judge().Name(change)},
		Rank:    scenario.Crash,
		Message: fmt.Sprintf("after it, GET %s and all others that were accepted before fail", witnesses[0].Path),
		Shown:   &change,
	}
}

// statusOf is the status of the response to a request with the credentials of the run; 0: there is none, which shows nothing.
func (s *session) statusOf(request scenario.Request) int {
	credentials, err := s.credentialsFor(s.Plan.Document.Serving(request.Method, request.Path), request.Access)
	if err != nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.timeout())
	defer cancel()
	sent, err := s.newRequest(ctx, request, credentials)
	if err != nil {
		return 0
	}
	response, _, err := s.exchange(sent, request.Body)
	if err != nil {
		return 0
	}
	return response.StatusCode
}

// Ended says after which request nothing more was tested, and how to go on, or nothing.
func (r *Runner) Ended() string {
	why := r.state.noMore()
	if why == "" {
		return ""
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	advice := "exclude " + r.judge().Name(*r.state.ended) + " (--exclude)"
	if r.state.how == credentialsEnd {
		advice += ", or give credentials of another user"
	}
	return string(why) + ", and nothing more was tested: " + advice
}
