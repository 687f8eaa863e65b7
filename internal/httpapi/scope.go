package httpapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/limit"
	"github.com/plantstore/plantstore/internal/token"
)

// scope is what the layers of the handler know of a request. observe makes it together with its recorder; the
// layers behind it fill it; the log and the metrics read it when the response has ended. Handlers find
// it in the context of the request, the layers before them in the recorder.
type scope struct {
	context.Context                 // of the work on the request; see setContext
	values          context.Context // of the request as net/http has it: its values, and not its end
	requestID       [1]string
	operation       *operation // nil: none, or not found yet
	token           string     // the public ID of the token, or its name if it has none
	granted         grant      // what the token allows
	slot            limit.Slot // while a method of the strict interface works for it
	body            *heldBody  // nil: none that is held
	cancel          context.CancelFunc

	code plantapi.ErrorCode // 0: the request has not failed
	err  error              // why the request failed
}

// nameOf returns the name of who has sent a request.
func nameOf(ctx context.Context) string { return scopeOf(ctx).granted.name }

// grant is what a request may do, and until when.
type grant struct {
	name    string // of the token
	scopes  []token.Scope
	expires time.Time // zero: never
}

// scopeKey is the key of a [scope] in a context.
type scopeKey struct{}

// scopeOf returns the scope of a request that is authorized.
func scopeOf(ctx context.Context) *scope { return ctx.Value(scopeKey{}).(*scope) }

// Value implements [context.Context]. It looks into Context before values, which ends at another time. Package
// context looks for a key of its own in a parent. If it found the one in values, the cause of the end would be wrong,
// and each context made from a scope would need a goroutine.
func (s *scope) Value(key any) any {
	if key == (scopeKey{}) {
		return s
	}
	if value := s.Context.Value(key); value != nil {
		return value
	}
	return s.values.Value(key)
}

// waits reports whether the request is one that waits for changes.
func (s *scope) waits() bool { return s.operation != nil && s.operation.waits }

// release returns what the request holds. Further calls do nothing.
func (s *scope) release() {
	s.slot.Release()
	s.body.release()
	s.body = nil
}

// end is called when the response has ended, also after a panic.
func (s *scope) end() {
	s.release()
	if s.cancel != nil {
		s.cancel()
	}
}

// operation is what this package knows of an operation of the document.
type operation struct {
	id            string
	requiredScope token.Scope // that a token must have
	waits         bool        // for changes
}

// waiting are the operations that wait for changes.
var waiting = map[string]bool{"listChanges": true, "streamChanges": true}

// operationsOf returns the operations of the document by their IDs. It returns an error for one that
// would be open, or whose scope is unknown.
func operationsOf(checker *contract.Checker) (map[string]*operation, error) {
	operations := map[string]*operation{}
	for _, described := range checker.Operations() {
		if err := checkSecurity(described.Security); err != nil {
			return nil, fmt.Errorf("%s %s: %w", described.Method, described.Path, err)
		}
		text, _ := described.Extensions["x-required-scope"].(string)
		found := &operation{id: described.ID, requiredScope: token.Scope(text), waits: waiting[described.ID]}
		if !found.requiredScope.Valid() {
			return nil, fmt.Errorf("%s %s: x-required-scope %q is not a scope, need read or write",
				described.Method, described.Path, text)
		}
		operations[found.id] = found
	}
	return operations, nil
}

// checkSecurity returns an error unless an operation needs a bearer token.
func checkSecurity(security [][]contract.Scheme) error {
	if len(security) != 1 || len(security[0]) != 1 {
		return errors.New("it must have one security scheme: declare it once, at the top of the document")
	}
	scheme := security[0][0]
	if scheme.Type != "http" || scheme.Scheme != "bearer" {
		return fmt.Errorf("security scheme %s: type %q with scheme %q is not implemented, need http with bearer",
			scheme.Name, scheme.Type, scheme.Scheme)
	}
	return nil
}

// ignoresUnknown implements [contract.Options.IgnoreUnknown]: createPlant ignores query parameters, because
// the contract of clients that exist says that it has no other inputs.
func ignoresUnknown(operation *contract.Operation) bool {
	return operation.Extensions["x-unknown-parameters"] == "ignored"
}

// methodsOf returns the methods of all operations, sorted. HEAD is supported wherever GET is.
func methodsOf(checker *contract.Checker) []string {
	methods := map[string]bool{http.MethodHead: true}
	for _, operation := range checker.Operations() {
		methods[operation.Method] = true
	}
	return slices.Sorted(maps.Keys(methods))
}
