package plan

import (
	"cmp"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Pages are read the way a client of the service would read them: by what the response says, if it says
// something, and by counting otherwise. That order matters. A service whose Link is wrong must be found,
// even if counting would have led to the same items.

// There are five ways to the next page, and a list may have several: a Link (RFC 8288), a member with a reference
// or a token, the identity of the last item, an offset, and the number of the page. [reader] follows the one that
// says most, so that tests need not know which ways a list has.

// page is a part of a list.
type page struct {
	items []map[string]any
	ids   []string
	end   pageEnd
}

// pageEnd says what follows a page.
type pageEnd int

const (
	another pageEnd = iota
	nothing
	unknown // there may be more, and no way leads there
)

// pageOf reads the items of a page and their identities.
func pageOf(l *resources.List, x scenario.Interaction) (found page, err error) {
	value, _ := x.Value() // what is no JSON is no list
	if jsonvalue.Object(value) != nil {
		value = jsonvalue.Lookup(value, "#"+l.ItemsAt())
	}
	array, isArray := value.([]any)
	if !isArray {
		return page{}, scenario.Brokenf("the response is not a list: %.300s", x.Body)
	}
	for _, item := range array {
		object := l.Item.Thing(item)
		if object == nil {
			return page{}, scenario.Brokenf("the list has an item that is not an object: %.300s", x.Body)
		}
		found.items = append(found.items, object)
		found.ids = append(found.ids, fmt.Sprint(object[l.ID]))
	}
	return found, nil
}

// reader finds the way from a page of a list to the next one.
type reader struct {
	list    *resources.List
	query   url.Values // of the next page, if no reference leads there
	byAfter bool       // After is tested: no Link is followed

	number, offset int // of the next page, and of its first item
	found          page
}

// pages reads a list with a query, page by page, as long as there is more.
func (t *listTest) pages(query url.Values, byAfter bool) iter.Seq[page] {
	return func(yield func(page) bool) {
		l := t.list
		r := &reader{list: l, query: query, byAfter: byAfter, number: firstPage(l)}
		request := t.requestOf(query)
		for {
			t.last = t.Send(request, scenario.Accepted)
			found, err := pageOf(l, t.last)
			t.Check(err)
			r.found = found
			end, reference := r.next(t.last)
			found.end = end
			if reference == "" {
				request = t.requestOf(r.query)
			} else {
				request.Path, request.Query, err = t.last.LeadsTo(reference)
				t.Check(err)
			}
			if goesOn := yield(found); !goesOn || end != another {
				return
			}
		}
	}
}

// firstPage is the number of the first page of a list.
func firstPage(l *resources.List) int {
	if parameter := l.Parameter(l.Page); parameter != nil {
		if first, err := strconv.Atoi(fmt.Sprint(schema.DefaultOf(parameter.Schema))); err == nil {
			return first
		}
	}
	return 1
}

// requestOf is the request of the list for a query. The list may be below something that was created.
func (t *listTest) requestOf(query url.Values) scenario.Request {
	request, err := t.Request(scenario.Call{Operation: t.list.ReadBy.ID, Of: t.things[0].Parent, Query: query}, "")
	t.Check(err)
	return request
}

// next says what follows the page that was found, and by which reference, if one leads there; otherwise the query does. Link
// says it more clearly than a member, and a member more clearly than counting, which may go wrong where a service leaves
// items out. A Link on an empty page is not followed: it may lead to empty pages for ever.
//
//	Link: </tools?cursor=x>; rel="next"      a reference
//	{"items": […], "next": "/tools?page=2"}  a reference
//	{"items": […], "next_cursor": "x"}       a value of the parameter cursor
//	[…]                                      count, or after the last item
func (r *reader) next(x scenario.Interaction) (end pageEnd, reference string) {
	isEmpty := len(r.found.ids) == 0
	link := x.NextLink()
	followsLink := !r.byAfter && !isEmpty
	switch {
	case link != "" && followsLink:
		return another, link
	case r.list.Next != "":
		return r.byMember(nextOf(r.list, x))
	case isEmpty:
		return nothing, ""
	}
	return r.count(), ""
}

// byMember goes on as a member of the response says, which is a reference, or a value of After. If it is empty, there is no
// more, or, in a list without After, the items are counted.
func (r *reader) byMember(next string) (end pageEnd, reference string) {
	isReference := strings.HasPrefix(next, "/") || strings.HasPrefix(next, "http")
	switch {
	case isReference:
		return another, next
	case r.list.After != "" && next != "":
		r.query.Set(r.list.After, next)
		return another, ""
	case r.list.After != "", len(r.found.ids) == 0:
		return nothing, ""
	}
	return r.count(), ""
}

// count goes on after the last item, or by counting items or pages. An offset
// counts the items that came, not the limit, which a service may cut.
func (r *reader) count() pageEnd {
	l := r.list
	size := len(r.found.ids)
	followsLink := l.HasLink() && !r.byAfter
	switch {
	case l.After != "" && !followsLink:
		r.query.Set(l.After, r.found.ids[size-1])
	case l.Offset != "":
		r.offset += size
		r.query.Set(l.Offset, strconv.Itoa(r.offset))
	case l.Page != "":
		r.number++
		r.query.Set(l.Page, strconv.Itoa(r.number))
	case r.seemsFull(size):
		return unknown
	default:
		return nothing
	}
	return another
}

// seemsFull reports whether more may follow a page of a size, though nothing says how to get there: it is the limit, or, in
// an inferred list, a multiple of five, as sizes of pages mostly are.
func (r *reader) seemsFull(size int) bool {
	if r.list.IsInferred && size%5 == 0 {
		return true
	}
	if r.list.Limit == "" || r.list.HasLink() {
		return false
	}
	limit, _ := strconv.Atoi(r.query.Get(r.list.Limit)) // without one it is 0
	return size == limit
}

// nextOf is the member of a response that leads to the next page, as text. It is empty on the last page, where
// services leave it out, or have null.
func nextOf(l *resources.List, x scenario.Interaction) string {
	value, _ := x.Value() // what is no JSON has none
	return fmt.Sprint(cmp.Or(jsonvalue.Lookup(value, "#"+resources.At(l.Next)), any("")))
}
