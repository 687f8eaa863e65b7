package plan_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"

	"github.com/plantstore/plantstore/internal/testing/toy"
)

// edges are transcripts of what documents have seldom.
var edges = map[string]trial{
	// The body of a change is text, so no test can change anything; one that has one value only cannot vary.
	"pots as text": {document: "pots", service: potGarden, tests: "sees a (change|repl)|replacement|changes the|with one If", edits: []string{
		"requestBody: {required: true, content: {application/json: {schema: {type: object, properties: {color", "requestBody: {required: true, content: {text/plain: {schema: {type: array, properties: {color",
		"If-None-Match, in: header, schema: {type: string}}]\n      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Pot'}}}}",
		"If-None-Match, in: header, schema: {type: string}}]\n      requestBody: {required: true, content: {text/csv: {schema: {type: array}}}}",
	}},
	"pots of one color": {document: "pots", service: potGarden, tests: "patch|change", edits: []string{
		"{type: object, properties: {color: {type: string, maxLength: 40}, size: {type: integer, minimum: 1000}}}", "{type: object, required: [color], properties: {color: {enum: [reddish]}}}",
	}},
	"pots on one page": {document: "pots", service: potGarden, tests: "effect of parameter color", edits: []string{
		"        - {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 100, default: 10}}\n        - {name: after, in: query, schema: {type: integer}}\n", "",
	}},
	"pots that may be lit": {document: "pots", service: potGarden, tests: "sees a (create|change)", edits: []string{
		"properties: {id: {type: integer, minimum", "properties: {lit: {type: boolean}, id: {type: integer, minimum", "{type: object, properties: {color:", "{type: object, properties: {lit: {type: boolean}, color:",
	}},
	"pots of bounded sizes": {document: "pots", service: potGarden, tests: "sees a create", edits: []string{
		"size: {type: integer, minimum: 1000, default: 3000}, note", "size: {type: integer, minimum: 1000, maximum: 9000}, weight: {type: number, minimum: 0, maximum: 70}, note",
	}},
	"pots that merge":        {document: "pots", service: potGarden, tests: "removes", edits: []string{"operationId: putPot", "operationId: putPot\n      description: Members that are absent stay."}},
	"pots of three members":  {document: "pots", service: potGarden, tests: "removes", edits: []string{"required: [id, color]", "required: [id, color]\n      minProperties: 3"}},
	"pots with assigned ids": {document: "pots", service: assigning(toy.Habits{}), tests: "If-|Location|create", settings: assignedPots()},
	"below each other, declared": {document: "below", service: assigning(toy.Habits{}), tests: "(water|label)Pot", settings: plan.Settings{Declared: resources.Declarations{
		Resources: []scenario.Resource{{Create: "createPot", ID: "id", Assigned: true, Read: "getPot", Delete: "deletePot"}},
	}}},
	// A PUT may create what is absent, and what lists no 404 may find nothing.
	"below each other, never absent": {document: "below", service: assigning(toy.Habits{}), tests: "water", edits: []string{
		"    post: {operationId: waterPot", "    put: {operationId: waterPot",
		"parameters: [*potId, *id], responses: {\"204\": *empty, \"404\": *none}}", "parameters: [*potId, *id], responses: {\"204\": *empty}}",
	}},
	// Nothing reads a plant.
	"below each other, only deleted": {document: "below", service: assigning(toy.Habits{}), tests: "createPlant", edits: onlyDeleted},
	"pots at a base path":            {document: "pots", service: potGarden, at: "/api", tests: "Location"},
	"pots with a high default": {document: "pots", service: potGarden, tests: "default of", edits: []string{
		"maximum: 100, default: 10", "maximum: 1000, default: 500",
	}},
	"pots with the largest default":         {document: "pots", service: potGarden, tests: "default of", edits: []string{"maximum: 100, default: 10", "maximum: 100, default: 9223372036854775807"}},
	"pots with a negative default":          {document: "pots", service: potGarden, tests: "default of", edits: []string{"maximum: 100, default: 10", "maximum: 100, default: -1"}},
	"pots with a default that is no number": {document: "pots", service: potGarden, tests: "default of", edits: []string{"maximum: 100, default: 10", "maximum: 100, default: many"}},
	"pots without a body":                   {document: "below", service: assigning(toy.Habits{}), tests: "createPot", edits: []string{"requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/New'}}}}", "summary: Makes one."}},
	"identities that are never used again":  {document: "below", service: assigning(toy.Habits{}), tests: "createPot", edits: []string{"operationId: createPot", "operationId: createPot\n      description: An id is never used again."}},

	// Lists that lead on in other ways, or not at all.
	"lists declared":            {document: "lists", service: assigning(toy.Habits{}), tests: "(Offset|Page)s(, effect|, default)", settings: declaredLists()},
	"lists declared, by cursor": {document: "lists", service: assigning(toy.Habits{Items: "items"}), tests: "Cursors, effect", settings: declaredLists()},
	"lists declared, by link": {document: "lists", service: assigning(toy.Habits{Links: true}), tests: "Links, effect|walk by Link", settings: declaredLists(), edits: []string{
		"{name: tags, in: query, schema: {type: array, items: {type: string}}}]", "{name: after, in: query, schema: {type: integer}}]",
	}},
	"lists by url":          {document: "lists", service: assigning(toy.Habits{Items: "items", Leads: true}), tests: "listCursors"},
	"lists by url and page": {document: "lists", service: assigning(toy.Habits{Items: "items"}), tests: "listCursors", edits: []string{"{name: cursor, in: query, schema: {type: string}}", "{name: page, in: query, schema: {type: integer}}"}},
	"lists by limit alone":  {document: "lists", service: assigning(toy.Habits{}), tests: "listOffsets", edits: []string{"{name: offset, in", "{name: other, in"}},
	"lists by link or offset": {document: "lists", service: assigning(toy.Habits{Links: true}), tests: "listOffsets", edits: []string{
		"offset, in: query, schema: {type: integer, minimum: 0, default: 0}}]\n      responses: {\"200\": {description: All.,", "offset, in: query, schema: {type: integer, minimum: 0, default: 0}}]\n      responses: {\"200\": {description: All., headers: {Link: {schema: {type: string}}},",
	}},
	"lists of some": {document: "lists", service: assigning(toy.Habits{}), tests: "listPlains|listLinks, effect of parameter limit", edits: []string{"operationId: listPlains,", "operationId: listPlains, summary: Lists your own.,", "operationId: listLinks", "operationId: listLinks\n      summary: Lists your own."}},
	"lists of summaries": {document: "lists", service: assigning(toy.Habits{}), tests: "listPlains", edits: []string{
		"operationId: listPlains, responses: {\"200\": {description: All., content: *array}}", "operationId: listPlains, responses: {\"200\": {description: All., content: {application/json: {schema: {type: array, items: {type: object, properties: {id: {type: integer}, note: {type: string, nullable: true}}}}}}}}",
	}},
	"filters by one tag":   {document: "lists", service: assigning(toy.Habits{Links: true}), tests: "listLinks, effect of parameter tags", edits: []string{"tags: {type: array,", "tags: {type: array, maxItems: 1,"}},
	"filters by one value": {document: "lists", service: assigning(toy.Habits{}), tests: "tags", edits: []string{"tags: {type: array, items: {type: string, maxLength: 40}}", "tags: {type: array, items: {type: string, enum: [tagged]}}"}},

	// Requests that cannot be written, or need what is not there.
	"requests without notes":   {document: "requests", service: refusing(refusesNotes), phases: "0126", target: credentials, tests: "^(get|put|delete)Note, (first|cred|par|body /)"},
	"requests that are unread": {document: "requests", service: requestGarden, phases: "012", target: credentials, tests: "see|stop", edits: []string{"{name: where, in: path, required: true, schema: {type: string, maxLength: 3}}", "{name: where, in: path, required: true, schema: {$ref: other.yaml}}"}},
	"requests without a value": {document: "requests", service: requestGarden, phases: "012", target: credentials, tests: "see|stop", edits: []string{"{name: where, in: path, required: true, schema: {type: string, maxLength: 3}}", "{name: where, in: path, required: true, schema: {type: string, not: {}}}"}},
	// A DELETE of a text may serve what is below it, for a text may have slashes; a date has none.
	"methods of what is below texts and dates": {document: "requests", service: requestGarden, phases: "3", target: credentials, tests: "^methods that .*/size", edits: []string{
		"  /events:", belowTextsAndDates + "  /events:",
	}},
	"robustness that crashes": {document: "requests", service: refusing(func(*http.Request) int { return 500 }), phases: "5", target: credentials, tests: "robustness, (parameter q|body: \"0\")"},
	"texts": {document: "requests", service: requestGarden, phases: "1245", target: credentials, tests: `^stop, (body|no|media|mal)[^\\]*$`, edits: []string{
		"post: {operationId: stop,", "post: {operationId: stop, requestBody: {required: true, content: {text/plain: {schema: {type: string, nullable: true, maxLength: 3}}}},",
	}},
	"conditions of a read": {document: "pots", service: potGarden, tests: "getPot.*If-Match", settings: declaredPots(), edits: []string{
		"operationId: getPot\n      parameters: [", "operationId: getPot\n      parameters: [{name: If-Match, in: header, schema: {type: string}}, ",
	}},
	"robustness of conditions":           {document: "pots", service: potGarden, phases: "5", tests: "(get|patch|delete)Pot, robustness, parameter If-", settings: declaredPots()},
	"forms":                              {document: "requests", service: requestGarden, phases: "24", target: credentials, tests: "sendForm, body /", edits: []string{"count: {type: integer, maximum: 3}}", "count: {type: integer, maximum: 3}, more: {type: object, nullable: true, properties: {deep: {type: string, maxLength: 3}}}}"}},
	"first requests of a change by POST": {document: "requests", service: requestGarden, phases: "0", target: credentials, tests: "putNote", edits: []string{"put: {operationId: putNote", "post: {operationId: putNote"}},
	"requests of what nothing shows": {document: "needs", service: http.NotFoundHandler, phases: "12", tests: "find|Seat|^book, (cred|body /roomId)", edits: []string{
		"parameters: [{name: roomId, in: query,", "parameters: [{name: bookingId, in: query, schema: {type: string}}, {name: roomId, in: query,",
	}},
	"requests of what is listed": {document: "pots", service: withPot, phases: "01", tests: "(list|create|get)Pot"},
	"requests of parts that nothing creates": {document: "below", service: assigning(toy.Habits{}), phases: "012", tests: "getPlant", edits: []string{
		"post: {<<: *create, operationId: createPlant}", "trace: {<<: *create, operationId: createPlant}",
	}},
	"requests of parts": {document: "below", service: assigning(toy.Habits{}), phases: "012", tests: "water"},
	"first requests with paths that need not be": {document: "needs", service: reception(nothing), phases: "01", tests: "Seat", edits: []string{
		"name: roomId, in: path, required: true,", "name: roomId, in: path,",
	}},
	"first requests that name what they create":    {document: "needs", service: tables(http.StatusCreated), phases: "01", tests: "listRooms, first|Table, (first|cred)", edits: withTables},
	"first requests that name what is not shown":   {document: "needs", service: tables(http.StatusNoContent), phases: "01", tests: "listRooms, first|Table, (first|cred)", edits: withTables},
	"first requests with zones that are not found": {document: "needs", service: reception(zonesAsUnknown), phases: "01", tests: "book"},
	"first requests with many": {document: "needs", service: reception(zones), phases: "01", tests: "change", edits: []string{
		"{type: object, properties: {zone: {enum: [z]}, note: {enum: [n]}, more:", "{type: object, properties: {zone: {enum: [z]}, " + manyMembers() + "more:",
	}},
}

// withPot is a garden with a pot that no test has created.
func withPot() http.Handler {
	garden := toy.New(toy.Habits{})
	toy.PlantPot(garden, 7)
	return garden
}

// onlyDeleted leaves out what reads or changes a plant.
var onlyDeleted = []string{
	"    get: {operationId: getPlant, responses: {\"200\": *one, \"404\": *none}}\n", "",
	"    patch: {operationId: patchPlant, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/New'}}}}, responses: {\"200\": *one, \"404\": *none}}\n", "",
}

// belowTextsAndDates are paths below the last parameter of others.
const belowTextsAndDates = `
  /caches/texts/{text}: {delete: {parameters: [{name: text, in: path, required: true, schema: {type: string}}], responses: {"204": *ok, "404": *error}}}
  /caches/texts/a/size: {post: {responses: {"200": *ok}}}
  /caches/dates/{date}: {delete: {parameters: [{name: date, in: path, required: true, schema: {type: string, format: date}}], responses: {"204": *ok, "404": *error}}}
  /caches/dates/2026-01-01/size: {post: {responses: {"200": *ok}}}
`

// withTables adds the tables of a room to the document of needs.
var withTables = []string{
	"  /free:", `  /rooms/{roomId}/tables/{tableName}:
    parameters: [*room, {name: tableName, in: path, required: true, schema: {type: string, maxLength: 40}}]
    post: {operationId: makeTable, responses: {"201": *ok, "204": *ok, "400": *none, "404": *none}}
    get: {operationId: getTable, responses: {"200": *ok, "404": *none}}
  /free:`,
}

// declaredLists are the options that say what the document of lists does not.
func declaredLists() plan.Settings {
	declared := resources.Declarations{Lists: []scenario.List{
		{Operation: "listOffsets", Create: "createOffset", ID: "id", Limit: "limit", Offset: "offset"},
		{Operation: "listPages", Create: "createPage", ID: "id", Limit: "limit", Page: "page"},
		{Operation: "listCursors", Create: "createCursor", ID: "id", Limit: "limit", After: "cursor", Next: "next", Items: "items"},
		{Operation: "listLinks", Create: "createLink", ID: "id", Limit: "limit", After: "after"},
	}}
	for _, name := range []string{"Offset", "Page", "Cursor", "Link"} {
		declared.Resources = append(declared.Resources, scenario.Resource{Create: "create" + name, ID: "id", Assigned: true, Read: "get" + name})
	}
	return plan.Settings{Declared: declared}
}

// manyMembers are members of a schema.
func manyMembers() string {
	var text strings.Builder
	for name := 'a'; name <= 'z'; name++ {
		text.WriteString(string(name) + "1: {enum: [x]}, ")
	}
	return text.String() + "n1x: {enum: [x]}, n2x: {enum: [x]}, n3x: {enum: [x]}, "
}

// The plainest test of an operation is made alone, if it can be written.
func TestPlainTest(t *testing.T) {
	t.Parallel()
	p := trial{document: "requests"}.planner(t)
	for id, want := range map[string]string{"find": "find, credentials open", "getNote": "getNote, credentials good", "sendPicture": ""} {
		test, ok := p.PlainTest(p.Document.Operation(id))
		if test.Name != want || ok != (want != "") {
			t.Errorf("of %s it is %q, %v", id, test.Name, ok)
		}
	}
	if inferred := p.Resources.Inferred; len(inferred) != 1 || !strings.HasPrefix(inferred[0], "createNote creates what {id} names") {
		t.Errorf("inferred was %q", inferred)
	}
}

// Tests end wherever a run stops.
func TestStopped(t *testing.T) {
	t.Parallel()
	p := trial{document: "below"}.planner(t)
	all := 0
	for range p.Tests(t.Context()) {
		all++
	}
	for stop := 1; stop < all; stop += 7 {
		seen := 0
		for range p.Tests(t.Context()) {
			if seen++; seen == stop {
				break
			}
		}
		if seen != stop {
			t.Errorf("after %d tests there are %d", stop, seen)
		}
	}
	for range p.Requests() {
		break
	}
}

// A large document has fewer random bodies, and one robustness name of a member.
func TestFewDraws(t *testing.T) {
	t.Parallel()
	var paths strings.Builder
	for name := 'a'; name <= 'z'; name++ {
		paths.WriteString("  /" + string(name) + ": {post: {requestBody: {content: {application/json: {schema: {type: object, properties: {a: {type: string}}}}}}, responses: {\"200\": {description: OK.}}}}\n")
	}
	for document, want := range map[string]int{"requests": 50, "lists": 10} {
		c := trial{document: document, edits: []string{"\ncomponents:", "\n" + paths.String() + "components:"}}
		if document == "requests" {
			c.edits = nil
		}
		drawn, renamed := map[string]int{}, 0
		for test := range c.planner(t).Tests(t.Context()) {
			if operation, _, isRandom := strings.Cut(test.Name, ", random body: "); isRandom {
				drawn[operation]++
			}
			if strings.HasPrefix(test.Name, "createLink, body  additionalProperties") {
				renamed++
			}
		}
		for operation, draws := range drawn {
			if draws != want {
				t.Errorf("%s has %d random bodies, want %d", operation, draws, want)
			}
		}
		if document == "lists" && renamed != 1 {
			t.Errorf("there are %d other names of members", renamed)
		}
	}
}
