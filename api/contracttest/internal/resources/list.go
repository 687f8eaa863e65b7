package resources

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// List is a list operation with what it lists.
type List struct {
	scenario.List
	ReadBy     *document.Operation
	Resource   *Resource
	IsInferred bool
	// Selects are the filters, sorted by their parameters.
	Selects []Filter
	// Item is where an item has the thing.
	Item document.Wrapping
}

// At is the JSON Pointer of a member that the options name, or have as a pointer; "meta/next" is one, too.
func At(named string) string {
	if named == "" {
		return ""
	}
	return "/" + strings.TrimPrefix(named, "/")
}

// ItemsAt is the JSON Pointer of the items.
func (l *List) ItemsAt() string { return At(l.Items) }

// Parameter returns a parameter of the query, or nil. Most lists lack most of those that are asked for.
func (l *List) Parameter(name string) *document.Parameter {
	return l.ReadBy.Parameter("query", name)
}

// HasLink reports whether the list has pages that are connected by Link.
func (l *List) HasLink() bool { return l.Limit != "" && l.ReadBy.Sends("Link") }

// InOrder reports whether resources that a test creates follow each other in the list: the options say that it is in the order of
// an identity, which the test has chosen and counts up.
func (l *List) InOrder() bool {
	if l.IsInferred {
		return false
	}
	isByIdentity := l.After != "" && l.Next == ""
	isChosen := !l.Resource.IsAssigned && schema.TypeOf(l.Resource.Identity) == "integer"
	return isByIdentity && isChosen
}

// From is a query for the part of the list that begins with an identity, where the list can do that: see InOrder. Otherwise it is
// empty, because the identity may be anywhere in the list.
func (l *List) From(id any) url.Values {
	query := url.Values{}
	if number, isNumber := id.(int64); isNumber && l.InOrder() {
		query.Set(l.After, strconv.FormatInt(number-1, 10))
	}
	return query
}

// PageSize is the limit that the list allows and that is nearest to the wanted one.
func (l *List) PageSize(want int) int {
	parameter := l.Parameter(l.Limit)
	if parameter == nil {
		return want
	}
	low, high := values.Limits(parameter.Schema)
	return int(min(max(low, int64(want)), high))
}

// LongestPage is the largest limit of a list, for walks that should need few requests.
func (l *List) LongestPage() int { return l.PageSize(values.Most) }

// partly are words about a list that need not have all that exists.
var partly = regexp.MustCompile(`(?i)\bonly\b|published|active|public|visible|available|\bown(ed)?\b|your|current user|recent|latest|newest|search|matching|popular`)

// IsPartial reports whether the document leaves open if the list has all resources: in words, or with a default of a parameter
// that may select. Such a list cannot be accused of lacking something.
func (l *List) IsPartial() bool {
	pages := []string{l.Limit, l.After, l.Offset, l.Page}
	selects := func(p *document.Parameter) bool {
		hasDefault := p.In == "query" && schema.DefaultOf(p.Schema) != nil
		return hasDefault && !slices.Contains(pages, p.Name)
	}
	return partly.MatchString(l.ReadBy.Says) || slices.ContainsFunc(l.ReadBy.Parameters, selects)
}
