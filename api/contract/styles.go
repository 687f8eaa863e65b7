package contract

import (
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// style says how a parameter is written.
type style struct {
	name       string
	isExploded bool
}

// isRepeated reports whether each item or member has a name of its own in the query, as in n=1&n=2 and in point[x]=1.
func (p *parameter) isRepeated() bool { return p.in == openapi3.ParameterInQuery && p.style.isExploded }

// isEscaped reports whether the texts that are found are still escaped: those of a path, and those that are split first.
func (p *parameter) isEscaped() bool {
	isSplit := p.kind == list || p.kind == record
	return p.in == openapi3.ParameterInPath || p.in == openapi3.ParameterInQuery && isSplit && !p.style.isExploded
}

func (p *parameter) unescape(text string) string {
	switch {
	case !p.isEscaped():
		return text
	case p.in == openapi3.ParameterInPath:
		return unescapePath(text)
	}
	plain, _ := url.QueryUnescape(text) // the query was parsed
	return plain
}

// prefix is what a text of a path begins with.
func (p *parameter) prefix() string {
	switch p.style.name {
	case openapi3.SerializationLabel:
		return "."
	case openapi3.SerializationMatrix:
		if p.kind != oneText && p.style.isExploded {
			return ";"
		}
		return ";" + p.name + "="
	}
	return ""
}

// plainText returns the text of a single value. After a prefix, generated code takes one with a separator for a list.
func (p *parameter) plainText(text string) (plain string, isStyled bool) {
	text, isStyled = strings.CutPrefix(text, p.prefix())
	plain = p.unescape(text)
	isList := p.prefix() != "" && strings.Contains(plain, p.separator())
	return plain, isStyled && !isList
}

// separator is between the items of a list, or between the parts of an object.
func (p *parameter) separator() string {
	isInCookie := p.in == openapi3.ParameterInCookie
	switch {
	case p.style.name == openapi3.SerializationLabel && p.style.isExploded:
		return "."
	case p.style.name == openapi3.SerializationMatrix && p.style.isExploded:
		return ";"
	case isInCookie && p.style.isExploded: // as in generated code
		return "&"
	case p.style.name == openapi3.SerializationSpaceDelimited:
		return " "
	case p.style.name == openapi3.SerializationPipeDelimited:
		return "|"
	}
	return ","
}

// Separators that a client may have to escape.
var (
	blanks = strings.NewReplacer("%20", " ", "+", " ")
	pipes  = strings.NewReplacer("%7C", "|", "%7c", "|")
)

// split returns the parts of a text, which are split first and unescaped then.
func (p *parameter) split(text string) (parts []string, isStyled bool) {
	text, isStyled = strings.CutPrefix(text, p.prefix())
	separator := p.separator()
	switch separator {
	case " ":
		text = blanks.Replace(text)
	case "|":
		text = pipes.Replace(text)
	}
	return strings.Split(text, separator), isStyled
}

// items returns the texts of the items of a list.
func (p *parameter) items(texts []string) (items []string, isStyled bool) {
	if p.isRepeated() {
		return texts, true
	}
	parts, isStyled := p.split(texts[0])
	hasNames := p.style.isExploded && (p.separator() == ";" || p.separator() == "&")
	items = make([]string, len(parts))
	for i, part := range parts {
		if hasNames {
			part = strings.TrimPrefix(part, p.name+"=")
		}
		items[i] = p.unescape(part)
	}
	return items, isStyled
}

// pair is a member of an object, or one in it.
type pair struct {
	path []string
	text string
}

// members returns the members of an object: role=admin,first=Alex or role,admin,first,Alex.
func (p *parameter) members(texts []string) (pairs []pair, isStyled bool) {
	if p.isRepeated() {
		for name, text := range inTwos(texts) {
			pairs = append(pairs, pair{p.pathOf(name), text})
		}
		return pairs, true
	}
	parts, isStyled := p.split(texts[0])
	if !p.style.isExploded {
		for name, text := range inTwos(parts) {
			pairs = append(pairs, pair{[]string{p.unescape(name)}, p.unescape(text)})
		}
		return pairs, isStyled && len(parts)%2 == 0
	}
	for _, part := range parts {
		name, text, isPair := strings.Cut(part, "=")
		pairs = append(pairs, pair{[]string{p.unescape(name)}, p.unescape(text)})
		isStyled = isStyled && isPair
	}
	return pairs, isStyled
}

// inTwos returns texts in pairs.
func inTwos(texts []string) func(yield func(one, other string) bool) {
	return func(yield func(one, other string) bool) {
		for two := range slices.Chunk(texts, 2) {
			if len(two) < 2 || !yield(two[0], two[1]) {
				return
			}
		}
	}
}

// pairsInQuery returns the names and texts in the query that are members of an object, in turn.
func (p *parameter) pairsInQuery(query url.Values) (texts []string) {
	for name, values := range query {
		if !p.knows(name) {
			continue
		}
		for _, value := range values {
			texts = append(texts, name, value)
		}
	}
	return texts
}

// knows reports whether a name in the query is that of a member of an object.
func (p *parameter) knows(name string) bool {
	switch {
	case p.kind != record || !p.style.isExploded:
		return false
	case p.isDeep():
		return strings.HasPrefix(name, p.name+"[") && strings.HasSuffix(name, "]")
	}
	others := p.schema.others
	isOpen := others != nil && (others.always == nil || *others.always)
	return isOpen || p.schema.members[name] != nil
}

func (p *parameter) isDeep() bool { return p.style.name == openapi3.SerializationDeepObject }

// pathOf returns the path of a member by its name in the query: a[b][c] is c in b of a deep object.
func (p *parameter) pathOf(name string) []string {
	if !p.isDeep() {
		return []string{name}
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(name, p.name+"["), "]")
	return strings.Split(inner, "][")
}

// addTo adds the value of a member to an object, or to the one in it that the path leads to. It returns what is wrong.
func (p pair) addTo(members map[string]any, schema *node) (wrong string) {
	name := p.path[0]
	wanted := schema.member(name)
	before, isGiven := members[name]
	if len(p.path) > 1 {
		inner, isObject := before.(map[string]any)
		if isGiven && !isObject {
			return "is given more than once"
		}
		if !isGiven {
			inner = map[string]any{}
			members[name] = inner
		}
		return pair{p.path[1:], p.text}.addTo(inner, wanted)
	}
	if scalars(wanted).has(typeArray) {
		item, wrong := readAs(wanted.item(0), p.text)
		items, _ := before.([]any)
		members[name] = append(items, item)
		return wrong
	}
	if isGiven {
		return "is given more than once"
	}
	members[name], wrong = readAs(wanted, p.text)
	return wrong
}

// member returns the schema of a member, or nil.
func (n *node) member(name string) *node {
	if n == nil {
		return nil
	}
	for _, part := range n.together {
		if found := part.members[name]; found != nil {
			return found
		}
	}
	return n.others
}
