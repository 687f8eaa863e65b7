package world

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

const (
	// mostValues is how many values are kept for a name, the newest ones.
	mostValues = 8
	// mostItems is how many items of an array are looked at.
	mostItems = 3
	// deepest is how far objects in objects are looked at.
	deepest = 4
	// longest is how long a text may be that identifies something.
	longest = 200
)

// Entry is a value, and where it was seen: what is below one thing is not below another.
type Entry struct {
	Value any
	Place Place
	// Beside are the members of the object that has the value, by name as one word: what else identifies it.
	Beside map[string]any

	text string // the value as it is written into a path
}

// Place is the path of a request up to a parameter: /rooms/r1 is Shape /rooms/{} with Trail r1.
type Place struct {
	Shape string   // without its parameters; empty: it has none
	Trail []string // the parameters, as they were sent
}

// pool keeps values under the names of what they identify. A list of entries is never changed, but replaced.
type pool struct {
	entries map[string][]Entry // by name, the newest one last
	added   int                // how many were not known before
}

// learn keeps the values of a response, or of a request that has created something. Nouns say what the value is.
func (p *pool) learn(nouns []string, value any, at Place) {
	p.learnWithin(nouns, Entry{Value: value, Place: at}, deepest)
}

// learnWithin keeps the values in the value of an entry: in its items, if it is an array, and in its members, if it is an object.
func (p *pool) learnWithin(nouns []string, entry Entry, levels int) {
	if levels == 0 {
		return
	}
	items := jsonvalue.List(entry.Value)
	for _, item := range items[:min(len(items), mostItems)] {
		p.learnWithin(nouns, Entry{Value: item, Place: entry.Place}, levels)
	}
	object := jsonvalue.Object(entry.Value)
	names := namesOf(object)
	beside := identities(object, names)
	for _, name := range names {
		member := Entry{Value: object[name.text], Place: entry.Place, Beside: beside}
		p.learnMember(nouns, name, member, levels)
	}
}

// namesOf are the names of the members of an object, sorted.
func namesOf(object map[string]any) (names []name) {
	for _, text := range jsonvalue.Names(object) {
		names = append(names, newName(text))
	}
	return names
}

// identities are the members of an object that may identify something.
func identities(object map[string]any, names []name) map[string]any {
	found := map[string]any{}
	for _, name := range names {
		if member := object[name.text]; isIdentity(member) {
			found[name.singular] = member
		}
	}
	return found
}

// learnMember keeps a member of an object, or what is in it. Of an array of identities it keeps the first one: the name of the
// array in the singular says what that is.
func (p *pool) learnMember(nouns []string, name name, member Entry, levels int) {
	if items := jsonvalue.List(member.Value); len(items) > 0 && isIdentity(items[0]) {
		member.Value = items[0]
	}
	if !isIdentity(member.Value) {
		p.learnWithin(nounsWithin(nouns, name), member, levels-1)
		return
	}
	for _, key := range keysOf(nouns, name) {
		p.add(key, member)
	}
}

// isIdentity reports whether a value may identify something.
func isIdentity(value any) bool {
	if text, isText := value.(string); isText {
		return text != "" && len(text) <= longest
	}
	return jsonvalue.IsInteger(value)
}

// add keeps a value, which is the newest one from now on.
func (p *pool) add(key string, entry Entry) {
	if p.entries == nil {
		p.entries = map[string][]Entry{}
	}
	entry.text = fmt.Sprint(entry.Value)
	others := without(p.entries[key], entry.text)
	if isNew := len(others) == len(p.entries[key]); isNew {
		p.added++
	}
	oldest := max(0, len(others)-mostValues+1) // the first one for which there is room beside the entry
	p.entries[key] = append(others[oldest:], entry)
}

// without is a copy of entries that leaves out a value.
func without(entries []Entry, text string) []Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(other Entry) bool { return other.text == text })
}

// drop forgets a value: it identifies nothing any more.
func (p *pool) drop(names []string, value any) {
	text := fmt.Sprint(value)
	for _, name := range names {
		if entries := p.entries[name]; len(entries) > 0 {
			p.entries[name] = without(entries, text)
		}
	}
}

// dropBelow forgets what was seen at a place or below it: the parts of a thing go with it.
func (p *pool) dropBelow(gone Place) {
	for name, entries := range p.entries {
		p.entries[name] = slices.DeleteFunc(slices.Clone(entries), func(entry Entry) bool { return entry.Place.isIn(gone) })
	}
}

// isIn reports whether a place is another one or below it.
func (p Place) isIn(other Place) bool {
	levels := min(len(p.Trail), len(other.Trail)) // a shorter trail is not the same
	return strings.HasPrefix(p.Shape, other.Shape) && slices.Equal(p.Trail[:levels], other.Trail)
}
