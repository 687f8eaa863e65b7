package scenario

import "fmt"

// Expectation is what is expected of a response.
type Expectation struct {
	Success   bool       // the request is valid
	Violation *Violation // it must be refused for this reason
	// Wrong is what is wrong with a request whose refusal the test itself judges.
	Wrong *Violation
	// MayBeLimited means that a response of 429 is right: the test is about how many requests a service takes. Another
	// request is sent again after 429, when the service allows it.
	MayBeLimited bool
}

// Accepted expects a success of the operation, or a condition of the request that does not hold.
var Accepted = Expectation{Success: true}

// Refused expects that a request is refused.
func Refused(kind Kind) Expectation { return Expectation{Violation: &Violation{Kind: kind}} }

// RefusedAt expects that a request is refused for what is at a place of it.
func RefusedAt(kind Kind, in, pointer string) Expectation {
	return Expectation{Violation: &Violation{Kind: kind, In: in, Pointer: pointer}}
}

// Broken is what is wrong with a service, as an error.
type Broken struct {
	Cause   Cause // zero: the promise of the test
	Root    Cause // see [Failure]
	Rank    Rank
	Message string
	// Shown is what shows it, if that is not the last request.
	Shown *Interaction
}

// Error is the message. The cause is for reports, which put failures together by it.
func (b Broken) Error() string { return b.Message }

// Brokenf returns that a service breaks the promise of the test.
func Brokenf(format string, args ...any) error {
	return Broken{Rank: Behaviour, Message: fmt.Sprintf(format, args...)}
}

// BrokenBy returns that a service breaks what other tests need, too. Their failures then have one cause.
func BrokenBy(cause Cause, format string, args ...any) error {
	return Broken{Cause: cause, Rank: Behaviour, Message: fmt.Sprintf(format, args...)}
}

// Require returns an error as [Brokenf] does, unless something is so.
func Require(isSo bool, format string, args ...any) error {
	if isSo {
		return nil
	}
	return Brokenf(format, args...)
}

// NotTested says why a test cannot try its promise, as an error.
type NotTested string

// Error is the reason.
func (u NotTested) Error() string { return string(u) }

// Outcome is what a test has shown. Without failures and a reason, its promises are kept.
type Outcome struct {
	Failures  []Failure
	NotTested string // why the promises could not be tried
	// IsUndecided means that NotTested is a question: see [Undecided].
	IsUndecided bool
}

// IsKept reports whether the promises of the test are kept.
func (o Outcome) IsKept() bool { return len(o.Failures) == 0 && o.NotTested == "" }
