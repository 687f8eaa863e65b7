package run

import (
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
)

const (
	// fewParts is how many parts of a service are asked at least before it is broken as a whole: one may fail because of a
	// thing that is stored there. mostParts is how many are asked.
	fewParts  = 2
	mostParts = 3
)

// endingOf is how a status may be that of a service that has ended, or nothing. 503 is what a service says that is closed for a while.
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
func (of *serviceState) noMore() scenario.NotTested {
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.ended == nil {
		return ""
	}
	return scenario.NotTested(fmt.Sprintf("after %s %s %s", of.ended.Method, of.ended.Path, of.how))
}

// noteAccepted notes an accepted request: as the last change, or as a witness.
func (of *serviceState) noteAccepted(area string, isOpen bool, request scenario.Request, x scenario.Interaction) {
	of.mu.Lock()
	defer of.mu.Unlock()
	switch x.Method {
	case http.MethodHead:
	case http.MethodGet:
		of.noteWitness(witness{request, area, isOpen})
	default:
		of.change = &x
	}
}

// noteWitness keeps the first GET of each part of the service, or the first one that needs credentials. The lock is held.
func (of *serviceState) noteWitness(one witness) {
	i := slices.IndexFunc(of.witnesses, func(other witness) bool { return other.area == one.area })
	if i < 0 {
		of.witnesses = append(of.witnesses, one)
	} else if of.witnesses[i].isOpen && !one.isOpen {
		of.witnesses[i] = one
	}
}

// due returns the requests that show whether the service has ended in some way, once after each change. It takes for granted that
// it has not: end says if it has.
func (of *serviceState) due(how ending) (witnesses []witness) {
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.change == of.checked[how] {
		return nil
	}
	if of.checked == nil {
		of.checked = map[ending]*scenario.Interaction{}
	}
	of.checked[how] = of.change
	if how == credentialsEnd {
		closed := slices.DeleteFunc(slices.Clone(of.witnesses), func(one witness) bool { return one.isOpen })
		return closed[:min(len(closed), 1)]
	}
	if len(of.witnesses) < fewParts {
		return nil
	}
	return slices.Clone(of.witnesses[:min(len(of.witnesses), mostParts)])
}

// end notes how the service has ended after the last change that was checked.
func (of *serviceState) end(how ending) scenario.Interaction {
	of.mu.Lock()
	defer of.mu.Unlock()
	of.ended, of.how = of.checked[how], how
	return *of.ended
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
	s.steps = &steps{all: []scenario.Interaction{change, x}} // what came between does not matter
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
	sent, err := s.newRequest(s.ctx, request, credentials)
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
	advice := "exclude " + r.judge().Name(*r.state.ended) + " (--exclude)"
	if r.state.how == credentialsEnd {
		advice += ", or give credentials of another user"
	}
	return string(why) + ", and nothing more was tested: " + advice
}
