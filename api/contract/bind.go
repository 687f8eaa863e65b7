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

// BindBody sets a variable of a type that generated code has for the body to the checked body, and forgets
// that; see [Request.TakeBody].
func BindBody(r *Request, to any) error {
	return convert(r.TakeBody(), reflect.ValueOf(to).Elem())
}

// mustConvert sets a variable to a checked value. It panics if the code was generated from another document.
func mustConvert[T any](value any, to *T, in, name string) {
	if err := convert(value, reflect.ValueOf(to).Elem()); err != nil {
		panic(fmt.Sprintf("%s parameter %s: %v", in, name, err))
	}
}

// convert sets a variable to a checked value.
func convert(value any, to reflect.Value) error {
	if isSet, err := convertItself(value, to.Addr().Interface()); isSet {
		return err
	}
	if to.Kind() == reflect.Pointer {
		if value == nil {
			return nil
		}
		to.Set(reflect.New(to.Type().Elem()))
		return convert(value, to.Elem())
	}
	switch value := value.(type) {
	case nil:
		return nil
	case []any:
		return convertItems(value, to)
	case map[string]any:
		return convertMembers(value, to)
	}
	from := reflect.ValueOf(value)
	if !from.CanConvert(to.Type()) {
		return fmt.Errorf("%T does not become %s", value, to.Type())
	}
	to.Set(from.Convert(to.Type()))
	return nil
}

// convertItself sets a variable whose type reads texts, such as a UUID, or JSON, such as one of several types.
func convertItself(value, to any) (isSet bool, err error) {
	if reader, ok := to.(json.Unmarshaler); ok {
		text, err := json.Marshal(value)
		if err != nil {
			return true, err
		}
		return true, reader.UnmarshalJSON(text)
	}
	text, isText := value.(string)
	reader, ok := to.(encoding.TextUnmarshaler)
	if !isText || !ok {
		return false, nil
	}
	return true, reader.UnmarshalText([]byte(text))
}

func convertItems(items []any, to reflect.Value) error {
	if to.Kind() == reflect.Interface {
		to.Set(reflect.ValueOf(items))
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

// convertMembers sets a struct with the names of the members in its tags, or a map.
func convertMembers(members map[string]any, to reflect.Value) error {
	switch to.Kind() {
	case reflect.Interface:
		to.Set(reflect.ValueOf(members))
	case reflect.Map:
		to.Set(reflect.MakeMap(to.Type()))
		for name, member := range members {
			made := reflect.New(to.Type().Elem()).Elem()
			if err := convert(member, made); err != nil {
				return err
			}
			to.SetMapIndex(reflect.ValueOf(name), made)
		}
	case reflect.Struct:
		for i := range to.NumField() {
			name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("json"), ",")
			if member, isGiven := members[name]; isGiven {
				if err := convert(member, to.Field(i)); err != nil {
					return err
				}
			}
		}
	default:
		return fmt.Errorf("an object does not become %s", to.Type())
	}
	return nil
}
