package contract

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// places return the texts of a parameter, none if the request does not have it. Cookies are not unescaped, as in the
// code that oapi-codegen generates.
var places = map[string]func(r *Request, p *parameter) []string{
	openapi3.ParameterInPath:   (*Request).inPath,
	openapi3.ParameterInQuery:  (*Request).inQuery,
	openapi3.ParameterInHeader: (*Request).inHeader,
	openapi3.ParameterInCookie: (*Request).inCookie,
}

// inQuery returns the texts of a parameter in the query. Those of a list in one text are still escaped: a comma in an
// item is.
func (r *Request) inQuery(p *parameter) []string {
	switch {
	case p.kind == record && p.isRepeated:
		return p.pairsInQuery(r.query)
	case p.isEscaped:
		return rawTexts(r.http.URL.RawQuery, p.name)
	}
	return r.query[p.name]
}

// rawTexts returns the texts of a name in a query, which are still escaped.
func rawTexts(query, name string) (texts []string) {
	for part := range strings.SplitSeq(query, "&") {
		escaped, text, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(escaped); err == nil && plain == name {
			texts = append(texts, text)
		}
	}
	return texts
}

// removeFromQuery takes a parameter out of the query that the handler gets.
func (r *Request) removeFromQuery(name string) {
	kept := slices.DeleteFunc(strings.Split(r.http.URL.RawQuery, "&"), func(part string) bool {
		return len(rawTexts(part, name)) > 0
	})
	changed := *r.http.URL
	changed.RawQuery = strings.Join(kept, "&")
	r.http.URL = &changed
}

// inHeader joins the lines of a header: a list in several lines is the list in one (RFC 9110, section 5.3). Generated code
// reads one line, without blanks between items.
func (r *Request) inHeader(p *parameter) []string {
	lines := r.http.Header.Values(p.name)
	if len(lines) == 0 {
		return nil
	}
	joined := strings.Join(lines, ",")
	if p.kind == list || p.kind == record {
		joined = headerComma.ReplaceAllString(strings.Trim(joined, " \t"), ",")
	}
	if joined != lines[0] {
		r.http.Header = r.http.Header.Clone()
		r.http.Header.Set(p.name, joined)
	}
	return r.http.Header.Values(p.name)
}

// headerComma is between the items of a list in a header.
var headerComma = regexp.MustCompile(`[ \t]*,[ \t]*`)

func (r *Request) inCookie(p *parameter) (texts []string) {
	for _, cookie := range r.http.CookiesNamed(p.name) {
		texts = append(texts, cookie.Value)
	}
	return texts
}

// inPath returns the text of a parameter in the path, which is still escaped.
func (r *Request) inPath(p *parameter) []string {
	return r.path[p.pathIndex : p.pathIndex+1]
}
