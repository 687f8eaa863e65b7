package contract

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrUnchecked means that a handler got a request that no [Checker] has checked. It is for middlewares behind it.
var ErrUnchecked = errors.New("the request was not checked: put the middleware of package contract before the handler")

// Value returns the value of a required parameter as the type that generated code has for it. It panics if the
// code was generated from another document.
func Value[T any](r *Request, in, name string) T {
	value, _ := valueAs[T](r, in, name)
	return value
}

// Optional returns the value of a parameter as the type that generated code has for it, or nil if the
// request does not have it. It panics if the code was generated from another document.
func Optional[T any](r *Request, in, name string) *T {
	if value, isGiven := valueAs[T](r, in, name); isGiven {
		return new(value) // and not &value, which is allocated always
	}
	return nil
}

func valueAs[T any](r *Request, in, name string) (value T, isGiven bool) {
	found := r.Parameter(in, name)
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
