package document

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// Written is strict about what it can write: if a service could read something else than the value, the
// value is not sent at all. A test that fails because the engine has escaped something in its own way would
// accuse a right service.

// ParameterSchema returns the schema of a parameter, and whether its value is
// JSON ("content") and not text in a style ("schema").
func ParameterSchema(parameter *Parameter) (described *schema.Schema, isJSON bool) {
	if _, described := JSONOf(parameter.Content); described != nil {
		return described, true
	}
	return schema.Of(parameter.Schema), false
}

// Written writes a value as the style of a parameter says, a query with its name. It reports false if
// the style cannot write it so that a service reads the same value.
func Written(parameter *Parameter, value any) (text string, ok bool) {
	if _, isJSON := ParameterSchema(parameter); isJSON {
		return parameter.Name + "=" + url.QueryEscape(string(jsonvalue.Encode(value))), parameter.In == "query"
	}
	w := writer{parameter: parameter, style: cmp.Or(parameter.Style, styleIn[parameter.In])}
	w.explode = w.style == formStyle
	if parameter.Explode != nil {
		w.explode = *parameter.Explode
	}
	if !w.split(value) {
		return "", false
	}
	return w.join()
}

// The styles that this file compares with.
const (
	formStyle  = "form"
	deepObject = "deepObject"
)

// styleIn is the style of a parameter in a place where nothing is said of it.
var styleIn = map[string]string{"path": "simple", "header": "simple", "query": formStyle, "cookie": formStyle}

// writer writes a parameter: it splits a value into texts, and joins them as the style says.
type writer struct {
	parameter *Parameter
	style     string
	explode   bool

	names []string // of an object
	// Escaped; the values of an object in the order of names.
	parts []string
}

// split makes texts of a value, and reports false if one of them would be read as something else.
func (w *writer) split(value any) bool {
	items, separators := w.items(value)
	_, isScalar := scalarText(value)
	for _, item := range items {
		text, _ := scalarText(item)       // what is no scalar has no text
		hasText := isScalar || text != "" // a,,b may have two items
		canBeRead := hasText && !strings.ContainsAny(text, separators)
		if !canBeRead || !allowedIn(w.parameter.In, text) {
			return false
		}
		w.parts = append(w.parts, w.escape(text))
	}
	// No style tells an empty array or object from none.
	return len(w.parts) > 0
}

// items are the parts of a value, and the separators that no part may have: styles do not escape them, so a part with one would
// be read as two. Exploded items with a name before each may have them: ids=1&ids=2.
func (w *writer) items(value any) (items []any, separators string) {
	switch value := value.(type) {
	case []any:
		if w.explode && forms[w.style].hasName {
			return value, ""
		}
		return value, ",|; ."
	case map[string]any:
		w.names = jsonvalue.Names(value)
		for _, name := range w.names {
			items = append(items, value[name])
		}
		return items, ",|; .=&"
	}
	return []any{value}, ""
}

// scalarText is the text of a value that is neither null, nor an array or object.
func scalarText(value any) (text string, ok bool) {
	switch value.(type) {
	case nil, []any, map[string]any:
		return "", false
	}
	return fmt.Sprint(value), true
}

// escape writes a text so that it means itself at its place. Headers and cookies have no escapes: allowedIn
// has refused what they cannot hold.
func (w *writer) escape(text string) string {
	switch w.parameter.In {
	case "path":
		return url.PathEscape(text)
	case "query":
		return url.QueryEscape(text)
	}
	return text
}

// form says how a style puts the parts of a value together (OpenAPI 3.0.3, "Style Values").
type form struct {
	begin      string
	hasName    bool   // of the parameter: before the value, or before each part that is exploded
	separator  string // of parts that are not exploded
	exploded   string // the separator of parts that are
	hasObjects bool
}

// forms are those of the styles, but for deepObject, which is like no other.
var forms = map[string]form{
	"simple":         {separator: ",", exploded: ",", hasObjects: true},
	"label":          {begin: ".", separator: ",", exploded: ".", hasObjects: true},
	"matrix":         {begin: ";", hasName: true, separator: ",", exploded: ";", hasObjects: true},
	formStyle:        {hasName: true, separator: ",", exploded: "&", hasObjects: true},
	"spaceDelimited": {hasName: true, separator: "%20", exploded: "&"},
	"pipeDelimited":  {hasName: true, separator: "%7C", exploded: "&"},
}

// join puts the parts of a value together, or reports false if the style has no way to write them.
func (w *writer) join() (text string, ok bool) {
	isObject := w.names != nil
	if w.style == deepObject {
		return w.deepObject(), isObject
	}
	form, isKnown := forms[w.style]
	canWrite := isKnown && (form.hasObjects || !isObject)
	return w.joined(form), canWrite && w.fitsCookie()
}

// fitsCookie reports whether a parameter is no cookie, or one pair, which is all that a cookie can be.
func (w *writer) fitsCookie() bool {
	isOne := w.names == nil && len(w.parts) == 1
	isOnePair := isOne || !w.explode
	return isOnePair || w.parameter.In != "cookie"
}

// joined joins the parts. Exploded, each has the name of the parameter before it, or that of its member:
//
//	of an array:       ids=1,2                  exploded: ids=1&ids=2
//	of an object:      filter=kind,a,size,2     exploded: kind=a&size=2
func (w *writer) joined(form form) string {
	name := ""
	if form.hasName {
		name = url.QueryEscape(w.parameter.Name) + "="
	}
	switch {
	case !w.explode:
		return form.begin + name + strings.Join(w.members(","), form.separator)
	case w.names == nil:
		return form.begin + name + strings.Join(w.parts, form.exploded+name)
	}
	return form.begin + strings.Join(w.members("="), form.exploded)
}

// members are the parts of an object with their names, or those of an array, which have none.
func (w *writer) members(separator string) []string {
	members := slices.Clone(w.parts)
	for i, name := range w.names {
		members[i] = name + separator + members[i]
	}
	return members
}

// deepObject writes each member as a pair: filter[kind]=tree. How it writes an object in an object, OpenAPI leaves
// open, so split has refused that.
func (w *writer) deepObject() string {
	var pairs []string
	for i, member := range w.names {
		pairs = append(pairs, url.QueryEscape(w.parameter.Name+"["+member+"]")+"="+w.parts[i])
	}
	return strings.Join(pairs, "&")
}

// forbidden match the texts that a part of a request cannot hold. A query can hold any: it is escaped.
var forbidden = map[string]*regexp.Regexp{
	// Servers and proxies clean such paths: /things/.. becomes /.
	"path": regexp.MustCompile(`^\.{0,2}$|[/\\\x00]`),
	// Package http refuses control characters, and services read bytes beyond ASCII in different ways. White space
	// around a value is no part of it.
	"header": regexp.MustCompile(`^\s|\s$|[^\t -~]`),
	// RFC 6265, section 4.1.1.
	"cookie": regexp.MustCompile(`^$|[^!-~]|[",;\\]`),
}

// allowedIn reports whether a part of a request can hold a text.
func allowedIn(in, text string) bool {
	never := forbidden[in]
	return never == nil || !never.MatchString(text)
}
