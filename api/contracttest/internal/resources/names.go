package resources

import (
	"slices"
	"strings"
	"unicode"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// identityNames are the plain names that a member with an identity may have, the best one first: for {petId}
// they are petid and id.
func identityNames(parameter string) []string {
	plain := PlainName(parameter)
	if strings.HasSuffix(plain, "id") {
		return []string{plain, "id"}
	}
	return []string{plain}
}

// nounOf is what an operation creates, by its path: book of /books.
func nounOf(create *document.Operation) string {
	path := strings.Split(strings.TrimSuffix(create.Template, "/"), "/")
	return strings.TrimSuffix(PlainName(path[len(path)-1]), "s")
}

// wrapperNames are the plain names of members that have the thing which a response is about.
var wrapperNames = []string{"", "data", "result", "item", "resource", "record", "object", "response", "payload"}

// isWrapper reports whether a place is in a member with a name that says that it is what was created, as /data is, or is in none.
func isWrapper(place string, create *document.Operation) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(place, "/"), "/")
	return isAmong(append(slices.Clone(wrapperNames), nounOf(create)), name)
}

// suitable reports whether a member can be the one that is looked for.
type suitable func(name string, member *schema.Schema) bool

// memberNamed returns the member of a schema, which may be nil, that has one of some plain names, the best one first, and that
// is suitable, or an empty name.
func (s *Set) memberNamed(of *schema.Schema, plainNames []string, isSuitable suitable) string {
	names := s.values.Names(of)
	for _, plain := range plainNames {
		found := first(names, func(name string) bool {
			return PlainName(name) == plain && isSuitable(name, s.values.Property(of, name))
		})
		if found != "" {
			return found
		}
	}
	return ""
}

// PlainName is a name in one of the ways to write it: page_size, pageSize and page[size] are the same. Authors
// agree on the words more than on how to join them.
func PlainName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// The plain names that parameters of lists usually have, and members with the next page.
var (
	limitNames = []string{"limit", "perpage", "pagesize", "size", "maxresults", "maxitems", "first", "count", "top", "take"}
	// The page follows an item.
	lastNames   = []string{"after", "startingafter", "startafter", "afterid"}
	cursorNames = []string{"cursor", "after", "pagetoken", "nexttoken", "continuationtoken", "marker", "startingafter"}
	// Only the service makes values of them.
	opaqueNames = append(slices.Clone(cursorNames), "token")
	offsetNames = []string{"offset", "skip"}
	pageNames   = []string{"page", "pagenumber"}
	nextNames   = []string{"next", "nextcursor", "nextpagetoken", "nexttoken", "nextpage", "nextmarker", "continuationtoken", "cursor", "endcursor"}
	aroundNames = []string{"meta", "paging", "pagination", "pageinfo", "links"}
)

// IsOpaque reports whether only the service makes values of a parameter.
func IsOpaque(parameter string) bool { return isAmong(opaqueNames, parameter) }

// isAmong reports whether a name is one of some plain ones.
func isAmong(names []string, name string) bool { return slices.Contains(names, PlainName(name)) }
