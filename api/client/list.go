package client

import (
	"context"
	"fmt"
	"iter"
	"maps"
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

func (filter Filter) set(listing *listing)       { filter(listing) }
func (arrange arrangement) set(listing *listing) { arrange(listing) }

// HasTag selects the plants with exactly this tag. An empty tag is a tag, too: plants
// without a tag cannot be selected.
func HasTag(tag string) Filter {
	return func(listing *listing) { listing.Tag = &tag }
}

// HasTagPrefix selects the plants whose tag begins with prefix, which has 1 to 256 characters.
// Without another order the plants are listed as by [OrderByTag]. HasTagPrefix cannot be
// combined with [HasTag] or, without [OrderByID], with [StartAfter].
func HasTagPrefix(prefix string) Filter {
	return func(listing *listing) { listing.TagPrefix = &prefix }
}

// HasNameParts selects the plants whose name has each part of text, in any order and ignoring
// case: "wilson lyrata" finds "Ficus lyrata ‘Wilson’". White space separates the parts; text has
// 1 to 100 characters. Without another order the plants are listed as by [OrderByName].
// HasNameParts cannot be combined with [HasNamePrefix] or, without [OrderByID], with
// [StartAfter]. The service examines the plants one by one, so a [Page] can be empty although
// Next is not, and [Client.Count] can end early.
func HasNameParts(text string) Filter {
	return func(listing *listing) { listing.Q = &text }
}

// HasNamePrefix selects the plants whose name begins with prefix, ignoring case. The prefix
// has 1 to 50 characters. The plants are listed as by [OrderByName]. HasNamePrefix cannot be
// combined with another [Filter] or with [StartAfter].
func HasNamePrefix(prefix string) Filter {
	return func(listing *listing) { listing.NamePrefix = &prefix }
}

// StartAfter selects the plants with a greater id. It can be combined with no order but [OrderByID].
func StartAfter(id int64) ListOption {
	return arrangement(func(listing *listing) { listing.After = &id })
}

// OrderByID lists plants in the order of their ids. This is the default, unless a [Filter] says otherwise.
func OrderByID() ListOption { return orderBy(plantapi.OrderID) }

// OrderByName lists plants in the order of their names, ignoring case, and equal
// names in the order of the ids.
func OrderByName() ListOption { return orderBy(plantapi.OrderName) }

// OrderByNameDescending lists plants in the reverse order of [OrderByName].
func OrderByNameDescending() ListOption { return orderBy(plantapi.OrderNameDescending) }

// OrderByIDDescending lists plants in descending order of their ids. It cannot be combined
// with [HasNamePrefix].
func OrderByIDDescending() ListOption { return orderBy(plantapi.OrderIDDescending) }

// OrderByTag lists plants in the order of the code points of their tags, and equal tags in the
// order of the ids; then the plants without a tag. It cannot be combined with [HasNamePrefix].
func OrderByTag() ListOption { return orderBy(plantapi.OrderTag) }

// OrderByTagDescending lists plants in the reverse order of [OrderByTag], but those without a tag
// come last, too.
func OrderByTagDescending() ListOption { return orderBy(plantapi.OrderTagDescending) }

// OrderByUpdate lists the plants that changed last first. It cannot be combined with
// [HasNamePrefix]. A plant that changes during the loop may be returned twice or not at all.
func OrderByUpdate() ListOption { return orderBy(plantapi.OrderUpdated) }

// OrderByUpdateAscending lists plants in the reverse order of [OrderByUpdate].
func OrderByUpdateAscending() ListOption { return orderBy(plantapi.OrderUpdatedAscending) }

func orderBy(order plantapi.ListPlantsParamsOrder) ListOption {
	return arrangement(func(listing *listing) { listing.Order = &order })
}

// PageSize sets how many plants one response has at most. The maximum is 1000. The
// default is 1000 for [Client.All] and 100 for [Client.List].
func PageSize(n int32) ListOption {
	return arrangement(func(listing *listing) { listing.Limit = &n })
}

// Continue makes [Client.List] return the page after the one with this [Page.Next], or the
// first page if next is empty. Give it the same other options as for that page. It is safe
// to take next from a user: it cannot change the other options, and if it is malformed the
// error is [ErrInvalidParameter].
func Continue(next string) ListOption {
	return arrangement(func(listing *listing) { listing.place = next })
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
	plants, next, err := readPage[Plant](ctx, c, c.newList(opts))
	return Page{Plants: plants, Next: next}, err
}

// All returns the plants in the order of their ids, or in that of an option, page by page as
// [Client.List]: it requests a page when the loop comes to it. A plant that is stored during
// the whole loop is returned exactly once, even while other clients write; in the order of
// names only if it keeps its name. After an error the loop ends.
func (c *Client) All(ctx context.Context, opts ...ListOption) iter.Seq2[Plant, error] {
	return list[Plant](ctx, c, c.newList(append([]ListOption{PageSize(1000)}, opts...)))
}

// newList returns the request for the page that the options say.
func (c *Client) newList(options []ListOption) request {
	listing := listingOf(options)
	first := request{name: "list plants", place: listing.place}
	first.made(plantclient.NewListPlantsRequest(c.server, &listing.ListPlantsParams))
	return first
}

func listingOf[O ListOption](options []O) (listing listing) {
	for _, option := range options {
		option.set(&listing)
	}
	return listing
}

// Tags returns the tags that plants have and that begin with a text, each once, in the
// order of their code points. An empty prefix selects all tags. After an error the loop
// ends.
func (c *Client) Tags(ctx context.Context, prefix string) iter.Seq2[string, error] {
	params := plantapi.ListTagsParams{Limit: new(int32(1000)), Prefix: &prefix}
	first := request{name: "list tags"}
	first.made(plantclient.NewListTagsRequest(c.server, &params))
	return list[string](ctx, c, first)
}

// Count returns the number of plants, or of those that the filters select. The service
// counts up to 100,000: if there are more, n is 100,000 and more is true. With [HasNameParts]
// or [HasTagPrefix] it can end earlier: then more is true, and there may be more.
func (c *Client) Count(ctx context.Context, filters ...Filter) (n int, more bool, err error) {
	count, listing := plantapi.Count{Count: -1}, listingOf(filters)
	params := plantapi.CountPlantsParams{
		Q: listing.Q, Tag: listing.Tag, TagPrefix: listing.TagPrefix, NamePrefix: listing.NamePrefix,
	}
	total := request{name: "count plants", result: &count, isComplete: func() bool { return count.Count >= 0 }}
	total.made(plantclient.NewCountPlantsRequest(c.server, &params))
	_, _, err = c.do(ctx, total)
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
	var token struct { // as in JSON
		Name      string    `json:"name"`
		Scopes    []string  `json:"scopes"`
		ExpiresAt time.Time `json:"expires_at"`
		ReadOnly  bool      `json:"read_only"`
	}
	read := request{name: "read the token", result: &token, isComplete: func() bool { return token.Scopes != nil }}
	read.made(plantclient.NewGetTokenRequest(c.server))
	_, _, err := c.do(ctx, read)
	if err != nil {
		return Token{}, err
	}
	return Token(token), nil
}

// list returns the items of all pages from a place on.
func list[T any](ctx context.Context, c *Client, page request) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page := page; ; {
			items, next, err := readPage[T](ctx, c, page)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			if next == page.place { // a broken service: do not loop for ever
				yield(*new(T), fmt.Errorf("plantstore: %s: the next page is the same page", page.name))
				return
			}
			page.place = next
		}
	}
}

// readPage returns the items of a page, and the place of the next one.
func readPage[T any](ctx context.Context, c *Client, page request) (items []T, next string, err error) {
	place, err := url.ParseQuery(page.place)
	if err != nil || placeOf(place) != page.place {
		page.invalid = fmt.Errorf("%w: %.200q is no place in a list", ErrInvalidParameter, page.place)
	}
	if page.invalid == nil {
		query := page.http.URL.Query()
		maps.Copy(query, place)
		page.http = page.http.Clone(ctx)
		page.http.URL.RawQuery = query.Encode()
	}
	page.result, page.isComplete = &items, func() bool { return items != nil }
	header, _, err := c.do(ctx, page)
	if err != nil {
		return nil, "", err
	}
	if next, err = nextPlace(page.name, header["Link"]); err != nil {
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
func nextPlace(name string, links []string) (string, error) {
	link := nextLink.FindStringSubmatch(strings.Join(links, ","))
	if link == nil {
		return "", nil
	}
	if address, err := url.Parse(link[1]); err == nil {
		if place := placeOf(address.Query()); place != "" {
			return place, nil
		}
	}
	return "", fmt.Errorf("plantstore: %s: the link to the next page is %q", name, link[1])
}
