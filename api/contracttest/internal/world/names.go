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

// endings are how names of several things end, and names of one of them; the first one that fits counts.
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

// nounsWithin say what a member of an object is: the owner of a flow is an owner, but its data is a flow as the object is.
func nounsWithin(nouns []string, member name) []string {
	if slices.Contains(wrappers, member.singular) {
		return nouns
	}
	return []string{member.singular}
}

// keysOf are the names under which a member of an object is kept, which nouns say what it is. A name of several words says by
// itself what it identifies.
//
//	id of a flow           flowid
//	user_id of a flow      flowuserid, userid
func keysOf(nouns []string, member name) (keys []string) {
	for _, noun := range nouns {
		keys = append(keys, noun+member.singular)
	}
	if len(member.words) > 1 {
		keys = append(keys, member.singular)
	}
	return keys
}

// literals are the segments of a part of a path without parameters, each as one word and of one thing: flowrun of /flow-runs.
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

// NounsOf says what is at a path template, and what a schema with a name describes. A path that ends with a parameter has one of
// what is before it.
//
//	/projects/{id}/flows/{id}, FlowRead       flow, flowread
//	/flows/filter, ""                         flow, filter
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
	nouns := literals(before[strings.LastIndex(before, "}")+1:])
	slices.Reverse(nouns) // the last one says most
	nouns = nouns[:min(len(nouns), mostNouns)]
	for _, alternative := range strings.Split(parameter, "_or_") {
		names = append(names, inPath(alternative, nouns)...)
	}
	plain := Singular(parameter)
	if isIdentity := slices.ContainsFunc(identityWords, func(word string) bool { return strings.HasSuffix(plain, word) }); isIdentity {
		names = append(names, shorterNames(parameter)...)
		for _, noun := range nouns {
			names = append(names, noun+"name") // some services call a name an id
		}
		return names
	}
	// The parameter is named for what it identifies.
	for _, noun := range append([]string{plain}, nouns...) {
		names = append(names, noun+"id", noun+"name", noun+"key", noun+"slug")
	}
	return names
}

// inPath are the names of the value of a parameter after some nouns in a path.
//
//	/flows/{id}            flowid
//	/flows/{flow_id}       flowid, flowflowid
func inPath(parameter string, nouns []string) (names []string) {
	plain := Singular(parameter)
	if len(Words(parameter)) > 1 {
		names = append(names, plain)
	}
	for _, noun := range nouns {
		names = append(names, noun+plain)
		if startsWithNoun := plain != noun && strings.HasPrefix(plain, noun); startsWithNoun { // flowid in one word
			names = append(names, plain)
		}
	}
	return names
}

// NamesInPath are the names under which the i-th parameter of a path is looked up: what was accepted there comes first.
func NamesInPath(operation *document.Operation, i int) []string {
	return append([]string{operation.Prefix(i)}, InPath(operation.Template, operation.PathNames[i])...)
}

// identityWords are the last words of names of what identifies something.
var identityWords = []string{"id", "ids", "uuid", "guid", "key", "name", "names", "slug", "code", "ref"}

// Elsewhere are the names under which a member of a body, or a parameter that is not in the path, is looked up: flow_id is
// "flowid". There are none if it identifies nothing else, as id, which is the identity of the thing itself.
func Elsewhere(name string) []string {
	all := Words(name)
	if len(all) < 2 || !slices.Contains(identityWords, all[len(all)-1]) {
		return nil
	}
	return append([]string{Singular(name)}, shorterNames(name)...)
}

// shorterNames are a name without its first words: of parent_task_run_id, taskrunid and runid.
func shorterNames(name string) (names []string) {
	all := Words(name)
	for i := 1; i < len(all)-1; i++ {
		names = append(names, Singular(strings.Join(all[i:], "_")))
	}
	return names
}
