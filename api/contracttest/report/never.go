package report

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What was never accepted accuses no service: a request may need what only the service knows, such as the password of a
// login. So failures that are refusals are held until their operation has accepted a request, and only then they count. A
// report has a line for each operation that has accepted none.

// NeverAccepted is an operation that has accepted no request.
type NeverAccepted struct {
	Operation string
	// Responses are the first one with each status, and whether the document has that.
	Responses []string
	// Help says which option may help.
	Help string
}

// String is a line.
func (n NeverAccepted) String() string {
	return fmt.Sprintf("%s: %s; %s", n.Operation, strings.Join(n.Responses, ", "), n.Help)
}

// nothingAccepted is why a refusal shows nothing.
const nothingAccepted = "no valid request was accepted"

// isAccepting reports whether an operation has accepted a request. The lock is held.
func (l *Ledger) isAccepting(operation string) bool {
	return slices.ContainsFunc(l.statuses[operation], func(status int) bool { return l.accepts(operation, status) })
}

// accepts reports whether a status means that an operation has accepted a request. A redirection that the document does not have
// does not: it may lead to a login.
func (l *Ledger) accepts(operation string, status int) bool {
	isRedirection := status/100 == 3
	return status < http.StatusBadRequest && !(isRedirection && l.isUndocumented(operation, status))
}

// isHeld reports whether a failure does not count as long as its operation accepts nothing. The lock is held.
func (l *Ledger) isHeld(failure scenario.Failure) bool {
	return failure.RefusedBy() != "" && !l.isAccepting(failure.RefusedBy())
}

// IsHeld is isHeld for tests that tell failures while they run.
func (l *Ledger) IsHeld(failure scenario.Failure) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isHeld(failure)
}

// hold keeps back the failures that do not count yet, and returns the others.
func (l *Ledger) hold(failures []scenario.Failure) (counted []scenario.Failure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, failure := range failures {
		if l.isHeld(failure) {
			l.held[failure.RefusedBy()] = append(l.held[failure.RefusedBy()], failure)
		} else {
			counted = append(counted, failure)
		}
	}
	return counted
}

// release counts the failures that were held, because their operation has accepted a request. The lock is held.
func (l *Ledger) release(operation string) {
	for _, failure := range l.held[operation] {
		l.noteFailure(failure)
	}
	delete(l.held, operation)
}

// noteFirstRefusal keeps the beginning of the first response of an operation that has a status. The lock is held.
func (l *Ledger) noteFirstRefusal(operation string, status int, body []byte) {
	if l.refusing[operation] == nil {
		l.refusing[operation] = map[int]string{}
	}
	l.refusing[operation][status] = scenario.InOneLine(body[:min(len(body), mostOfRefusal)])
}

// mostOfRefusal is how much of the body of a refusal is shown in a line.
const mostOfRefusal = 120

// never returns the operations that have accepted no request, and refused some. It leaves out those that are not implemented:
// they have a line of their own, and what is refused there is refused by a middleware.
func (l *Ledger) never(operations []Operation) (all []NeverAccepted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, operation := range operations {
		first := l.refusing[operation.ID]
		isWritten := !slices.Contains(l.statuses[operation.ID], http.StatusNotImplemented)
		if len(first) == 0 || !isWritten || l.isAccepting(operation.ID) {
			continue
		}
		one := NeverAccepted{Operation: operation.ID, Help: operation.helpWith(first)}
		for _, status := range slices.Sorted(maps.Keys(first)) {
			said := strings.TrimSpace(fmt.Sprint(status, " ", first[status]))
			if l.isUndocumented(operation.ID, status) {
				said = "undocumented " + said
			}
			one.Responses = append(one.Responses, said)
		}
		all = append(all, one)
	}
	return all
}

// isUndocumented reports whether the document does not have a status.
func (l *Ledger) isUndocumented(operation string, status int) bool {
	return l.IsDocumented != nil && !l.IsDocumented(operation, status)
}

// helpWith says which option may help an operation that has refused requests with some statuses.
func (o Operation) helpWith(statuses map[int]string) string {
	_, isUnauthorized := statuses[http.StatusUnauthorized]
	_, isForbidden := statuses[http.StatusForbidden]
	help := []string{}
	if isUnauthorized || isForbidden {
		help = append(help, "other credentials (-H or --login)")
	}
	for _, name := range o.Needs[:min(len(o.Needs), mostNames)] {
		help = append(help, "--value "+name+"=…")
	}
	if len(help) == 0 {
		return "an example in the document may help"
	}
	return "this may help: " + strings.Join(help, ", ")
}

// writeNever writes a line for each operation that was never accepted.
func (r Report) writeNever(w io.Writer) {
	for _, one := range r.Never {
		fmt.Fprintf(w, "never accepted: %s\n", one)
	}
	if len(r.Never) > 0 {
		fmt.Fprintln(w)
	}
}
