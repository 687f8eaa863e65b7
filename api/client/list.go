package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantclient"
)

// A ListOption selects plants for [Client.All] and [Client.List], or sets how they are
// listed. Some of them cannot be combined: then the error is [ErrInvalidParameter]. Of two
// options of one kind, the last one counts.
type ListOption interface{ set(*listing) }

// A Filter is a [ListOption] that selects plants by their tag or name. It is also an
// option of [Client.Count].
type Filter func(*listing)

type arrangement func(*listing) // a ListOption that is no Filter

// listing is what the options of a list set.
type listing struct {
	plantapi.ListPlantsParams
	place string // of Continue
}

func (f Filter) set(l *listing)      { f(l) }
func (a arrangement) set(l *listing) { a(l) }

// HasTag selects the plants with exactly this tag. An empty tag is a tag, too: plants
// without a tag cannot be selected.
func HasTag(tag string) Filter {
	return func(l *listing) { l.Tag = &tag }
}

// HasNamePrefix selects the plants whose name begins with prefix, ignoring case. The prefix
// has 1 to 50 characters. The plants are listed as by [OrderByName]. HasNamePrefix cannot be
// combined with [HasTag] or [StartAfter].
func HasNamePrefix(prefix string) Filter {
	return func(l *listing) { l.NamePrefix = &prefix }
}

// StartAfter selects the plants with a greater id.
func StartAfter(id int64) ListOption {
	return arrangement(func(l *listing) { l.After = &id })
}

// OrderByName lists plants in the order of their names, ignoring case, and equal
// names in the order of the ids. It cannot be combined with [HasTag] or [StartAfter].
func OrderByName() ListOption { return orderBy(plantapi.OrderName) }

// OrderByNameDescending lists plants in the reverse order of [OrderByName].
func OrderByNameDescending() ListOption { return orderBy(plantapi.OrderNameDescending) }

// OrderByIDDescending lists plants in descending order of their ids. It cannot be combined
// with [HasNamePrefix] or [StartAfter].
func OrderByIDDescending() ListOption { return orderBy(plantapi.OrderIDDescending) }

// OrderByUpdate lists the plants that changed last first. It cannot be combined with
// [HasTag], [HasNamePrefix] or [StartAfter]. A plant that changes during the loop may be
// returned twice or not at all.
func OrderByUpdate() ListOption { return orderBy(plantapi.OrderUpdated) }

func orderBy(order plantapi.ListPlantsParamsOrder) ListOption {
	return arrangement(func(l *listing) { l.Order = &order })
}

// PageSize sets how many plants one response has at most. The maximum is 1000. The
// default is 1000 for [Client.All] and 100 for [Client.List].
func PageSize(n int32) ListOption {
	return arrangement(func(l *listing) { l.Limit = &n })
}

// Continue makes [Client.List] return the page after the one with this [Page.Next], or the
// first page if next is empty. Give it the same other options as for that page. It is safe
// to take next from a user: it cannot change the other options, and if it is malformed the
// error is [ErrInvalidParameter].
func Continue(next string) ListOption {
	return arrangement(func(l *listing) { l.place = next })
}

// A Page is a part of a list.
type Page struct {
	Plants []Plant `json:"plants"`
	Next   string  `json:"next,omitempty"` // where the next page begins, for [Continue]; empty: this page is the last one
}

// List returns one page of plants in the order of their ids, or in that of an option. To read
// all pages, use [Client.All].
//
//	page, err := c.List(ctx, client.HasTag("Moraceae"), client.PageSize(20))
//	page, err = c.List(ctx, client.HasTag("Moraceae"), client.PageSize(20), client.Continue(page.Next))
func (c *Client) List(ctx context.Context, opts ...ListOption) (Page, error) {
	l := listingOf(opts)
	plants, next, err := readPage[Plant](ctx, c, "list plants", l.place, c.newList(l))
	return Page{Plants: plants, Next: next}, err
}

// All returns the plants in the order of their ids, or in that of an option, page by page as
// [Client.List]: it requests a page when the loop comes to it. A plant that is stored during
// the whole loop is returned exactly once, even while other clients write; in the order of
// names only if it keeps its name. After an error the loop ends.
func (c *Client) All(ctx context.Context, opts ...ListOption) iter.Seq2[Plant, error] {
	l := listingOf(append([]ListOption{PageSize(1000)}, opts...))
	plants := list[Plant](ctx, c, "list plants", l.place, c.newList(l))
	if l.Order != nil || l.NamePrefix != nil {
		return plants
	}
	return func(yield func(Plant, error) bool) {
		first, last := true, int64(0)
		for p, err := range plants {
			if err == nil && !first && p.ID <= last { // a broken service
				p, err = Plant{}, fmt.Errorf("plantstore: list plants: plant %d is listed after plant %d", p.ID, last)
			}
			if !yield(p, err) || err != nil {
				return
			}
			first, last = false, p.ID
		}
	}
}

func listingOf[O ListOption](opts []O) (l listing) {
	for _, opt := range opts {
		opt.set(&l)
	}
	return l
}

// newList returns a function that makes the request for the first page.
func (c *Client) newList(l listing) func() (*http.Request, error) {
	return func() (*http.Request, error) { return plantclient.NewListPlantsRequest(c.server, &l.ListPlantsParams) }
}

// Tags returns the tags that plants have and that begin with a text, each once, in the
// order of their code points. An empty prefix selects all tags. After an error the loop
// ends.
func (c *Client) Tags(ctx context.Context, prefix string) iter.Seq2[string, error] {
	params := plantapi.ListTagsParams{Limit: new(int32(1000)), Prefix: &prefix}
	return list[string](ctx, c, "list tags", "", func() (*http.Request, error) {
		return plantclient.NewListTagsRequest(c.server, &params)
	})
}

// Count returns the number of plants, or of those that the filter selects. The service
// counts up to 100,000: if there are more, n is 100,000 and more is true.
func (c *Client) Count(ctx context.Context, filters ...Filter) (n int, more bool, err error) {
	count, l := plantapi.Count{Count: -1}, listingOf(filters)
	_, _, err = c.do(ctx, request{
		op: "count plants", safe: true, accept: []int{http.StatusOK},
		build: func(io.Reader) (*http.Request, error) {
			return plantclient.NewCountPlantsRequest(c.server, &plantapi.CountPlantsParams{Tag: l.Tag, NamePrefix: l.NamePrefix})
		},
		decode: func(body []byte) bool { return json.Unmarshal(body, &count) == nil && count.Count >= 0 },
	})
	if err != nil {
		return 0, false, err
	}
	return int(count.Count), count.More, nil
}

// A Token is what the token of a client allows.
type Token struct {
	Name      string
	Scopes    []string
	ExpiresAt time.Time // zero: it does not expire
	ReadOnly  bool      // the service refuses writes for now
}

// Token returns what the token of the client allows, and until when.
func (c *Client) Token(ctx context.Context) (Token, error) {
	var token plantapi.Token
	_, _, err := c.do(ctx, request{
		op: "read the token", safe: true, accept: []int{http.StatusOK},
		build:  func(io.Reader) (*http.Request, error) { return plantclient.NewGetTokenRequest(c.server) },
		decode: func(body []byte) bool { return json.Unmarshal(body, &token) == nil && token.Scopes != nil },
	})
	if err != nil {
		return Token{}, err
	}
	found := Token{Name: token.Name, Scopes: token.Scopes, ReadOnly: token.ReadOnly}
	if token.ExpiresAt != nil {
		found.ExpiresAt = *token.ExpiresAt
	}
	return found, nil
}

// list returns the items of all pages from a place on.
func list[T any](
	ctx context.Context, c *Client, op, start string, build func() (*http.Request, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for place := start; ; {
			items, next, err := readPage[T](ctx, c, op, place, build)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			switch next {
			case "":
				return
			case place: // a broken service: do not loop for ever
				yield(*new(T), fmt.Errorf("plantstore: %s: the next page is the same page", op))
				return
			}
			place = next
		}
	}
}

// readPage returns the items of the page at a place, and the place of the next one. Build
// makes the request for the first page; place is empty for that.
func readPage[T any](
	ctx context.Context, c *Client, op, place string, build func() (*http.Request, error),
) (items []T, next string, err error) {
	resp, _, err := c.do(ctx, request{
		op: op, safe: true, accept: []int{http.StatusOK},
		build: func(io.Reader) (*http.Request, error) {
			req, err := build()
			if err != nil {
				return nil, err
			}
			query, err := url.ParseQuery(place)
			if err != nil || placeOf(query) != place {
				return nil, fmt.Errorf("%w: %.200q is no place in a list", ErrInvalidParameter, place)
			}
			all := req.URL.Query()
			maps.Copy(all, query)
			req.URL.RawQuery = all.Encode()
			return req, nil
		},
		decode: func(body []byte) bool { return json.Unmarshal(body, &items) == nil && items != nil },
	})
	if err == nil {
		next, err = nextPlace(op, resp.Header["Link"])
	}
	if err != nil {
		return nil, "", err
	}
	return items, next, nil
}

// placeOf returns what says in a query where a page begins. By the document, the link to
// the next page has the other parameters of the request.
func placeOf(query url.Values) string {
	place := maps.Clone(query)
	maps.DeleteFunc(place, func(name string, _ []string) bool { return name != "after" && name != "cursor" })
	return place.Encode()
}

// nextLink matches a link to the next page (RFC 8288, section 3). Its relation is a word,
// or one of several in quotes.
var nextLink = regexp.MustCompile(`(?i)<([^<>]*)>[^<,]*;\s*rel\s*=\s*` +
	`(?:next\s*(?:[;,]|$)|"(?:[^"]*\s)?next(?:\s[^"]*)?")`)

// nextPlace returns the place in the link to the next page, or an empty one. The
// host and the path are those of the client, wherever the link leads: a service
// behind a proxy may not know them, and no other host gets the token.
func nextPlace(op string, links []string) (string, error) {
	m := nextLink.FindStringSubmatch(strings.Join(links, ","))
	if m == nil {
		return "", nil
	}
	if u, err := url.Parse(m[1]); err == nil {
		if place := placeOf(u.Query()); place != "" {
			return place, nil
		}
	}
	return "", fmt.Errorf("plantstore: %s: the link to the next page is %q", op, m[1])
}
