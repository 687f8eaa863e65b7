package httpapi

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plant"
)

// orderOf returns the order of a request for plants, and what chooses it.
func orderOf(params plantapi.ListPlantsParams) (order plantapi.ListPlantsParamsOrder, chosenBy string) {
	switch {
	case params.Order != nil:
		return *params.Order, "order=" + string(*params.Order)
	case params.NamePrefix != nil:
		return plantapi.OrderName, "name_prefix"
	case params.Cursor != nil:
		return plantapi.OrderName, "cursor"
	default:
		return plantapi.OrderID, ""
	}
}

// parametersOf lists the parameters that each order takes besides limit, as in the document.
var parametersOf = map[plantapi.ListPlantsParamsOrder][]string{
	plantapi.OrderID:             {"after", "tag"},
	plantapi.OrderIDDescending:   {"tag", "cursor"},
	plantapi.OrderName:           {"name_prefix", "cursor"},
	plantapi.OrderNameDescending: {"name_prefix", "cursor"},
	plantapi.OrderUpdated:        {"cursor"},
}

// checkCombination refuses the parameters that the order of a request does not take.
func checkCombination(params plantapi.ListPlantsParams) error {
	order, chosenBy := orderOf(params)
	given := [...]bool{params.After != nil, params.Tag != nil, params.NamePrefix != nil, params.Cursor != nil}
	var details []plantapi.ErrorDetail
	for i, name := range [...]string{"after", "tag", "name_prefix", "cursor"} {
		if given[i] && !slices.Contains(parametersOf[order], name) {
			message := "cannot be combined with " + chosenBy + ": remove one of them"
			details = append(details, plantapi.ErrorDetail{In: plantapi.InQuery, Pointer: "/" + name, Message: message})
		}
	}
	if details == nil {
		return nil
	}
	return invalidParameters(details...)
}

// pageOf returns the page of a request for plants, without its limit. It refuses
// parameters that cannot be combined.
func pageOf(params plantapi.ListPlantsParams) (plant.Page, error) {
	if err := checkCombination(params); err != nil {
		return plant.Page{}, err
	}
	page := plant.Page{After: params.After, Tag: params.Tag}
	place := placeOf(params.Cursor)
	switch order, _ := orderOf(params); order {
	case plantapi.OrderIDDescending:
		page.Descending = true
		if place != nil {
			page.After = &place.ID
		}
	case plantapi.OrderName, plantapi.OrderNameDescending:
		page.Descending = order == plantapi.OrderNameDescending
		page.ByName = &plant.ByName{After: place}
		if params.NamePrefix != nil {
			page.ByName.Prefix = plant.NameKey(*params.NamePrefix)
		}
	case plantapi.OrderUpdated:
		page.ByUpdate = &plant.ByUpdate{}
		if place != nil {
			updatedAt := append([]byte(place.Key), make([]byte, 8)...) // the cursor of another order may have less
			page.ByUpdate.After = &plant.UpdatePlace{UpdatedAt: int64(binary.BigEndian.Uint64(updatedAt)), ID: place.ID}
		}
	}
	return page, nil
}

// placeOf returns the place of a cursor; see placeAfter. Every cursor that the document allows
// has one.
func placeOf(cursor *string) *plant.NamePlace {
	if cursor == nil {
		return nil
	}
	place, _ := hex.DecodeString(*cursor)
	return &plant.NamePlace{ID: int64(binary.BigEndian.Uint64(place)), Key: string(place[8:])}
}

// placeAfter returns the parameter for the page after one that ends with a plant, and its
// value. A cursor is the ID in eight bytes and what the order compares before it, if anything,
// in hexadecimal digits.
func placeAfter(page plant.Page, last plant.Plant) (parameter, value string) {
	place := binary.BigEndian.AppendUint64(nil, uint64(last.ID))
	switch {
	case page.ByName != nil:
		place = append(place, plant.NameKey(last.Name)...)
	case page.ByUpdate != nil:
		place = binary.BigEndian.AppendUint64(place, uint64(last.UpdatedAt.UnixMicro()))
	case !page.Descending:
		return "after", strconv.FormatInt(last.ID, 10)
	}
	return "cursor", hex.EncodeToString(place)
}

// How many items a page has without the parameter limit, and at most. Tests compare both with the document.
const (
	normalPage = 100
	mostOnPage = 1000
)

// pageSize returns the size of a page of a request.
func pageSize(limit *int32) int {
	if limit == nil {
		return normalPage
	}
	return min(int(*limit), mostOnPage)
}

// nextPage returns the Link to the page after that of a request: with its query, in which a parameter has
// another value.
func (s *server) nextPage(ctx context.Context, path, parameter, value string) string {
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
	return string(append(link, `>; rel="next"`...))
}
