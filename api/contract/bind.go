package contract

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
)

// ErrUnchecked means that generated code got a request that no [Checker] has checked.
var ErrUnchecked = errors.New("the request was not checked: put the middleware of package contract before the handler")

// Value returns the value of a required parameter as the type that generated code has for it.
func Value[T any](r *Request, in, name string) T {
	value := r.Parameter(in, name)
	if same, ok := value.(T); ok {
		return same
	}
	var converted T
	if value != nil {
		mustConvert(value, &converted, in, name)
	}
	return converted
}

// Optional returns the value of a parameter as the type that generated code has for it, or nil if the
// request does not have it.
func Optional[T any](r *Request, in, name string) *T {
	value := r.Parameter(in, name)
	if value == nil {
		return nil
	}
	if same, ok := value.(T); ok {
		return &same
	}
	converted := new(T)
	mustConvert(value, converted, in, name)
	return converted
}

// mustConvert sets a variable to a checked value. It panics if the code was generated from another document.
func mustConvert[T any](value any, to *T, in, name string) {
	if err := convert(value, reflect.ValueOf(to).Elem()); err != nil {
		panic(fmt.Sprintf("%s parameter %s: %v", in, name, err))
	}
}

// convert sets a variable to a checked value.
func convert(value any, to reflect.Value) error {
	if text, isText := value.(string); isText {
		if reader, ok := to.Addr().Interface().(encoding.TextUnmarshaler); ok { // a date or a UUID
			return reader.UnmarshalText([]byte(text))
		}
	}
	items, isArray := value.([]any)
	if !isArray {
		from := reflect.ValueOf(value)
		if !from.CanConvert(to.Type()) {
			return fmt.Errorf("%T does not become %s", value, to.Type())
		}
		to.Set(from.Convert(to.Type()))
		return nil
	}
	if to.Kind() != reflect.Slice {
		return fmt.Errorf("an array does not become %s", to.Type())
	}
	to.Set(reflect.MakeSlice(to.Type(), len(items), len(items)))
	for i, item := range items {
		if err := convert(item, to.Index(i)); err != nil {
			return err
		}
	}
	return nil
}
