package httpapi

import (
	"encoding/binary"
	"encoding/hex"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plant"
)

// pageOf returns the page of a request for plants, without its limit. It refuses
// parameters that cannot be combined.
func pageOf(params plantapi.ListPlantsParams) (plant.Page, error) {
	byID := params.Order != nil && *params.Order == plantapi.OrderID
	if params.NamePrefix == nil && params.Cursor == nil && (params.Order == nil || byID) {
		return plant.Page{After: params.After, Tag: params.Tag}, nil
	}
	var details []plantapi.ErrorDetail
	given := []bool{params.After != nil, params.Tag != nil, byID}
	for i, name := range []string{"after", "tag", "order"} {
		if given[i] {
			const message = "cannot be combined with name_prefix, order=name or cursor: remove it, or them"
			details = append(details, parameter{name: name, in: plantapi.InQuery}.fault(message))
		}
	}
	if details != nil {
		return plant.Page{}, invalid(plantapi.CodeInvalidParameter, wrongParameter, details)
	}
	byName := &plant.ByName{}
	if params.NamePrefix != nil {
		byName.Prefix = plant.NameKey(*params.NamePrefix)
	}
	if params.Cursor != nil {
		place, _ := hex.DecodeString(*params.Cursor) // see cursorOf; every cursor that the document allows has a place
		byName.After = &plant.NamePlace{ID: int64(binary.BigEndian.Uint64(place)), Key: string(place[8:])}
	}
	return plant.Page{ByName: byName}, nil
}

// cursorOf returns the cursor after a plant: the ID in eight bytes and the key of the name,
// in hexadecimal digits.
func cursorOf(p plant.Plant) string {
	place := binary.BigEndian.AppendUint64(nil, uint64(p.ID))
	return hex.EncodeToString(append(place, plant.NameKey(p.Name)...))
}

// nextPage returns the Link to the page of a path with these query parameters: a struct of
// the generated code, in which each parameter is a pointer.
func (s *server) nextPage(path string, params any) string {
	link := append(append([]byte("<"), s.basePath...), path...)
	separator := byte('?')
	given := reflect.ValueOf(params)
	for i := range given.NumField() {
		if value := given.Field(i); !value.IsNil() {
			name, _, _ := strings.Cut(given.Type().Field(i).Tag.Get("form"), ",")
			link = append(append(append(link, separator), name...), '=')
			if value = value.Elem(); value.CanInt() {
				link = strconv.AppendInt(link, value.Int(), 10)
			} else {
				link = append(link, url.QueryEscape(value.String())...)
			}
			separator = '&'
		}
	}
	return string(append(link, `>; rel="next"`...))
}
