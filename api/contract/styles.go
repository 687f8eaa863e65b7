package contract

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// layout says how the texts of a parameter are written.
type layout struct {
	style      string
	isExploded bool
	isRepeated bool   // each item or member has a name of its own in the query, as in n=1&n=2 and in point[x]=1
	isEscaped  bool   // the texts that are found are still escaped: those of a path, and those that are split first
	isNamed    bool   // each item is after the name of the parameter, as in ;n=1;n=2
	prefix     string // what a text begins with
	separator  string // between the items of a list, or between the parts of an object
}

// separators are those that are not a comma: of lists and objects that are not exploded, and of exploded ones.
var separators = map[string][2]string{
	openapi3.SerializationLabel:          {",", "."},
	openapi3.SerializationMatrix:         {",", ";"},
	openapi3.SerializationSpaceDelimited: {" ", " "},
	openapi3.SerializationPipeDelimited:  {"|", "|"},
}

// layoutOf returns the layout of a parameter in a style.
func (p *parameter) layoutOf(style string, isExploded bool) layout {
	isSplit := p.kind == list || p.kind == record
	isInQuery := p.in == openapi3.ParameterInQuery
	made := layout{style: style, isExploded: isExploded, isRepeated: isInQuery && isExploded}
	made.isEscaped = p.in == openapi3.ParameterInPath || isInQuery && isSplit && !isExploded
	made.separator = cmp.Or(separators[style][0], ",")
	if isExploded {
		made.separator = cmp.Or(separators[style][1], ",")
	}
	switch {
	case isExploded && p.in == openapi3.ParameterInCookie: // as in generated code
		made.separator, made.isNamed = "&", true
	case style == openapi3.SerializationLabel:
		made.prefix = "."
	case style == openapi3.SerializationMatrix && isExploded && p.kind != oneText:
		made.prefix, made.isNamed = ";", true
	case style == openapi3.SerializationMatrix:
		made.prefix = ";" + p.name + "="
	}
	return made
}

func (p *parameter) unescape(text string) string {
	switch {
	case !p.isEscaped:
		return text
	case p.in == openapi3.ParameterInPath:
		return unescapePath(text)
	}
	plain, _ := url.QueryUnescape(text) // the query was parsed
	return plain
}

// plainText returns the text of a single value. After a prefix, generated code takes one with a separator for a list.
func (p *parameter) plainText(text string) (plain string, isStyled bool) {
	text, isStyled = strings.CutPrefix(text, p.prefix)
	plain = p.unescape(text)
	isList := p.prefix != "" && strings.Contains(plain, p.separator)
	return plain, isStyled && !isList
}

// Separators that a client may have to escape.
var (
	blanks = strings.NewReplacer("%20", " ", "+", " ")
	pipes  = strings.NewReplacer("%7C", "|", "%7c", "|")
)

// wrongStyle says how the parameter is written.
func (p *parameter) wrongStyle() string {
	example := p.prefix + "1"
	named := ""
	if p.isNamed {
		named = p.name + "="
	}
	switch {
	case p.isDeep():
		example = p.name + "[a]=1"
	case p.kind == list:
		example = p.prefix + named + "1" + p.separator + named + "2"
	case p.kind == record && p.isExploded:
		example = p.prefix + "a=1" + p.separator + "b=2"
	case p.kind == record:
		example = p.prefix + "a,1,b,2"
	}
	return "must be written in the style " + p.style + ", as " + example
}

// split returns the parts of a text, which are split first and unescaped then.
func (p *parameter) split(text string) (parts []string, isStyled bool) {
	text, isStyled = strings.CutPrefix(text, p.prefix)
	switch p.separator {
	case " ":
		text = blanks.Replace(text)
	case "|":
		text = pipes.Replace(text)
	}
	return strings.Split(text, p.separator), isStyled
}

// items returns the texts of the items of a list.
func (p *parameter) items(texts []string) (items []string, isStyled bool) {
	if p.isRepeated {
		return texts, true
	}
	parts, isStyled := p.split(texts[0])
	items = make([]string, len(parts))
	for i, part := range parts {
		if p.isNamed {
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
	if p.isRepeated {
		return p.repeatedMembers(texts)
	}
	parts, isStyled := p.split(texts[0])
	if p.isExploded {
		var names []string
		for _, part := range parts {
			name, text, isPair := strings.Cut(part, "=")
			names = append(names, name, text)
			isStyled = isStyled && isPair
		}
		parts = names
	}
	for name, text := range inTwos(parts) {
		pairs = append(pairs, pair{[]string{p.unescape(name)}, p.unescape(text)})
		isStyled = isStyled && p.isBindable(name) && p.isBindable(text)
	}
	return pairs, isStyled && len(parts)%2 == 0
}

// isBindable reports whether generated code can read a part of an object. It writes the parts as JSON without escapes, and splits
// name=text at each such sign.
func (p *parameter) isBindable(escaped string) bool {
	isWrong := func(letter rune) bool {
		return letter < ' ' || letter == '"' || letter == '\\' || letter == '=' && p.isExploded
	}
	return !strings.ContainsFunc(p.unescape(escaped), isWrong)
}

// repeatedMembers returns the members of an object in a query that have a name each.
func (p *parameter) repeatedMembers(texts []string) (pairs []pair, isStyled bool) {
	isStyled = true
	for name, text := range inTwos(texts) {
		path := []string{name}
		if p.isDeep() {
			path = p.pathOf(name)
		}
		isStyled = isStyled && path != nil
		pairs = append(pairs, pair{path, text})
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

// knows reports whether a name in the query is that of the parameter, or of a member of it.
func (p *parameter) knows(name string) bool {
	switch {
	case p.kind != record || !p.isRepeated:
		return name == p.name
	case p.isDeep():
		return name == p.name || strings.HasPrefix(name, p.name+"[")
	}
	others := p.schema.others
	isOpen := others != nil && (others.always == nil || *others.always)
	return isOpen || p.schema.members[name] != nil
}

func (p *parameter) isDeep() bool { return p.style == openapi3.SerializationDeepObject }

// pathOf returns the path of a member by its name in the query: a[b][c] is c in b of a deep object. It returns nil for another
// name.
func (p *parameter) pathOf(name string) []string {
	inner, isClosed := strings.CutSuffix(strings.TrimPrefix(name, p.name), "]")
	inner, isOpen := strings.CutPrefix(inner, "[")
	path := strings.Split(inner, "][")
	hasBracket := func(step string) bool { return strings.ContainsAny(step, "[]") }
	if !isClosed || !isOpen || slices.ContainsFunc(path, hasBracket) {
		return nil
	}
	return path
}

// addTo adds the value of a member to an object, or to the one in it that the path leads to. It returns what is wrong.
func (p pair) addTo(members map[string]any, schema *node, isDeep bool) (wrong string) {
	name := p.path[0]
	wanted := schema.member(name)
	before, isGiven := members[name]
	if wrong = schema.refuseName(name, isDeep); wrong != "" {
		return wrong
	}
	if len(p.path) > 1 {
		inner, isObject := before.(map[string]any)
		if isGiven && !isObject {
			return "is given more than once"
		}
		if !isGiven {
			inner = map[string]any{}
			members[name] = inner
		}
		return pair{p.path[1:], p.text}.addTo(inner, wanted, isDeep)
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

// refuseName says what is wrong with the name of a member of an object that is written as a parameter. Generated code reads some as
// JSON, without regard to upper and lower case, and cannot bind unknown members of a deep object.
func (n *node) refuseName(name string, isDeep bool) string {
	if n == nil {
		return ""
	}
	known := membersOf(n)
	if known[name] != nil {
		return ""
	}
	for other := range known {
		if strings.EqualFold(other, name) {
			return "differs from the member " + other + " in upper and lower case only"
		}
	}
	isOpen := n.others != nil || len(n.patternMembers) > 0 || len(known) == 0
	if isDeep && !isOpen {
		return unknownName
	}
	return ""
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
