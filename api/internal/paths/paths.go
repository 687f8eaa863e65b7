// Package paths finds the path template of an OpenAPI document that a request is for.
//
// A template such as /things/{id}.json is split into segments at its slashes. A segment is either fixed text, or a
// pattern of texts and parameters. A path is matched segment by segment: fixed text comes before patterns, and a pattern
// with more fixed text before one with less. The last slash counts, and an escaped slash is part of its segment.
package paths

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// Tree has templates, each with something of the type Item. It is safe for concurrent use once it is complete.
type Tree[Item any] struct{ root branch[Item] }

// branch is what may come after some segments.
type branch[Item any] struct {
	item     *Item // nil: no template ends here
	fixed    map[string]*branch[Item]
	patterns []next[Item] // those with more fixed text first
}

// next is a pattern of a segment with what may come after it.
type next[Item any] struct {
	segment segment
	branch  *branch[Item]
}

// Add adds a template. Templates that differ only in the names of parameters have the same item.
func (t *Tree[Item]) Add(template string) *Item {
	at := &t.root
	for _, part := range segmentsOf(template) {
		at = at.add(part)
	}
	if at.item == nil {
		at.item = new(Item)
	}
	return at.item
}

func (b *branch[Item]) add(part segment) *branch[Item] {
	if part.isFixed() {
		if b.fixed == nil {
			b.fixed = map[string]*branch[Item]{}
		}
		if b.fixed[part.text()] == nil {
			b.fixed[part.text()] = &branch[Item]{}
		}
		return b.fixed[part.text()]
	}
	for _, known := range b.patterns {
		if slices.Equal(known.segment, part) {
			return known.branch
		}
	}
	added := next[Item]{part, &branch[Item]{}}
	b.patterns = append(b.patterns, added)
	slices.SortStableFunc(b.patterns, func(a, b next[Item]) int {
		return cmp.Compare(len(b.segment.text()), len(a.segment.text()))
	})
	return added.branch
}

// Find returns the item of the template that an escaped path matches, or nil. It appends the texts of the parameters, which
// are still escaped, to the values.
func (t *Tree[Item]) Find(path string, values []string) (found *Item, texts []string) {
	rest, isAbsolute := strings.CutPrefix(path, "/")
	if !isAbsolute {
		return nil, values
	}
	return t.root.find(rest, values)
}

// find returns what the rest of a path, after a slash, leads to. Each branch of the tree is tried at most once.
func (b *branch[Item]) find(rest string, values []string) (found *Item, texts []string) {
	text, rest, hasMore := strings.Cut(rest, "/")
	if fixed := b.fixed[unescape(text)]; fixed != nil {
		if found, texts = fixed.follow(rest, hasMore, values); found != nil {
			return found, texts
		}
	}
	for i := range b.patterns {
		matched, isMatch := b.patterns[i].segment.match(text, values)
		if !isMatch {
			continue
		}
		if found, texts = b.patterns[i].branch.follow(rest, hasMore, matched); found != nil {
			return found, texts
		}
	}
	return nil, values
}

func (b *branch[Item]) follow(rest string, hasMore bool, values []string) (found *Item, texts []string) {
	if !hasMore {
		return b.item, values
	}
	return b.find(rest, values)
}

// unescape returns a text without escapes, or as it is if it has one that is not valid.
func unescape(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// segment is a part of a template between slashes: the fixed texts around its parameters. A segment without parameters has
// one text.
type segment []string

// segmentsOf returns the segments of a template.
func segmentsOf(template string) (segments []segment) {
	for part := range strings.SplitSeq(strings.TrimPrefix(template, "/"), "/") {
		var texts segment
		for {
			text, rest, isOpen := strings.Cut(part, "{")
			texts = append(texts, text)
			_, after, isClosed := strings.Cut(rest, "}")
			if !isOpen || !isClosed {
				break
			}
			part = after
		}
		segments = append(segments, texts)
	}
	return segments
}

// Names returns the names of the parameters of a template, in its order.
func Names(template string) (names []string) {
	for {
		_, rest, isOpen := strings.Cut(template, "{")
		name, after, isClosed := strings.Cut(rest, "}")
		if !isOpen || !isClosed {
			return names
		}
		names = append(names, name)
		template = after
	}
}

func (s segment) isFixed() bool { return len(s) == 1 }

// text returns all fixed text.
func (s segment) text() string { return strings.Join(s, "") }

// match appends the texts of the parameters, of which none is empty. A parameter ends where the text after it is found
// first, as chi has it.
func (s segment) match(text string, values []string) (matched []string, isMatch bool) {
	last := len(s) - 1
	text, hasBegin := strings.CutPrefix(text, s[0])
	for _, between := range s[1:last] {
		if text == "" {
			return values, false
		}
		end := 1 + strings.Index(text[1:], between)
		if end == 0 {
			return values, false
		}
		values = append(values, text[:end])
		text = text[end+len(between):]
	}
	text, hasEnd := strings.CutSuffix(text, s[last])
	if !hasBegin || !hasEnd || text == "" {
		return values, false
	}
	return append(values, text), true
}

// SameShape reports whether two templates differ at most in the names of their parameters, and in the last slash, which
// chi cuts from its patterns. The {$} and {name...} of a pattern of [net/http.ServeMux] are fixed text and a parameter.
func SameShape(template, pattern string) bool {
	pattern = strings.TrimSuffix(pattern, "{$}")
	return slices.EqualFunc(segmentsOf(trimSlash(template)), segmentsOf(trimSlash(pattern)), slices.Equal[segment])
}

func trimSlash(template string) string { return strings.TrimSuffix(template, "/") }

// Ambiguous reports whether two templates meet one path, and neither is the more exact one because of fixed segments.
// Routers differ in which of them they choose.
func Ambiguous(one, other string) bool {
	first, second := segmentsOf(one), segmentsOf(other)
	if len(first) != len(second) {
		return false
	}
	var firstIsExact, secondIsExact, isUnclear bool
	for i := range first {
		switch {
		case !meet(first[i], second[i]):
			return false
		case first[i].isFixed() != second[i].isFixed():
			firstIsExact = firstIsExact || first[i].isFixed()
			secondIsExact = secondIsExact || second[i].isFixed()
		case !slices.Equal(first[i], second[i]):
			isUnclear = true
		}
	}
	return isUnclear || firstIsExact == secondIsExact
}

// meet reports whether two segments may match one text.
func meet(first, second segment) bool {
	if first.isFixed() {
		first, second = second, first
	}
	if first.isFixed() {
		return first[0] == second[0]
	}
	if second.isFixed() {
		_, isMatch := first.match(second[0], nil)
		return isMatch
	}
	begin, otherBegin := first[0], second[0]
	end, otherEnd := first[len(first)-1], second[len(second)-1]
	hasBegin := strings.HasPrefix(begin, otherBegin) || strings.HasPrefix(otherBegin, begin)
	hasEnd := strings.HasSuffix(end, otherEnd) || strings.HasSuffix(otherEnd, end)
	return hasBegin && hasEnd
}
