package jsonvalue

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Object returns a value that is an object, or nil. A nil map may be read.
func Object(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}

// List returns a value that is an array, or nil.
func List(value any) []any {
	list, _ := value.([]any)
	return list
}

// Names returns the names of the members of an object, sorted.
func Names[V any](object map[string]V) []string { return slices.Sorted(maps.Keys(object)) }

// Map returns a copy of an array or object in which change has replaced each value. It gets the name
// of a member, which is empty for an item. Any other value is returned as it is.
func Map(value any, change func(name string, inner any) any) any {
	switch value := value.(type) {
	case []any:
		all := make([]any, len(value))
		for i, item := range value {
			all[i] = change("", item)
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(value))
		for name, member := range value {
			all[name] = change(name, member)
		}
		return all
	}
	return value
}

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}")
)

// Escape writes a name as a token of a JSON Pointer (RFC 6901).
func Escape(name string) string { return escaper.Replace(name) }

// Pointer is a JSON Pointer to what is below names and indexes.
func Pointer(names ...string) string {
	pointer := ""
	for _, name := range names {
		pointer += "/" + Escape(name)
	}
	return pointer
}

// Split returns a JSON Pointer without its last token, and that token with its slash: /a/b and /c of /a/b/c.
func Split(pointer string) (above, last string) {
	i := max(0, strings.LastIndexByte(pointer, '/'))
	return pointer[:i], pointer[i:]
}

// Unescape reads a token of a JSON Pointer in a URL. Braces of paths are often percent-encoded there.
func Unescape(token string) string { return unescaper.Replace(token) }

// Lookup returns what a reference within a document refers to, as #/components/schemas/Plant does, or
// nil if there is nothing, or if it leads out of the document.
func Lookup(root any, reference string) any {
	pointer, local := strings.CutPrefix(reference, "#")
	if !local {
		return nil
	}
	if pointer == "" {
		return root
	}
	node := root
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		node = child(node, token)
	}
	return node
}

// First is the JSON Pointer to the first of the values that a place names, in which * is any item of an array: /rows/0/id for
// /rows/*/id.
func First(place string) string {
	tokens := strings.Split(place, "/")
	for i, token := range tokens {
		if token == "*" {
			tokens[i] = "0"
		}
	}
	return strings.Join(tokens, "/")
}

// With returns a value that has another one at a JSON Pointer. Objects on the way are copied, and made where there is none.
//
//	{"a": 1}, /b/c, 2   {"a": 1, "b": {"c": 2}}
func With(value any, pointer string, inner any) any {
	if pointer == "" {
		return inner
	}
	token, _, _ := strings.Cut(pointer[1:], "/")
	below := pointer[1+len(token):] // empty, or the rest with its slash
	object := maps.Clone(Object(value))
	if object == nil {
		object = map[string]any{}
	}
	name := Unescape(token)
	object[name] = With(object[name], below, inner)
	return object
}

// child returns the member or item of a node that a token of a pointer names, or nil.
func child(node any, token string) any {
	if list, isList := node.([]any); isList {
		index, err := strconv.Atoi(token)
		if err != nil || uint(index) >= uint(len(list)) { // a negative index is a large uint
			return nil
		}
		return list[index]
	}
	return Object(node)[Unescape(token)]
}

// mostReferences is how many references may follow one another. More of them lead in a circle.
const mostReferences = 100

// Resolve follows the references of a node until there is none. It returns nil if they lead to nothing,
// or in a circle.
func Resolve(root, node any) any {
	for range mostReferences {
		reference, refers := Object(node)["$ref"].(string)
		if !refers {
			return node
		}
		node = Lookup(root, reference)
	}
	return nil
}
