package contract

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrUnchecked means that a handler got a request that no [Checker] has checked. It is for middlewares behind it.
var ErrUnchecked = errors.New("the request was not checked: put the middleware of package contract before the handler")

// Value returns the value of a required parameter, as a type to which its JSON can be decoded. It panics if that cannot be, as
// the type is not that of the document, if the operation has no such parameter, and with [ErrUnchecked] if the request is nil. A
// parameter that the request does not have is zero.
func Value[T any](r *Request, in, name string) T {
	value, _ := valueAs[T](r, in, name)
	return value
}

// Optional is [Value] of a parameter that may be missing: it returns nil if the request does not have it.
func Optional[T any](r *Request, in, name string) *T {
	if value, isGiven := valueAs[T](r, in, name); isGiven {
		return new(value) // and not &value, which is allocated always
	}
	return nil
}

func valueAs[T any](r *Request, in, name string) (value T, isGiven bool) {
	if r == nil {
		panic(ErrUnchecked)
	}
	found, isKnown := r.find(in, name)
	if !isKnown {
		panic(fmt.Sprintf("%s %s has no %s parameter %q", r.Operation.Method, r.Operation.Path, in, name))
	}
	if found == nil {
		return value, false
	}
	if same, ok := found.(T); ok { // most are
		return same, true
	}
	converted := new(T)
	text, err := json.Marshal(found)
	if err == nil {
		err = json.Unmarshal(text, converted)
	}
	if err != nil {
		panic(fmt.Sprintf("%s parameter %s: %v", in, name, err))
	}
	return *converted, true
}
