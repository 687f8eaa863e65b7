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
	case params.Q != nil:
		return plantapi.OrderName, "q"
	case params.NamePrefix != nil:
		return plantapi.OrderName, "name_prefix"
	case params.TagPrefix != nil:
		return plantapi.OrderTag, "tag_prefix"
	case params.Cursor != nil:
		return plantapi.OrderName, "cursor"
	default:
		return plantapi.OrderID, ""
	}
}

// An orderOfPlants is what an order of the document is in a store.
type orderOfPlants struct {
	order        plant.Order
	isDescending bool
	parameters   []string // that only some orders take
	isSearch     bool     // the order is that of a search only
}

// orders are those of the document.
var orders = map[plantapi.ListPlantsParamsOrder]orderOfPlants{
	plantapi.OrderID:               {order: plant.OrderID, parameters: []string{"after"}},
	plantapi.OrderIDDescending:     {order: plant.OrderID, parameters: []string{"cursor"}, isDescending: true},
	plantapi.OrderName:             {order: plant.OrderName, parameters: []string{"name_prefix", "cursor"}},
	plantapi.OrderNameDescending:   {order: plant.OrderName, parameters: []string{"name_prefix", "cursor"}, isDescending: true},
	plantapi.OrderTag:              {order: plant.OrderTag, parameters: []string{"cursor"}, isSearch: true},
	plantapi.OrderTagDescending:    {order: plant.OrderTag, parameters: []string{"cursor"}, isSearch: true, isDescending: true},
	plantapi.OrderUpdated:          {order: plant.OrderUpdate, parameters: []string{"cursor"}, isDescending: true},
	plantapi.OrderUpdatedAscending: {order: plant.OrderUpdate, parameters: []string{"cursor"}, isSearch: true},
}

// checkCombination refuses parameters that the order of a request does not take, and filters that exclude each other.
func checkCombination(params plantapi.ListPlantsParams) error {
	order, chosenBy := orderOf(params)
	var details []plantapi.ErrorDetail
	refuse := func(isGiven bool, name, because string) {
		if isGiven {
			message := "cannot be combined with " + because + ": remove one of them"
			details = append(details, plantapi.ErrorDetail{In: plantapi.InQuery, Pointer: "/" + name, Message: message})
		}
	}
	taken := orders[order].parameters
	refuse(params.After != nil && !slices.Contains(taken, "after"), "after", chosenBy)
	refuse(params.Cursor != nil && !slices.Contains(taken, "cursor"), "cursor", chosenBy)
	refuse(params.NamePrefix != nil && !slices.Contains(taken, "name_prefix"), "name_prefix", chosenBy)
	if params.NamePrefix != nil {
		refuse(params.Q != nil, "q", "name_prefix")
		refuse(params.Tag != nil, "tag", "name_prefix")
		refuse(params.TagPrefix != nil, "tag_prefix", "name_prefix")
	} else {
		refuse(params.Tag != nil && params.TagPrefix != nil, "tag", "tag_prefix")
	}
	if details == nil {
		return nil
	}
	return invalidParameters(details...)
}

// mostExamined is how many plants a page of a search examines, as in the document.
const mostExamined = 100_000

// searchOf returns the search for the plants of a request, without its limit and the beginning of the name. It refuses
// parameters that cannot be combined.
func searchOf(params plantapi.ListPlantsParams) (plant.Search, error) {
	if err := checkCombination(params); err != nil {
		return plant.Search{}, err
	}
	name, _ := orderOf(params)
	chosen := orders[name]
	search := plant.Search{
		Order: chosen.order, Descending: chosen.isDescending, After: placeOf(params, chosen.order), Examine: mostExamined,
	}
	if params.Q != nil {
		search.Parts = plant.PartsOf(*params.Q)
	}
	if params.Tag != nil {
		search.Tags = plant.OneTag(*params.Tag)
	}
	if params.TagPrefix != nil {
		search.Tags = plant.TagsBeginningWith(*params.TagPrefix)
	}
	return search, nil
}

// needsSearch reports whether no index has both the filters and the order of a request.
func needsSearch(params plantapi.ListPlantsParams) bool {
	name, _ := orderOf(params)
	order := orders[name]
	if order.isSearch || params.Q != nil || params.TagPrefix != nil {
		return true
	}
	return params.Tag != nil && order.order != plant.OrderID
}

// pageOf returns the page of a search that an index has.
func pageOf(search plant.Search, params plantapi.ListPlantsParams) plant.Page {
	page := plant.Page{Tag: params.Tag, Limit: search.Limit}
	after := search.After
	switch search.Order {
	case plant.OrderName:
		page.Descending, page.ByName = search.Descending, &plant.ByName{}
		if after != nil {
			page.ByName.After = &plant.NamePlace{Key: after.Key, ID: after.ID}
		}
		if params.NamePrefix != nil {
			page.ByName.Prefix = plant.NameKey(*params.NamePrefix)
		}
	case plant.OrderUpdate:
		page.ByUpdate = &plant.ByUpdate{}
		if after != nil {
			page.ByUpdate.After = &plant.UpdatePlace{UpdatedAt: after.UpdatedAt, ID: after.ID}
		}
	default:
		page.Descending = search.Descending
		if after != nil {
			page.After = &after.ID
		}
	}
	return page
}

// placeOf returns the place after which a page begins; see placeAfter. Every cursor that the document allows has one,
// also in another order than that of its list.
func placeOf(params plantapi.ListPlantsParams, order plant.Order) *plant.Place {
	if params.After != nil {
		return &plant.Place{ID: *params.After}
	}
	if params.Cursor == nil {
		return nil
	}
	cursor, _ := hex.DecodeString(*params.Cursor)
	place, rest := &plant.Place{ID: int64(binary.BigEndian.Uint64(cursor))}, cursor[8:]
	switch order {
	case plant.OrderName:
		place.Key = string(rest)
	case plant.OrderTag:
		if place.Untagged = len(rest) == 0; !place.Untagged {
			place.Key = string(rest[1:])
		}
	case plant.OrderUpdate:
		place.UpdatedAt = int64(binary.BigEndian.Uint64(append(rest, make([]byte, 8)...)))
	}
	return place
}

// placeAfter returns the parameter for the page after a place, and its value. A cursor is the ID in eight bytes and
// what the order compares before it, if anything, in hexadecimal digits. A tag has a byte before it, because plants
// without a tag have nothing there.
func placeAfter(search plant.Search, place *plant.Place) (parameter, value string) {
	cursor := binary.BigEndian.AppendUint64(nil, uint64(place.ID))
	switch {
	case search.Order == plant.OrderID && !search.Descending:
		return "after", strconv.FormatInt(place.ID, 10)
	case search.Order == plant.OrderName:
		cursor = append(cursor, place.Key...)
	case search.Order == plant.OrderUpdate:
		cursor = binary.BigEndian.AppendUint64(cursor, uint64(place.UpdatedAt))
	case search.Order == plant.OrderTag && !place.Untagged:
		cursor = append(append(cursor, 't'), place.Key...)
	}
	return "cursor", hex.EncodeToString(cursor)
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
