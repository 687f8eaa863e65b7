package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantclient"
)

// A ListOption changes which plants [Client.All] returns, and how.
type ListOption func(*listParams)

type listParams = plantapi.ListPlantsParams

// WithTag selects the plants with exactly this tag.
func WithTag(tag string) ListOption {
	return func(p *listParams) { p.Tag = &tag }
}

// WithAfter selects the plants with a greater id.
func WithAfter(id int64) ListOption {
	return func(p *listParams) { p.After = &id }
}

// WithPageSize sets how many plants one response has at most. The default is the
// maximum, 1000.
func WithPageSize(n int32) ListOption {
	return func(p *listParams) { p.Limit = &n }
}

// All returns the plants in the order of their ids. It requests a page when the
// loop comes to it. A plant that is stored during the whole loop is returned
// exactly once, even while other clients write. After an error the loop ends.
func (c *Client) All(ctx context.Context, opts ...ListOption) iter.Seq2[Plant, error] {
	params := listParams{Limit: new(int32(1000))}
	for _, opt := range opts {
		opt(&params)
	}
	return func(yield func(Plant, error) bool) {
		var last *int64
		for query := ""; ; {
			page, next, err := c.page(ctx, params, query)
			if err != nil {
				yield(Plant{}, err)
				return
			}
			for i, p := range page {
				if last != nil && p.ID <= *last { // a broken service: do not loop for ever
					err := fmt.Errorf("plantstore: list plants: plant %d is listed after plant %d", p.ID, *last)
					yield(Plant{}, err)
					return
				}
				if !yield(p, nil) {
					return
				}
				last = &page[i].ID
			}
			if next == "" {
				return
			}
			if next == query {
				yield(Plant{}, errors.New("plantstore: list plants: the next page is the same page"))
				return
			}
			query = next
		}
	}
}

// page reads the page of a query, or the first one if query is empty, and returns
// the query of the next page. It is empty for the last one.
func (c *Client) page(ctx context.Context, params listParams, query string) (page []Plant, next string, err error) {
	resp, _, err := c.do(ctx, request{
		op: "list plants", safe: true, accept: []int{http.StatusOK},
		build: func(io.Reader) (*http.Request, error) {
			req, err := plantclient.NewListPlantsRequest(c.server, &params)
			if err == nil && query != "" {
				req.URL.RawQuery = query
			}
			return req, err
		},
		decode: func(body []byte) bool { return json.Unmarshal(body, &page) == nil && page != nil },
	})
	if err != nil {
		return nil, "", err
	}
	if next, err = nextQuery(resp.Header["Link"]); err != nil {
		return nil, "", fmt.Errorf("plantstore: list plants: %w", err)
	}
	return page, next, nil
}

// nextLink matches a link to the next page (RFC 8288, section 3). Its relation is a word,
// or one of several in quotes.
var nextLink = regexp.MustCompile(`(?i)<([^<>]*)>[^<,]*;\s*rel\s*=\s*` +
	`(?:next\s*(?:[;,]|$)|"(?:[^"]*\s)?next(?:\s[^"]*)?")`)

// nextQuery returns the query of the link to the next page, or an empty one. The
// host and the path are those of the client, wherever the link leads: a service
// behind a proxy may not know them, and no other host gets the token.
func nextQuery(links []string) (string, error) {
	m := nextLink.FindStringSubmatch(strings.Join(links, ","))
	if m == nil {
		return "", nil
	}
	u, err := url.Parse(m[1])
	if err != nil || u.RawQuery == "" {
		return "", fmt.Errorf("the link to the next page is %q", m[1])
	}
	return u.RawQuery, nil
}
