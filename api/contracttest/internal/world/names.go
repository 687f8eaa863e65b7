package world

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
)

// Authors agree on words more than on how to join them: flow_id, flowId and the id of /flows are one name.

// word finds a word of a name: in the forms flow_run, flowRun, FlowRun and flow-run.
var word = regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)

// Words are the words of a name, in lower case.
func Words(name string) (words []string) {
	for _, found := range word.FindAllString(name, -1) {
		words = append(words, strings.ToLower(found))
	}
	return words
}

// endings are those of names of several things, and of one of them; the first one that fits counts.
var endings = []struct{ ofMany, ofOne string }{
	{"series", "series"},
	{"ies", "y"},
	{"sses", "ss"},
	{"xes", "x"},
	{"tches", "tch"},
	{"rches", "rch"},
	{"nches", "nch"},
	{"ss", "ss"},
	{"us", "us"},
	{"s", ""},
}

// name is the name of a member. Its words are found once, which takes longer than all else that is done with it.
type name struct {
	text     string
	words    []string
	singular string
}

// newName reads a name.
func newName(text string) name {
	words := Words(text)
	return name{text: text, words: words, singular: asOne(words)}
}

// Singular is a name as one word, of one thing where it is of several.
func Singular(name string) string { return asOne(Words(name)) }

// asOne joins the words of a name, and makes the last one singular.
func asOne(words []string) string {
	plain := strings.Join(words, "")
	for _, ending := range endings {
		if stem, is := strings.CutSuffix(plain, ending.ofMany); is {
			return stem + ending.ofOne
		}
	}
	return plain
}

// wrappers are members that have what a response is about, or its items.
var wrappers = []string{"data", "result", "item", "content", "record", "value", "row", "payload", "response", "entry", "element", "object"}

// nounsWithin are what a member of an object is: what its name says, and of a wrapper what the object is.
func nounsWithin(nouns []string, member name) []string {
	if slices.Contains(wrappers, member.singular) {
		return nouns
	}
	return []string{member.singular}
}

// keysOf are the names of a member of what some nouns say. One that consists of several words names something by
// itself.
func keysOf(nouns []string, member name) (keys []string) {
	for _, noun := range nouns {
		keys = append(keys, noun+member.singular)
	}
	if len(member.words) > 1 {
		keys = append(keys, member.singular)
	}
	return keys
}

// literals are the segments of a part of a path without parameters, as one word and of one thing.
func literals(part string) (singulars []string) {
	for segment := range strings.SplitSeq(part, "/") {
		if segment != "" {
			singulars = append(singulars, Singular(segment))
		}
	}
	return singulars
}

// mostNouns is how many segments of a path say what is there: /flows/filter has flows.
const mostNouns = 2

// NounsOf are what is at a path template, and what a schema with a name is. A path that ends with a parameter has one
// of what is before it.
func NounsOf(template, schema string) []string {
	template = strings.TrimSuffix(template, "/")
	if strings.HasSuffix(template, "}") {
		template = template[:strings.LastIndex(template, "{")]
	}
	// What is above another parameter is something else.
	own := literals(template[strings.LastIndex(template, "}")+1:])
	nouns := slices.Clone(own[max(0, len(own)-mostNouns):])
	for len(schema) > 0 {
		nouns = append(nouns, Singular(schema))
		shorter := schemaSuffix.ReplaceAllString(schema, "")
		if shorter == schema {
			break
		}
		schema = shorter
	}
	return nouns
}

// schemaSuffix is the end of a name of a schema that says nothing of what it describes.
var schemaSuffix = regexp.MustCompile(`[-_.]?(Response|Read|Out|Output|Model|Dto|DTO|View|Schema|Public|Details?|Info|Entity|List)$`)

// InPath are the names under which the value of a path parameter is looked up, the best one first: the id in
// /flows/{id} is "flowid", and so is the flow in /flows/{flow}.
func InPath(template, parameter string) (names []string) {
	before, _, _ := strings.Cut(template, "{"+parameter+"}")
	own := before[strings.LastIndex(before, "}")+1:]
	nouns := literals(own)
	slices.Reverse(nouns)
	nouns = nouns[:min(len(nouns), mostNouns)]
	for _, alternative := range strings.Split(parameter, "_or_") {
		plain := Singular(alternative)
		if len(Words(alternative)) > 1 {
			names = append(names, plain)
		}
		for _, noun := range nouns {
			names = append(names, noun+plain)
			if isOf := plain != noun && strings.HasPrefix(plain, noun); isOf {
				names = append(names, plain)
			}
		}
	}
	plain := Singular(parameter)
	for _, kind := range identityWords {
		if strings.HasSuffix(plain, kind) {
			names = append(names, shorterNames(parameter)...)
			// Some services call a name an id.
			for _, noun := range nouns {
				names = append(names, noun+"name")
			}
			return names
		}
	}
	// It is named for what it identifies.
	for _, noun := range append([]string{plain}, nouns...) {
		names = append(names, noun+"id", noun+"name", noun+"key", noun+"slug")
	}
	return names
}

// NamesInPath are the names under which the i-th parameter of a path is looked up: what was accepted there comes first.
func NamesInPath(operation *document.Operation, i int) []string {
	return append([]string{operation.Prefix(i)}, InPath(operation.Template, operation.PathNames[i])...)
}

// identityWords are the last words of names of what identifies something.
var identityWords = []string{"id", "ids", "uuid", "guid", "key", "name", "names", "slug", "code", "ref"}

// Elsewhere are the names under which a member of a body, or a parameter that is not in the path, is looked up. None:
// it identifies nothing else. The id of a thing itself has one word.
func Elsewhere(name string) []string {
	all := Words(name)
	if len(all) < 2 || !slices.Contains(identityWords, all[len(all)-1]) {
		return nil
	}
	return append([]string{Singular(name)}, shorterNames(name)...)
}

// shorterNames are a name without its first words: the parent_task_run_id is a task_run_id.
func shorterNames(name string) (names []string) {
	all := Words(name)
	for i := 1; i < len(all)-1; i++ {
		names = append(names, Singular(strings.Join(all[i:], "_")))
	}
	return names
}
