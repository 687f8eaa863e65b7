package httpapi

import (
	"cmp"
	"net/http"
	"time"

	"github.com/plantstore/plantstore/internal/token"
)

// writeDeadline bounds a write whose caller may have gone.
const writeDeadline = 20 * time.Second

// validator holds every request against the document before the generated code
// sees it.
type validator struct {
	operations operations
	tokens     *token.Verifier
	failures   failures
	maxBody    int64
	strangers  *strangers
	rateLimit  *rateLimit
	inFlight   *inFlight
}

// validate lets only requests through that the document allows. Chi has matched
// when it runs, so r.Pattern names the operation.
func (v validator) validate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := v.operations[route{documented(r.Method), r.Pattern}]
		exchangeOf(w).operation = op
		if err := v.admit(w, r, op); err != nil {
			v.failures.write(w, r, err)
			return
		}
		defer v.inFlight.leave(op)
		if err := v.check(w, r, op); err != nil {
			v.failures.write(w, r, err)
			return
		}
		if op.scope == token.Write {
			// A caller who hangs up, or closes its sending half, cancels the
			// context of a request. What it asked for is done all the same.
			outliveCaller(r.Context(), time.Now().Add(writeDeadline))
		}
		next.ServeHTTP(w, r)
	})
}

// admit and then check ask in the order that the document gives. Nothing of the
// body is read before the caller is admitted, so a stranger costs no memory. Who
// is admitted is in flight.
func (v validator) admit(w http.ResponseWriter, r *http.Request, op *operation) error {
	caller, err := v.authenticate(w.Header(), r)
	if err != nil {
		return err
	}
	exchangeOf(w).caller = cmp.Or(caller.ID, caller.Name)
	if !caller.Allows(op.scope) {
		return lacksScope(op.scope)
	}
	if err := v.rateLimit.count(w.Header(), caller); err != nil {
		return err
	}
	return v.inFlight.enter(r.Context(), op)
}

// check asks what is being sent.
func (v validator) check(w http.ResponseWriter, r *http.Request, op *operation) error {
	if err := checkParameters(r, op); err != nil {
		return err
	}
	if len(op.bodies) == 0 {
		return nil
	}
	return v.checkBody(w, r, op)
}
