package contract

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// ErrUnchecked means that generated code got a request that no [Checker] has checked.
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
	if same, ok := found.(T); ok { // most are: reflection allocates
		return same, true
	}
	converted := new(T)
	if err := convert(found, reflect.ValueOf(converted).Elem()); err != nil {
		panic(fmt.Sprintf("%s parameter %s: %v", in, name, err))
	}
	return *converted, true
}

// BindBody sets a variable of a type that generated code has for the body to the checked body, and forgets
// that; see [Request.TakeBody]. It panics if the code was generated from another document.
func BindBody(r *Request, to any) error {
	return convert(r.TakeBody(), reflect.ValueOf(to).Elem())
}

// convert sets a variable to a checked value.
func convert(value any, to reflect.Value) error {
	if hasOwnJSON(to) {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, to.Addr().Interface())
	}
	if value == nil {
		return nil
	}
	switch to.Kind() {
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		return convert(value, to.Elem())
	case reflect.Slice:
		return convertItems(value.([]any), to)
	case reflect.Map:
		return convertMap(value.(map[string]any), to)
	case reflect.Struct:
		return convertStruct(value.(map[string]any), to)
	}
	to.Set(reflect.ValueOf(value).Convert(to.Type()))
	return nil
}

// hasOwnJSON reports whether a type reads texts, such as a UUID, or JSON, such as one of several types, or is made of
// text in Base64.
func hasOwnJSON(to reflect.Value) bool {
	switch to.Addr().Interface().(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler, *[]byte:
		return true
	}
	return false
}

func convertItems(items []any, to reflect.Value) error {
	to.Set(reflect.MakeSlice(to.Type(), len(items), len(items)))
	for i, item := range items {
		if err := convert(item, to.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func convertMap(members map[string]any, to reflect.Value) error {
	to.Set(reflect.MakeMap(to.Type()))
	for name, member := range members {
		made := reflect.New(to.Type().Elem()).Elem()
		if err := convert(member, made); err != nil {
			return err
		}
		to.SetMapIndex(reflect.ValueOf(name), made)
	}
	return nil
}

// convertStruct sets the fields of a struct whose tags have the names of members.
func convertStruct(members map[string]any, to reflect.Value) error {
	for i := range to.NumField() {
		name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("json"), ",")
		member, isGiven := members[name]
		if !isGiven {
			continue
		}
		if err := convert(member, to.Field(i)); err != nil {
			return err
		}
	}
	return nil
}
