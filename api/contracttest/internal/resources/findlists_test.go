package resources

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/schematest"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// toldLists is what was found of lists, a line for each.
func toldLists(s *Set) (lines []string) {
	for _, l := range s.Lists {
		line := fmt.Sprintf("%s of %s by %q in %q", l.Operation, l.Resource.Create.ID, l.ID, l.Items)
		if l.IsInferred {
			line += ", inferred"
		}
		if l.Item.Members != "" {
			line += ", each in " + l.Item.Members
		}
		for _, part := range []struct{ name, value string }{
			{"limit", l.Limit}, {"after", l.After}, {"next", l.Next}, {"offset", l.Offset}, {"page", l.Page},
		} {
			if part.value != "" {
				line += ", " + part.name + " " + part.value
			}
		}
		for _, f := range l.Selects {
			if line += ", " + f.Parameter + " is " + f.String(); l.Filters[f.Parameter] != f.String() {
				line += ", for the options " + l.Filters[f.Parameter]
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// cupsDocument has a list of cups, with the parameters and the result that a test has in it.
const cupsDocument = `
  /cups:
    post:
      operationId: createCup
      requestBody: {content: {application/json: {schema: CUP}}}
      responses: {"201": {description: A cup., content: {application/json: {schema: CUP}}}}
    get:
      operationId: listCups
      parameters: [PARAMETERS]
      responses: {"200": {description: Cups., content: {MEDIA: {schema: RESULT}}}}
  /cups/{cupId}:
    get:
      operationId: getCup
      parameters: [{name: cupId, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: A cup.}}
`

// cup is the schema of a cup.
const cup = `{type: object, properties: {id: {type: string}, color: {type: string}, size: {type: integer}, tags: {type: array, items: {type: string}}, ` +
	`note: {anyOf: [{type: string}, {enum: [null]}]}, made: {type: string, readOnly: true}, box: {type: object}, free: {}, mixed: {type: string}}}`

// cupsWith is a document of cups with the parameters and the result of their list.
func cupsWith(parameters, result string) string {
	result = strings.ReplaceAll(result, "CUPS", "{type: array, items: "+cup+"}")
	return strings.NewReplacer("CUP", cup, "PARAMETERS", parameters, "MEDIA", "application/json", "RESULT", result).Replace(cupsDocument)
}

// query is a parameter of a query.
func query(name, schema string) string {
	return "{name: '" + name + "', in: query, schema: {" + schema + "}}"
}

// The items are the response, or a member of it that is an array with the identity.
func TestItems(t *testing.T) {
	t.Parallel()
	const plain = `listCups of createCup by "id" in "", inferred`
	const inMember = `listCups of createCup by "id" in "cups", inferred`
	for _, c := range []struct{ result, want string }{
		{"CUPS", plain},
		{"{type: object, properties: {cups: CUPS, total: {type: integer}}}", inMember},
		{"{allOf: [{type: object, properties: {cups: CUPS}}]}", inMember},
		{"{type: object, properties: {cups: CUPS, best: CUPS}}", ""},
		{"{type: object, properties: {cups: CUPS, meta: {type: object, properties: {best: CUPS}}}}", inMember},
		{"{type: object, properties: {meta: {type: object, properties: {best: CUPS, last: CUPS}}}}", ""},
		{"{type: object, properties: {data: {type: object, properties: {cups: CUPS}}}}", strings.Replace(inMember, "cups", "/data/cups", 1)},
		{"{type: array, items: {type: object, properties: {data: {type: object, properties: {id: {type: string}}}}}}", plain + ", each in /data"},
		{"{type: object, properties: {cups: {type: object, properties: {id: {type: string}}}}}", ""},
		{"{type: array, items: {type: object, properties: {name: {type: string}}}}", ""},
		{"{type: array, items: {type: object, properties: {cup_id: {type: string}, id: {type: string}}}}", plain},
		{"{type: array}", ""},
		{"{type: object, items: {type: object, properties: {id: {type: string}}}}", ""},
		{"{type: string}", ""},
	} {
		checkLines(t, toldLists(found(t, cupsWith("", c.result), Declarations{})), c.want)
	}
}

// A parameter whose description has one of these words selects something else than what has its value.
func TestOtherThanEqual(t *testing.T) {
	t.Parallel()
	const words = "before after since until less greater min max above below least most between not don't without excluded excluding except sorted order ignored"
	checkWords(t, otherThanEqual, append(strings.Fields(words), "other than")...)
	for word := range strings.FieldsSeq("color note another domain admin") {
		if otherThanEqual.MatchString("Cups with the " + word + " of this.") {
			t.Errorf("%s does not select what is equal", word)
		}
	}
}

// A parameter does what its name says, if its type allows that.
func TestMeanings(t *testing.T) {
	t.Parallel()
	const list = `listCups of createCup by "id" in "", inferred`
	const number = "type: integer"
	const text = "type: string"
	for _, c := range []struct{ parameters, want string }{
		{query("limit", number), ", limit limit"},
		{query("page[size]", number), ", limit page[size]"},
		{query("limit", text), ""},
		{"{name: size, in: query, description: The least size., schema: {type: integer}}", ""},
		{query("min", number) + ", " + query("max", number), ", min is size >=, max is size <="},
		{query("offset", number), ", offset offset"},
		{query("offset", text), ""},
		{query("page", number), ", page page"},
		{query("page", text), ""},
		{query("after", text), ", after after"},
		{query("startingAfter", text), ", after startingAfter"},
		{query("cursor", text), ""}, // nothing tells its values
		{query("color", text), ", color is color"},
		{query("colors", text), ", colors is color"},
		{query("tag", text), ", tag is tags"},
		{query("Color", text), ", Color is color"},
		{query("mi_xed", text), ", mi_xed is mixed"},
		{query("color", number), ""},
		{query("color", "type: array, items: {type: string}"), ", color is color"},
		{query("tags", "type: array, items: {type: string}"), ", tags is tags"},
		{query("note", text), ", note is note"},
		{query("note", "anyOf: [{type: string}, {enum: [null]}]"), ", note is note"},
		{query("box", "type: object"), ""},
		{query("free", ""), ""},   // nothing says that both are alike
		{query("made", text), ""}, // no create can choose it
		{query("id", text), ""},
		{query("unknown", text), ""},
		{"{name: color, in: header, schema: {type: string}}", ""},
		{"{name: limit, in: header, schema: {type: integer}}", ""},
		{"{name: color, in: query, description: Cups before this color., schema: {type: string}}", ""},
		{"{name: color, in: query, description: The color., schema: {type: string}}", ", color is color"},
		{query("limit", number) + ", " + query("size", number) + ", " + query("top", number), ", limit limit, size is size"},
	} {
		t.Run(c.parameters, func(t *testing.T) {
			checkLines(t, toldLists(found(t, cupsWith(c.parameters, "CUPS"), Declarations{})), list+c.want)
		})
	}
}

// Authors have many words for what a parameter does, and for the next page.
func TestWords(t *testing.T) {
	t.Parallel()
	for does, words := range map[string]string{
		"limit":  "limit per_page pageSize size max-results maxItems first count top take",
		"offset": "offset skip",
		"page":   "page pageNumber",
		"after":  "cursor after pageToken nextToken continuationToken marker startingAfter startAfter afterId",
	} {
		for word := range strings.FieldsSeq(words) {
			l := &List{}
			l.inferMeaning(word, schematest.Of(t, "{type: integer}"))
			got := map[string]string{"limit": l.Limit, "offset": l.Offset, "page": l.Page, "after": l.After}
			if got[does] != word {
				t.Errorf("%s is no %s: %v", word, does, got)
			}
		}
	}
	s := found(t, plainTool, Declarations{})
	text := schematest.Of(t, "{type: string}")
	for word := range strings.FieldsSeq("next nextCursor nextPageToken nextToken nextPage nextMarker continuationToken cursor endCursor") {
		l := &List{}
		if s.inferNext(l, word, text); l.Next != word {
			t.Errorf("%s is no next page", word)
		}
	}
	for word := range strings.FieldsSeq("meta paging pagination pageInfo links") {
		l := &List{}
		if s.inferNext(l, word, schematest.Of(t, "{type: object, properties: {next: {type: string}}}")); l.Next != word+"/next" {
			t.Errorf("%s has no next page", word)
		}
	}
}

// A filter has the same type in the parameter, the create and the item.
func TestFilterTypes(t *testing.T) {
	t.Parallel()
	const item = "{type: array, items: {type: object, properties: {id: {type: string}, color: {type: integer}, extra: {type: string}}}}"
	for parameter, want := range map[string]string{"color": "type: string", "extra": "type: string"} {
		checkLines(t, toldLists(found(t, cupsWith(query(parameter, want), item), Declarations{})), `listCups of createCup by "id" in "", inferred`)
	}
}

// A bound is of no identity, and a filter may have the schema of the create, or that of the items.
func TestFilterSchemas(t *testing.T) {
	t.Parallel()
	numbered := strings.ReplaceAll(cupsWith(query("min", "type: integer")+", "+query("max", "type: integer"), "CUPS"), "id: {type: string}", "id: {type: integer}")
	checkLines(t, toldLists(found(t, numbered, Declarations{})), `listCups of createCup by "id" in "", inferred, min is size >=, max is size <=`)
	short := strings.Replace(cup, "color: {type: string}", "color: {type: string, maxLength: 9}", 1)
	for parameter, isGuess := range map[string]bool{
		query("color", "type: string"):               false,
		query("color", "type: string, maxLength: 9"): false,
		query("color", "type: string, maxLength: 8"): true,
	} {
		paths := cupsWith(parameter, "{type: array, items: "+short+"}")
		if got := found(t, paths, Declarations{}).Lists[0].Selects[0].IsGuess; got != isGuess {
			t.Errorf("%s is a guess: %v", parameter, got)
		}
	}
}

// The next page is in a member of the response, or in one of it.
func TestNext(t *testing.T) {
	t.Parallel()
	const cursor = `{name: cursor, in: query, schema: {type: string}}`
	for _, c := range []struct{ member, want string }{
		{"next: {type: string}", ", after cursor, next next"},
		{"nextCursor: {type: string}", ", after cursor, next nextCursor"},
		{"meta: {type: object, properties: {next: {type: string}}}", ", after cursor, next meta/next"},
		{"links: {type: object, properties: {next: {type: string}, prev: {type: string}}}", ", after cursor, next links/next"},
		{"other: {type: object, properties: {next: {type: string}}}", ""},
		{"next: {type: array, items: {type: string}}", ""},
		{"next: {type: object, properties: {at: {type: string}}}", ""},
		{"previous: {type: string}", ""},
	} {
		paths := cupsWith(cursor, "{type: object, properties: {cups: CUPS, "+c.member+"}}")
		checkLines(t, toldLists(found(t, paths, Declarations{})), `listCups of createCup by "id" in "cups", inferred`+c.want)
	}
}

// An operation may list a resource unless it has no end, is left out, or lists what is below something unknown.
func TestCanBeList(t *testing.T) {
	t.Parallel()
	cups := cupsWith("", "CUPS")
	const list = `listCups of createCup by "id" in "", inferred`
	declare := func(l scenario.List) Declarations { return Declarations{Lists: []scenario.List{l}} }
	for name, c := range map[string]struct {
		paths    string
		declared Declarations
		want     string
	}{
		"a list": {paths: cups, want: list},
		"a stream": {paths: strings.ReplaceAll(cups, "description: Cups., content: {application/json:",
			"description: Cups., content: {text/event-stream: {schema: {type: string}}, application/json:")},
		"left out":     {paths: cups, declared: Declarations{LeaveOut: map[string]string{"listCups": "a reason"}}},
		"not inferred": {paths: cups, declared: declare(scenario.List{Operation: "listCups"})},
		"declared": {
			paths:    cups,
			declared: declare(scenario.List{Operation: "listCups", Create: "createCup", ID: "id", Limit: "top"}),
			want:     `listCups of createCup by "id" in "", limit top`,
		},
		"declared, in data": {
			paths: cups,
			declared: declare(scenario.List{
				Operation: "listCups", Create: "createCup", ID: "/data/id", Filters: map[string]string{"hue": "color begins"},
			}),
			want: `listCups of createCup by "id" in "", each in /data, hue is color begins`,
		},
		"declared, but not in the document": {paths: cups, declared: declare(scenario.List{Operation: "noOperation", Create: "createCup"}), want: list},
		"declared of no resource":           {paths: cups, declared: declare(scenario.List{Operation: "listCups", Create: "listCups"}), want: list},
		"declared, and left out": {paths: cups, declared: Declarations{
			Lists:    []scenario.List{{Operation: "listCups", Create: "createCup", ID: "id"}},
			LeaveOut: map[string]string{"listCups": "a reason"},
		}},
		"above a PUT": {paths: `
  /jars:
    get: {operationId: listJars, responses: {"200": {description: Jars., content: {application/json: {schema: {type: array, items: {type: object, properties: {label: {type: string}, id: {type: string}}}}}}}}}
  /jars/{label}:
    parameters: [{name: label, in: path, required: true, schema: {type: string}}]
    get: {operationId: getJar, responses: {"200": {description: A jar.}}}
    put: {operationId: putJar, responses: {"200": {description: A jar.}}}
`, want: `listJars of putJar by "label" in "", inferred`},
	} {
		t.Run(name, func(t *testing.T) { checkLines(t, toldLists(found(t, c.paths, c.declared)), c.want) })
	}
}

// A list below a resource is one of what is there, also where the options give what that is below.
func TestListBelow(t *testing.T) {
	t.Parallel()
	const list = `listParts of createPart by "id" in "", inferred`
	parts := strings.Replace(belowTools, "    post: {operationId: createPart",
		`    get: {operationId: listParts, responses: {"200": {description: Parts., content: {application/json: {schema: {type: array, items: {type: object, properties: {id: {type: integer}}}}}}}}}
    post: {operationId: createPart`, 1)
	checkLines(t, toldLists(found(t, plainTool+parts, Declarations{})), list)
	checkLines(t, toldLists(found(t, parts, Declarations{}, "tool")), list)
	declared := Declarations{Resources: []scenario.Resource{{Create: "createPart", ID: "id", Assigned: true, Read: "getPart"}}}
	checkLines(t, toldLists(found(t, parts, declared)), "")
}
