package httpapi

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"net/url"

	"github.com/plantstore/plantstore/api/contract"
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
			details = append(details, plantapi.ErrorDetail{In: plantapi.InQuery, Pointer: "/" + name, Message: message})
		}
	}
	if details != nil {
		return plant.Page{}, invalidParameters(details...)
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

// pageSize is how many items a page has: without the parameter limit, and at most.
type pageSize struct{ normal, most int }

// The sizes of pages in the document. Tests compare them with it.
var (
	plantsPage  = pageSize{normal: 100, most: 1000}
	tagsPage    = pageSize{normal: 100, most: 1000}
	changesPage = pageSize{normal: 100, most: 1000}
)

// of returns the size of a page of a request.
func (size pageSize) of(limit *int32) int {
	if limit == nil {
		return size.normal
	}
	return min(int(*limit), size.most)
}

// nextPage returns the Link to the page after that of a request: with its query, in which a parameter has
// another value.
func (s *server) nextPage(ctx context.Context, path, parameter, value string) *string {
	request := contract.RequestOf(ctx)
	link := append(append([]byte("<"), s.basePath...), path...)
	separator := byte('?')
	for _, name := range request.Operation.QueryParameters() {
		text := request.Query().Get(name)
		if name == parameter {
			text = value
		} else if !request.Query().Has(name) {
			continue
		}
		link = append(append(append(link, separator), name...), '=')
		link = append(link, url.QueryEscape(text)...)
		separator = '&'
	}
	return new(string(append(link, `>; rel="next"`...)))
}
