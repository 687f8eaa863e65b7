package httpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// difference is a reason for which kin-openapi may accept a request that the service
// refuses with the code. With code 0 the service accepts and kin-openapi refuses. It
// depends only on the request.
type difference struct {
	what, why string
	code      plantapi.ErrorCode
	in        func(v verdict) bool
}

var differences = []difference{
	{
		"a body with a name twice", "which of the two counts differs from reader to reader",
		plantapi.CodeMalformedBody, func(v verdict) bool {
			return errors.Is(firstValue(v.request.Body, jsontext.AllowInvalidUTF8(true)), jsontext.ErrDuplicateName)
		},
	},
	{
		"bytes after the body's value", "a body is one value; kin-openapi reads the first and stops",
		plantapi.CodeMalformedBody, func(v verdict) bool {
			dec := json.NewDecoder(bytes.NewReader(v.request.Body))
			var first any
			if dec.Decode(&first) != nil {
				return false
			}
			_, err := dec.Token()
			return err != io.EOF
		},
	},
	{
		"a body that is not UTF-8", "RFC 8259, section 8.1; encoding/json puts U+FFFD for what it cannot read",
		plantapi.CodeMalformedBody, func(v verdict) bool { return !utf8.Valid(v.request.Body) },
	},
	{
		"half a surrogate pair in a body", "no text holds it; encoding/json puts U+FFFD for it",
		plantapi.CodeMalformedBody, func(v verdict) bool {
			rest := notLone.ReplaceAll(v.request.Body, nil)
			return lone.Match(rest)
		},
	},
	{
		"a body nested deeper than 64", "the document's limit, at ErrorCode",
		plantapi.CodeMalformedBody, func(v verdict) bool { return depth(v.request.Body) > 64 },
	},
	{
		"an integer in a body with fraction or exponent, or beyond 64 bits", "kin-openapi compares by float64; OpenAPI 3.0 has no 1.0 for integers",
		plantapi.CodeInvalidBody, func(v verdict) bool {
			dec := json.NewDecoder(bytes.NewReader(v.request.Body))
			dec.UseNumber()
			var value any
			if v.route == nil || v.route.Operation.RequestBody == nil || dec.Decode(&value) != nil {
				return false
			}
			for _, content := range v.route.Operation.RequestBody.Value.Content {
				if hasInexactInteger(content.Schema.Value, value) {
					return true
				}
			}
			return false
		},
	},
	{
		"a body beyond the limit", "the document's 40006; kin-openapi knows no limit",
		plantapi.CodeBodyTooLarge, func(v verdict) bool { return len(v.request.Body) > maxBody },
	},
	{
		"an integer in path or query that is not a canonical decimal of its size", `the document's "Parameters"; ParseInt takes +5 and 05`,
		plantapi.CodeInvalidParameter, func(v verdict) bool {
			return v.hasParameter(func(p *openapi3.Parameter, text string) bool {
				if !p.Schema.Value.Type.Is("integer") {
					return false
				}
				size, _ := strconv.Atoi(strings.TrimPrefix(p.Schema.Value.Format, "int"))
				n, err := strconv.ParseInt(text, 10, size)
				return err != nil || strconv.FormatInt(n, 10) != text
			})
		},
	},
	{
		"a text in the query that is not UTF-8", "no plant has such a tag",
		plantapi.CodeInvalidParameter, func(v verdict) bool {
			return v.hasParameter(func(p *openapi3.Parameter, text string) bool { return p.In == "query" && !utf8.ValidString(text) })
		},
	},
	{
		"a position that was not copied from a response", `the document's "Changes": a position has a checksum`,
		plantapi.CodeInvalidParameter, func(v verdict) bool {
			return v.hasParameter(func(p *openapi3.Parameter, text string) bool {
				return p.Name == "after" && p.Schema.Value.Type.Is("string") && text != p.Schema.Value.Example
			})
		},
	},
	{
		"a query parameter that is not known", `the document's "Parameters": probably a misspelt filter, so the response would not be what the client means`,
		plantapi.CodeInvalidParameter, func(v verdict) bool {
			query, _ := url.ParseQuery(v.query)
			for name := range query {
				if v.route != nil && v.route.Operation.Parameters.GetByInAndName("query", name) == nil {
					return true
				}
			}
			return false
		},
	},
	{
		"a query parameter twice", `the document's "Parameters"; kin-openapi takes the first`,
		plantapi.CodeInvalidParameter, func(v verdict) bool {
			query, _ := url.ParseQuery(v.query)
			return slices.ContainsFunc(slices.Collect(maps.Values(query)), func(values []string) bool { return len(values) > 1 })
		},
	},
	{
		"a query that is not well formed", "net/url drops the part that it cannot read, and the parameter with it",
		plantapi.CodeInvalidParameter, func(v verdict) bool {
			_, err := url.ParseQuery(v.query)
			return err != nil
		},
	},
	{
		"a header in several lines", "they are one list (RFC 9110, section 5.3), which is what is judged; kin-openapi sees the first line",
		plantapi.CodeInvalidParameter, func(v verdict) bool {
			return slices.ContainsFunc(slices.Collect(maps.Values(v.request.Header)), func(lines []string) bool { return len(lines) > 1 })
		},
	},
	{
		"a Content-Type twice, malformed, or of another charset than UTF-8", "kin-openapi reads only the first one up to its first semicolon",
		plantapi.CodeUnsupportedMediaType, func(v verdict) bool {
			_, params, err := mime.ParseMediaType(v.request.Header.Get("Content-Type"))
			charset, ok := params["charset"]
			return err != nil || len(v.request.Header["Content-Type"]) != 1 || ok && !strings.EqualFold(charset, "utf-8")
		},
	},
	{
		"a Content-Encoding", "nothing here unpacks; kin-openapi would parse the packed bytes",
		plantapi.CodeUnsupportedMediaType, func(v verdict) bool { return v.request.Header.Get("Content-Encoding") != "" },
	},
	{
		"an escaped letter in a path, outside its parameter", "chi matches the path as it was sent, so that %2F is no slash; kin-openapi unescapes first",
		plantapi.CodeNoSuchPath, func(v verdict) bool { return v.route != nil && !sameLiterals(v.route.Path, v.request.Path) },
	},
	{
		"HEAD or OPTIONS", `the document's "Beside the operations", which kin-openapi cannot read`,
		0, func(v verdict) bool {
			return v.request.Method == http.MethodHead || v.request.Method == http.MethodOptions
		},
	},
}

// differences returns the differences that explain the verdict.
func (v verdict) differences() (all []string) {
	for _, d := range differences {
		if d.code == v.ours && d.in(v) {
			all = append(all, d.what)
		}
	}
	return all
}

// hasParameter reports whether a parameter of the path or the query is as is
// says.
func (v verdict) hasParameter(is func(p *openapi3.Parameter, text string) bool) bool {
	if v.route == nil {
		return false
	}
	query, _ := url.ParseQuery(v.query)
	for _, ref := range v.route.Operation.Parameters {
		p := ref.Value
		var texts []string
		switch p.In {
		case "query":
			texts = query[p.Name]
		case "path":
			texts = v.pathParameter(p.Name)
		}
		if slices.ContainsFunc(texts, func(text string) bool { return is(p, text) }) {
			return true
		}
	}
	return false
}

// pathParameter returns a parameter as it was sent. kin-openapi removes slashes from
// its end.
func (v verdict) pathParameter(name string) []string {
	at := slices.Index(strings.Split(v.route.Path, "/"), "{"+name+"}")
	segments := strings.Split(v.request.Path, "/")
	if at < 0 || at >= len(segments) {
		return nil
	}
	text, err := url.PathUnescape(segments[at])
	if err != nil {
		return nil
	}
	return []string{text}
}

// sameLiterals reports whether a path has exactly the segments of a template, except
// for parameters.
func sameLiterals(template, path string) bool {
	return slices.EqualFunc(strings.Split(template, "/"), strings.Split(path, "/"), func(literal, segment string) bool {
		return strings.HasPrefix(literal, "{") || literal == segment
	})
}

// firstValue reads the first JSON value of a text and returns what is wrong
// with it.
func firstValue(text []byte, opts ...jsontext.Options) error {
	_, err := jsontext.NewDecoder(bytes.NewReader(text), opts...).ReadValue()
	return err
}

var (
	notLone = regexp.MustCompile(`\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)
	lone    = regexp.MustCompile(`\\u[dD][89a-fA-F]`)
)

// depth returns how deep the first JSON value of a text is nested.
func depth(text []byte) (deepest int) {
	dec := json.NewDecoder(bytes.NewReader(text))
	for depth := 0; ; {
		token, err := dec.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			if depth--; depth == 0 {
				return deepest
			}
		}
	}
}

// hasInexactInteger reports whether a value has, where its schema has an
// integer, a number that is not written as one of 64 bits.
func hasInexactInteger(schema *openapi3.Schema, value any) bool {
	switch value := value.(type) {
	case json.Number:
		_, err := value.Int64()
		return schema.Type.Is("integer") && err != nil
	case []any:
		return schema.Items != nil && slices.ContainsFunc(value, func(item any) bool { return hasInexactInteger(schema.Items.Value, item) })
	case map[string]any:
		for name, property := range schema.Properties {
			if member, there := value[name]; there && hasInexactInteger(property.Value, member) {
				return true
			}
		}
	}
	return false
}
