package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
			for i := range page {
				p := stored(page[i])
				if last != nil && p.ID <= *last { // or a broken service has the loop run for ever
					yield(Plant{}, fmt.Errorf("plantstore: list plants: plant %d is listed after plant %d", p.ID, *last))
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
func (c *Client) page(ctx context.Context, params listParams, query string) (page plantapi.StoredPlants, next string, err error) {
	r := request{
		op: "list plants", safe: true, accept: []int{http.StatusOK},
		send: func(ctx context.Context, edit ...plantclient.RequestEditorFn) (*http.Response, error) {
			return c.api.ListPlants(ctx, &params, edit...)
		},
		decode: func(body []byte) bool { return json.Unmarshal(body, &page) == nil && page != nil },
	}
	if query != "" {
		r.edit = func(req *http.Request) { req.URL.RawQuery = query }
	}
	resp, _, err := c.do(ctx, r)
	if err != nil {
		return nil, "", err
	}
	if next, err = nextQuery(resp.Header["Link"]); err != nil {
		return nil, "", fmt.Errorf("plantstore: list plants: %w", err)
	}
	return page, next, nil
}

var (
	link = regexp.MustCompile(`<([^<>]*)>([^<]*)`)                          // RFC 8288, section 3
	rel  = regexp.MustCompile(`(?i)^[^,]*;\s*rel\s*=\s*("[^"]*"|[^\s;,]+)`) // of one link
)

// nextQuery returns the query of the link to the next page, or an empty one. The
// host and the path are those of the client, wherever the link leads: a service
// behind a proxy may not know them, and no other host gets the token.
func nextQuery(links []string) (string, error) {
	for _, m := range link.FindAllStringSubmatch(strings.Join(links, ","), -1) {
		r := rel.FindStringSubmatch(m[2])
		if r == nil || !hasNext(r[1]) {
			continue
		}
		u, err := url.Parse(m[1])
		if err != nil || u.RawQuery == "" {
			return "", fmt.Errorf("the link to the next page is %q", m[1])
		}
		return u.RawQuery, nil
	}
	return "", nil
}

// hasNext reports whether the value of a rel parameter, a list of words, has next.
func hasNext(rel string) bool {
	for word := range strings.FieldsSeq(strings.Trim(rel, `"`)) {
		if strings.EqualFold(word, "next") {
			return true
		}
	}
	return false
}
