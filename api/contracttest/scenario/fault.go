package scenario

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"
)

// Fault is one way in which a response breaks the document.
type Fault struct {
	// "status", "media type", "header Location", "body /name".
	Where   string
	Keyword string // the keyword of the document that is broken
	Message string
	Wanted  int // the status that the response should have; 0: several, or another place is wrong
}

// String has the place first: that is what a reader looks for in a response.
func (f Fault) String() string {
	return fmt.Sprintf("%s: %s: %s", f.Where, f.Keyword, f.Message)
}

// Judged is a response with what is known of it.
type Judged struct {
	Interaction
	// Operation serves the request. Empty: the document has none.
	Operation string
	// Why the request is refused: it had this fault, or the document has no operation for it. Nil: no more is known.
	Why *Violation
	// Faults are those that the document finds.
	Faults []Fault
}

// Rank says how bad a failure is: reports begin with the lowest.
type Rank int

// The ranks of failures.
const (
	Hang  Rank = iota - 1 // it does not respond, and others may wait for that
	Crash                 // the service has failed
	// It does something else than the document says.
	Behaviour
	// What it responds is not what the document says.
	Response
	Undocumented // it responds what the document does not have
	Header       // a header is wrong
)

// Failure is one way in which a service has broken a promise.
type Failure struct {
	Cause Cause
	// Root is what several causes may have in common, or zero: that no member is refused that is null, for example. A
	// report has one cause for them.
	Root    Cause
	Message string // what is wrong this time
	// The generated test that found it, or the test that sent the request.
	Test string
	Sent Interaction // zero if there was no response
	// Steps are the requests of the generated test; of a long one, its creates and its last requests.
	Steps []Interaction
	Rank  Rank // of the cause
	// Operation is that of the request, or nothing.
	Operation string
}

// ID is short, and the same for the same cause in every run.
func (f Failure) ID() string { return f.Cause.ID() }

// PlaceID is the id of the cause at the operation that it was found at. Lists of what is known have it: the same fault of another
// operation is a new one, also if one mistake makes both.
func (f Failure) PlaceID() string {
	at := f.Cause
	at.Operation = cmp.Or(at.Operation, f.Operation)
	return at.ID()
}

// ReasonIn returns the reason that a list of what is known has for the cause at its place, or nothing.
func (f Failure) ReasonIn(known map[string]string) string { return known[f.PlaceID()] }

// RefusedBy is the operation that has refused the request, if nothing else is wrong, or nothing. An operation that accepts
// no request is not accused of such failures. One of them: the credentials are wrong, and the refusal is for another reason.
func (f Failure) RefusedBy() string {
	isWithoutCheck := f.Cause.Kind == IgnoresCredentials && f.Sent.Status >= http.StatusBadRequest
	if f.Cause.IsOfRefusal() || isWithoutCheck {
		return f.Operation
	}
	return ""
}

// String returns the message, a command that repeats the request, and the response.
func (f Failure) String() string {
	text := fmt.Sprintf("[%s] %s", f.ID(), f.Message)
	if f.Sent.Method != "" {
		text += "\n\tsent:   " + f.Sent.Curl()
	}
	if f.Sent.Status != 0 {
		text += fmt.Sprintf("\n\tgot:    %d %s", f.Sent.Status, InOneLine(f.Sent.Body))
	}
	return text
}

// InOneLine is the beginning of a body, quoted if it has more than one line or what cannot be printed.
func InOneLine(body []byte) string {
	text := strings.TrimSuffix(string(body[:min(len(body), 500)]), "\n")
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
