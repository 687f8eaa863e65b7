package schema

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// Library collects the schemas of a document. Each schema that the document has in a place of its own, as a component or
// as the schema of a parameter, becomes a definition of one JSON Schema; so does each one that a $ref leads to. A reference
// to a definition stands where it was.
type Library struct {
	root   map[string]any // the document
	source map[string]any // the document as it was
	modern bool           // OpenAPI 3.1 or later
	report func(format string, args ...any)

	definitions map[string]any   // by number
	places      []string         // in the document, of each definition
	numbers     map[string]int   // of the definition of each place
	formats     map[string]bool  // that a schema has
	lifted      map[uintptr]bool // the objects of the document that are schemas of JSON Schema already
	nodes       map[*Schema]any  // what a schema was compiled from
}

// NewLibrary returns a library of a document, which it changes. It reports what it does not understand.
func NewLibrary(root map[string]any, modern bool, report func(format string, args ...any)) *Library {
	source, _ := jsonvalue.Normal(root).(map[string]any)
	return &Library{
		root: root, source: source, modern: modern, report: report,
		definitions: map[string]any{}, numbers: map[string]int{}, formats: map[string]bool{}, lifted: map[uintptr]bool{}, nodes: map[*Schema]any{},
	}
}

// Unread is the comment of a schema that stands for one that is not in the document.
const Unread = "not in the document"

// IsUnread reports whether a schema stands for one that is not in the document.
func IsUnread(described *Schema) bool { return described.Comment == Unread }

// Add makes a definition of the schema in a place, and returns a reference to it. The definition has its number before it is
// lifted, because it may lead to itself.
func (l *Library) Add(at string, node any) map[string]any {
	number, isKnown := l.numbers[at]
	if !isKnown {
		number = len(l.places)
		l.numbers[at] = number
		l.places = append(l.places, at)
		l.definitions[strconv.Itoa(number)] = l.lift(at, node)
	}
	return map[string]any{"$ref": definitions + strconv.Itoa(number)}
}

// definitions is the beginning of a reference to a definition.
const definitions = "#/$defs/"

// LeadsTo reports whether the references of a node lead to something in the document.
func (l *Library) LeadsTo(node any) bool {
	return jsonvalue.Object(jsonvalue.Resolve(l.source, node)) != nil
}

// Node is what a schema was read from, as JSON Schema.
func (l *Library) Node(of *Schema) map[string]any { return jsonvalue.Object(l.nodes[of]) }

// ofInteger leaves out of the text of a schema the format that each integer has, or what is hidden before its own one. After
// a format there always is a type.
var ofInteger = strings.NewReplacer(`"format":"`+hidden+`",`, "", `"format":"`+hidden, `"format":"`)

// inDefinition finds a reference to a definition.
var inDefinition = regexp.MustCompile(regexp.QuoteMeta(definitions) + `([0-9]+)`)

// Text is a schema as JSON, with references as they are in a document, or nothing if the schema says nothing.
func (l *Library) Text(of *Schema) string {
	node := l.Node(of)
	if len(node) == 0 {
		return ""
	}
	text := ofInteger.Replace(string(jsonvalue.Encode(node)))
	return inDefinition.ReplaceAllStringFunc(text, func(reference string) string {
		number, _ := strconv.Atoi(strings.TrimPrefix(reference, definitions)) // it is one
		return "#" + l.places[number]
	})
}

// lift writes a schema in a place as JSON Schema 2020-12. What it does not understand it leaves out and reports.
func (l *Library) lift(at string, node any) any {
	object, isObject := node.(map[string]any)
	pointer := reflect.ValueOf(object).Pointer()
	switch {
	case node == true:
		return map[string]any{}
	case node == false:
		return map[string]any{"not": map[string]any{}}
	case !isObject:
		l.report("%s: is not a schema", at)
		return map[string]any{}
	case l.lifted[pointer], isReference(object):
		return object // another reference has led here
	}
	l.lifted[pointer] = true
	l.liftEach(at+"/$defs", object["$defs"])
	l.liftEach(at+"/definitions", object["definitions"])
	if reference, refers := object["$ref"].(string); refers && l.liftReference(at, object, reference) {
		return object
	}
	// Of several examples, which OpenAPI 3.1 has, the first one is used.
	if examples := jsonvalue.List(object["examples"]); l.modern && len(examples) > 0 {
		object["example"] = cmp.Or(object["example"], examples[0])
	}
	l.onlyUnderstood(at, object)
	l.onlyRight(at, object)
	l.liftKeywords(object)
	for _, name := range single {
		// OpenAPI 3.0 has true and false for additional properties; what is not evaluated has them in 3.1.
		_, isBool := object[name].(bool)
		isOpenOrClosed := isBool && name != "not" && name != "items"
		if object[name] != nil && !isOpenOrClosed {
			object[name] = l.lift(at+"/"+name, object[name])
		}
	}
	for _, name := range several {
		l.liftEach(at+"/"+name, object[name])
	}
	return object
}

// The keywords that have one schema, and those that have several.
var (
	single = []string{
		"items", "not", "additionalProperties", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems",
		"unevaluatedProperties",
	}
	several = []string{"properties", "allOf", "anyOf", "oneOf", "prefixItems", "patternProperties", "dependentSchemas"}
)

// liftEach lifts schemas by name, or in a list.
func (l *Library) liftEach(at string, node any) {
	object := jsonvalue.Object(node)
	list := jsonvalue.List(node)
	for _, name := range jsonvalue.Names(object) {
		object[name] = l.lift(at+jsonvalue.Pointer(name), object[name])
	}
	for i, item := range list {
		list[i] = l.lift(fmt.Sprint(at, "/", i), item)
	}
}

// liftReference makes a reference lead to a definition, and reports whether the schema is nothing else. OpenAPI 3.0 ignores
// what is beside a reference. The engine reads one document and opens no file beside it.
//
//	{"$ref": "other.yaml#/Thing"}          a schema that is unread
//	{"$ref": "#/a", "minLength": 2}        {"allOf": [{"$ref": "#/a"}], "minLength": 2}
func (l *Library) liftReference(at string, object map[string]any, reference string) (isAll bool) {
	beside := maps.Clone(object)
	maps.DeleteFunc(beside, func(name string, _ any) bool {
		return slices.Contains(annotations, name) || !l.understands(name)
	})
	leads := l.LeadsTo(object) // asked before the reference is cleared
	clear(object)
	if !leads {
		l.report("%s: the reference %q leads to nothing in the document", at, reference)
		object["$comment"] = Unread
		return true
	}
	definition := l.Add(placeIn(reference), jsonvalue.Lookup(l.root, reference))
	if !l.modern || len(beside) == 0 {
		maps.Copy(object, definition)
		return true
	}
	maps.Copy(object, beside)
	object["allOf"] = append([]any{definition}, jsonvalue.List(beside["allOf"])...)
	return false
}

// isReference reports whether a schema is a reference to a definition.
func isReference(object map[string]any) bool {
	reference, _ := object["$ref"].(string)
	return strings.HasPrefix(reference, definitions)
}

// placeIn is the JSON Pointer in a reference within the document, escaped as all other places are.
//
//	#/paths/~1plants~1%7Bid%7D   /paths/~1plants~1{id}
func placeIn(reference string) (place string) {
	pointer := strings.TrimPrefix(reference, "#")
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		place += jsonvalue.Pointer(jsonvalue.Unescape(token))
	}
	return place
}
