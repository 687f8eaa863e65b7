package httpapi

import (
	"fmt"
	"net/http"

	"github.com/oapi-codegen/runtime"

	"github.com/plantstore/plantstore/gen/plantapi"
)

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
