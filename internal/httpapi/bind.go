package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/oapi-codegen/runtime"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// checkedBody is a body and, once it has been held against the schema, what it
// says. It stands in for the Body of its request, so that nobody reads another
// value out of it than the one that was checked.
type checkedBody struct {
	decoder
	text  []byte
	value any
}

// checkedBodies are used again, but for the larger ones.
var checkedBodies = sync.Pool{New: func() any { return new(checkedBody) }}

// maxPooled is how many bytes a buffer may have that is used again.
const maxPooled = 64 << 10

// release has the body used again; nobody may know its value any more.
func (b *checkedBody) release() {
	if cap(b.text) > maxPooled {
		return
	}
	b.takeBack(b.value)
	b.value = nil
	checkedBodies.Put(b)
}

// A checkedBody is bound, and not read.
func (*checkedBody) Read([]byte) (int, error) {
	return 0, errors.New("the body has been read and checked, it can only be bound")
}

func (*checkedBody) Close() error { return nil }

// bindBody makes *into, the body of a typed request, what the value says that
// checkBody has checked. Nothing is parsed a second time: a second parser could
// see another value.
func bindBody(r *http.Request, into any) error {
	body := r.Body.(*checkedBody)
	r.Body = http.NoBody
	defer body.release()
	if bindPlant(body.value, into) {
		return nil
	}
	if err := runtime.BindJSONValue(body.value, into); err != nil {
		return fmt.Errorf("bind a body that matches the schema: %w", err)
	}
	return nil
}

// bindPlant binds the bodies that many requests have, as [runtime.BindJSONValue]
// would do by reflection. It reports false if this is none of them.
func bindPlant(value, into any) bool {
	object, ok := value.(map[string]any)
	if !ok {
		return false
	}
	switch into := into.(type) {
	case *plantapi.NewPlant:
		*into = newPlant(object)
	case *plantapi.NewPlants:
		items, _ := object["plants"].([]any)
		into.Plants = make([]plantapi.NewPlant, len(items))
		for i, item := range items {
			object, _ := item.(map[string]any)
			into.Plants[i] = newPlant(object)
		}
	default:
		return false
	}
	return true
}

func newPlant(object map[string]any) (p plantapi.NewPlant) {
	p.ID, _ = object["id"].(int64)
	p.Name, _ = object["name"].(string)
	if tag, ok := object["tag"].(string); ok {
		p.Tag = &tag
	}
	return p
}
