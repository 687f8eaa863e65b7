package httpapi

import (
	"regexp"
	"strings"

	"github.com/plantstore/plantstore/internal/plant"
)

// ifMatch parses an If-Match header (RFC 9110, section 13.1.1), which compares
// strongly: a weak tag matches nothing.
func ifMatch(header *string) *plant.ETags {
	return etags(header, false)
}

// ifNoneMatch parses an If-None-Match header (RFC 9110, section 13.1.2), which
// compares weakly: W/ makes no difference.
func ifNoneMatch(header *string) *plant.ETags {
	return etags(header, true)
}

// entityTags matches each tag of a list, and what makes it weak.
var entityTags = regexp.MustCompile(`(W/)?"([^"]*)"`)

// etags parses a list of entity tags that matches the pattern of the document, with or
// without the weak ones. It returns nil if there is no header.
func etags(header *string, keepWeak bool) *plant.ETags {
	if header == nil {
		return nil
	}
	list := &plant.ETags{Any: strings.Trim(*header, "\t ") == "*"}
	for _, tag := range entityTags.FindAllStringSubmatch(*header, -1) {
		if tag[1] == "" || keepWeak {
			list.List = append(list.List, tag[2])
		}
	}
	return list
}

// quoted returns a version as the value of an ETag header.
func quoted(etag string) string { return `"` + etag + `"` }
