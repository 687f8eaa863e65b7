package resources

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// found is what is found in a document with some paths. Values are given by the options, by name.
func found(t *testing.T, paths string, declared Declarations, given ...string) *Set {
	t.Helper()
	read, err := document.Parse([]byte("openapi: 3.0.3\ninfo: {title: Tools, version: '1'}\npaths:\n" + paths))
	must.NoError(t, err)
	settings := values.Settings{Values: map[string]string{}}
	for _, name := range given {
		settings.Values[name] = "given"
	}
	return Find(read, values.New(settings), declared)
}

// told is what was found: a line for each resource, and for each operation whose path names one.
func told(s *Set) (lines []string) {
	for _, x := range s.All {
		kind := "chosen"
		if x.IsAssigned {
			kind = "assigned"
		}
		line := fmt.Sprintf("%s: %s %q of %s", x.Create.ID, kind, x.Member, schema.TypeOf(x.Identity))
		if x.IsInferred {
			line += ", inferred"
		}
		if x.IsGuessed {
			line += ", guessed"
		}
		if x.Parent != nil {
			line += ", below " + x.Parent.Create.ID
		}
		lines = append(lines, line+wrapped(x.Create))
		for _, method := range x.Methods() {
			lines = append(lines, "  "+method+" "+x.Operations[method].ID+wrapped(x.Operations[method]))
		}
	}
	for _, operation := range s.document.Operations {
		if use := s.UseOf(operation); use != nil {
			lines = append(lines, fmt.Sprintf("%s: {%s} is of %s", operation.ID, use.Parameter, use.Create.ID))
		}
	}
	return lines
}

// wrapped is where the bodies of an operation have a thing, unless they are that.
func wrapped(operation *document.Operation) (text string) {
	if gives := operation.Gives; gives != (document.Wrapping{}) {
		text += ", gives " + strings.TrimSpace(gives.Members+" "+gives.Identity)
	}
	if takes := operation.Takes; takes != (document.Wrapping{}) {
		text += ", takes " + strings.TrimSpace(takes.Members+" "+takes.Identity)
	}
	return text
}

// checkLines reports an error unless lines are as wanted, of which each is in a line of a text.
func checkLines(t *testing.T, got []string, want string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(want) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			lines = append(lines, line)
		}
	}
	if !slices.Equal(got, lines) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

// Parts of documents. A tool is created by POST, and read.
const (
	createTool = `
  /tools:
    post:
      operationId: createTool
      requestBody: {content: {application/json: {schema: {type: object, required: [REQUIRED], properties: {id: {type: SENT}, name: {type: string}}}}}}
      responses: {"201": {description: A tool., content: {application/json: {schema: {type: object, properties: {id: {type: RECEIVED}, name: {type: string}}}}}}}
`
	getTool = `
  /tools/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: IDENTITY}}]
    get: {operationId: getTool, responses: {"200": {description: A tool.}}}
    put: {operationId: putTool, responses: {"200": {description: A tool.}}}
    patch: {operationId: changeTool, responses: {"200": {description: A tool.}}}
    delete: {operationId: deleteTool, responses: {"204": {description: It is gone.}}}
`
	onTool = `
  DELETE deleteTool
  GET getTool
  PATCH changeTool
  PUT putTool
deleteTool: {id} is of createTool
getTool: {id} is of createTool
changeTool: {id} is of createTool
putTool: {id} is of createTool`
)

// Where the identity of a resource is follows from what a create takes and returns.
func TestIdentity(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		required, sent, received, identity string
		want                               string
	}{
		"sent, required":                    {"id", "string", "string", "string", `createTool: chosen "id" of string, inferred` + onTool},
		"sent, optional, and received":      {"name", "string", "string", "string", `createTool: assigned "id" of string, inferred` + onTool},
		"sent, optional, and not received":  {"name", "string", "boolean", "string", `createTool: chosen "id" of string, inferred` + onTool},
		"a number in a path of texts":       {"name", "boolean", "integer", "string", `createTool: assigned "id" of string, inferred` + onTool},
		"a number in a path of numbers":     {"name", "boolean", "integer", "integer", `createTool: assigned "id" of integer, inferred` + onTool},
		"a text in a path of numbers":       {"name", "string", "string", "integer", ""},
		"neither a text nor a number":       {"id", "boolean", "boolean", "string", ""},
		"what only the service sends":       {"id", "string, readOnly: true", "string", "string", `createTool: assigned "id" of string, inferred` + onTool},
		"one of two values cannot be drawn": {"id", "string, enum: [a, b]", "string", "string", ""},
	} {
		paths := strings.NewReplacer("REQUIRED", c.required, "SENT", c.sent, "RECEIVED", c.received, "IDENTITY", c.identity).Replace(createTool + getTool)
		t.Run(name, func(t *testing.T) { checkLines(t, told(found(t, paths, Declarations{})), c.want) })
	}
}

// plainTool has an assigned identity.
var plainTool = strings.NewReplacer("REQUIRED", "name", "SENT", "string", "RECEIVED", "string", "IDENTITY", "string").Replace(createTool + getTool)

// What the options say is true, and nothing is inferred against it.
func TestDeclared(t *testing.T) {
	t.Parallel()
	without := func(ids ...string) (declared Declarations) {
		for _, id := range ids {
			declared.Lists = append(declared.Lists, scenario.List{Operation: id})
		}
		return declared
	}
	leaveOut := func(id string) Declarations { return Declarations{LeaveOut: map[string]string{id: "a reason"}} }
	declare := func(x scenario.Resource) Declarations { return Declarations{Resources: []scenario.Resource{x}} }
	const others = `
  GET getTool
deleteTool: {id} is of createTool
getTool: {id} is of createTool
changeTool: {id} is of createTool
putTool: {id} is of createTool`
	for name, c := range map[string]struct {
		declared Declarations
		want     string
	}{
		"nothing":                   {Declarations{}, `createTool: assigned "id" of string, inferred` + onTool},
		"no create is inferred":     {without("createTool"), ""},
		"no read is inferred":       {without("getTool"), ""},
		"the create is left out":    {leaveOut("createTool"), ""},
		"a declared resource":       {declare(scenario.Resource{Create: "createTool", ID: "name", Read: "getTool"}), `createTool: chosen "name" of string` + others},
		"one whose id is nowhere":   {declare(scenario.Resource{Create: "createTool", ID: "key", Read: "getTool"}), `createTool: chosen "key" of string` + others},
		"one that is only deleted":  {declare(scenario.Resource{Create: "createTool", ID: "name", Delete: "deleteTool"}), "createTool: chosen \"name\" of string\n  DELETE deleteTool" + strings.TrimPrefix(others, "\n  GET getTool")},
		"one without a create":      {declare(scenario.Resource{Create: "noOperation", ID: "name", Read: "getTool"}), `createTool: assigned "id" of string, inferred` + onTool},
		"one with a path of others": {declare(scenario.Resource{Create: "createTool", ID: "name", Read: "createTool"}), ""},
		"some are not inferred": {
			without("putTool", "deleteTool"),
			"createTool: assigned \"id\" of string, inferred\n  GET getTool\n  PATCH changeTool\n" +
				"getTool: {id} is of createTool\nchangeTool: {id} is of createTool",
		},
		"the deletion is left out": {
			leaveOut("deleteTool"),
			"createTool: assigned \"id\" of string, inferred\n  GET getTool\n  PATCH changeTool\n  PUT putTool\n" +
				"getTool: {id} is of createTool\nchangeTool: {id} is of createTool\nputTool: {id} is of createTool",
		},
	} {
		t.Run(name, func(t *testing.T) { checkLines(t, told(found(t, plainTool, c.declared)), c.want) })
	}
}

// Two resources may be read by one operation, and the options may give its identity.
func TestOneRead(t *testing.T) {
	t.Parallel()
	declared := Declarations{Resources: []scenario.Resource{
		{Create: "createTool", ID: "name", Read: "getTool"},
		{Create: "createCup", ID: "color", Read: "getTool"},
	}}
	checkLines(t, told(found(t, plainTool+cupsWith("", "CUPS"), declared, "id")), `createTool: chosen "name" of string
  GET getTool
createCup: chosen "color" of string
  GET getTool
getTool: {id} is of createCup`)
}

// An operation of a declared resource stays with it when another one is inferred.
func TestDeclaredChange(t *testing.T) {
	t.Parallel()
	declared := Declarations{Resources: []scenario.Resource{{Create: "createCup", ID: "color", Change: "changeTool"}}}
	checkLines(t, told(found(t, plainTool+cupsWith("", "CUPS"), declared)), `createCup: chosen "color" of string
  PATCH changeTool
createTool: assigned "id" of string, inferred
  DELETE deleteTool
  GET getTool
  PUT putTool
deleteTool: {id} is of createTool
getTool: {id} is of createTool
changeTool: {id} is of createCup
putTool: {id} is of createTool`)
}

// The shape of paths says what belongs together.
func TestShapes(t *testing.T) {
	t.Parallel()
	const one = `createNote: assigned "" of string, inferred
  GET getNote
getNote: {id} is of createNote`
	const post = `post: {operationId: createNote, responses: {"201": {description: A note., headers: {location: {schema: {type: string}}}}}}`
	const id = `parameters: [{name: id, in: path, required: true, schema: {type: string}}]`
	const get = `get: {operationId: getNote, responses: {"200": {description: A note.}}}`
	for name, c := range map[string]struct{ paths, want string }{
		"Location has the identity": {`
  /notes: {` + post + `}
  /notes/{id}: {` + id + `, ` + get + `}
`, one},
		"with slashes at the end": {`
  /notes/: {` + post + `}
  /notes/{id}/: {` + id + `, ` + get + `}
`, one},
		"nothing has it": {`
  /notes: {post: {operationId: createNote, responses: {"201": {description: A note.}}}}
  /notes/{id}: {` + id + `, ` + get + `}
`, ""},
		"another path": {`
  /notes: {` + post + `}
  /papers/{id}: {` + id + `, ` + get + `}
`, ""},
		"below the path": {`
  /notes: {` + post + `}
  /notes/{id}/text: {` + id + `, ` + get + `}
`, ""},
		"a patch of paths that exist": {`
  /notes: {` + post + `}
  /notes/{id}:
    ` + id + `
    ` + get + `
    patch: {operationId: changeNote, requestBody: {content: {application/json-patch+json: {schema: {type: array, items: {}}}}}, responses: {"200": {description: A note.}}}
`, one + "\nchangeNote: {id} is of createNote"},
		"a path of other things, too": {`
  /notes: {` + post + `}
  /notes/{id}: {` + id + `, ` + get + `}
  /{kind}/{id}:
    parameters: [{name: kind, in: path, required: true, schema: {type: string}}, {name: id, in: path, required: true, schema: {type: string}}]
    delete: {operationId: deleteAny, responses: {"204": {description: It is gone.}}}
`, one},
		"a name in two ways": {`
  /notes: {post: {operationId: createNote, responses: {"201": {description: A note., content: {application/json: {schema: {type: object, properties: {note-id: {type: string}}}}}}}}}
  /notes/{note_id}: {parameters: [{name: note_id, in: path, required: true, schema: {type: string}}], ` + get + `}
`, `createNote: assigned "note-id" of string, inferred
  GET getNote
getNote: {note_id} is of createNote`},
		"another name than that of the parameter": {`
  /notes: {post: {operationId: createNote, responses: {"201": {description: A note., content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}}}}}
  /notes/{idea}: {parameters: [{name: idea, in: path, required: true, schema: {type: string}}], ` + get + `}
`, strings.NewReplacer("{id}", "{idea}", `""`, `"id"`, "inferred", "inferred, guessed").Replace(one)},
		"another name, and a read shows that of the parameter": {`
  /notes: {post: {operationId: createNote, responses: {"201": {description: A note., content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}}}}}
  /notes/{idea}: {parameters: [{name: idea, in: path, required: true, schema: {type: string}}], get: {operationId: getNote, responses: {"200": {description: A note., content: {application/json: {schema: {type: object, properties: {idea: {type: string}}}}}}}}}
`, ""},
		"in a member that may be another thing": {`
  /notes: {post: {operationId: createNote, responses: {"201": {description: A note., content: {application/json: {schema: {type: object, properties: {owner: {type: object, properties: {id: {type: string}}}}}}}}}}}
  /notes/{id}: {` + id + `, ` + get + `}
`, strings.NewReplacer(`""`, `"id"`, "inferred", "inferred, guessed, gives /owner").Replace(one)},
		"paths with two names of the parameter": {`
  /notes: {` + post + `}
  /notes/{id}: {` + id + `, ` + get + `}
  /notes/{note}: {parameters: [{name: note, in: path, required: true, schema: {type: string}}], delete: {operationId: deleteNote, responses: {"204": {description: It is gone.}}}}
`, `createNote: assigned "" of string, inferred
  DELETE deleteNote
  GET getNote
getNote: {id} is of createNote
deleteNote: {note} is of createNote`},
		"it is only deleted": {`
  /notes: {` + post + `}
  /notes/{id}: {` + id + `, delete: {operationId: deleteNote, responses: {"204": {description: It is gone.}}}}
`, strings.NewReplacer("GET getNote", "DELETE deleteNote", "getNote", "deleteNote").Replace(one)},
		"it is only deleted, and has another name": {`
  /notes: {post: {operationId: createNote, responses: {"201": {description: A note., content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}}}}}
  /notes/{idea}: {parameters: [{name: idea, in: path, required: true, schema: {type: string}}], delete: {operationId: deleteNote, responses: {"204": {description: It is gone.}}}}
`, ""},
		"it is only deleted, and nothing has its identity": {`
  /notes: {post: {operationId: createNote, responses: {"201": {description: A note.}}}}
  /notes/{id}: {` + id + `, delete: {operationId: deleteNote, responses: {"204": {description: It is gone.}}}}
`, ""},
		"it is only deleted, and never created": {`
  /notes/{id}: {` + id + `, delete: {operationId: deleteNote, responses: {"204": {description: It is gone.}}}}
`, ""},
		"it is only put and deleted": {`
  /notes/{id}: {` + id + `, put: {operationId: putNote, responses: {"201": {description: A note.}}}, delete: {operationId: deleteNote, responses: {"204": {description: It is gone.}}}}
`, ""},
		"it is only deleted, below what no test creates": {`
  /books/{book}/notes: {parameters: [{name: book, in: path, required: true, schema: {type: string}}], ` + post + `}
  /books/{book}/notes/{id}: {parameters: [{name: book, in: path, required: true, schema: {type: string}}, {name: id, in: path, required: true, schema: {type: string}}], delete: {operationId: deleteNote, responses: {"204": {description: It is gone.}}}}
`, ""},
		"it is only changed": {`
  /notes: {` + post + `}
  /notes/{id}: {` + id + `, patch: {operationId: changeNote, responses: {"200": {description: A note.}}}}
`, ""},
		"PUT creates": {`
  /notes/{id}:
    ` + id + `
    ` + get + `
    put: {operationId: putNote, responses: {"201": {description: A note.}}}
`, `putNote: chosen "" of string, inferred
  GET getNote
  PUT putNote
getNote: {id} is of putNote
putNote: {id} is of putNote`},
	} {
		t.Run(name, func(t *testing.T) { checkLines(t, told(found(t, c.paths, Declarations{})), c.want) })
	}
}

// Bodies have a thing in a member that has its identity, if that is the only one.
func TestWrapped(t *testing.T) {
	t.Parallel()
	const note = "{type: object, properties: {id: {type: integer}, text: {type: string}}}"
	const attributes = "{type: object, properties: {type: {type: string}, id: {type: integer}, attributes: {type: object, properties: {text: {type: string}}}}}"
	const list = "{type: array, items: {type: object, properties: {id: {type: integer}}}}"
	in := func(name, schema string) string { return "{type: object, properties: {" + name + ": " + schema + "}}" }
	created := func(wrapping string) string {
		return `createNote: assigned "id" of integer, inferred` + wrapping + "\n  GET getNote"
	}
	for name, c := range map[string]struct{ sent, received, read, want string }{
		"nothing wraps it":             {in("text", "{type: string}"), note, note, created("")},
		"in a member":                  {in("text", "{type: string}"), in("data", note), note, created(", gives /data")},
		"in a member, also as read":    {in("text", "{type: string}"), in("data", note), in("data", note), created(", gives /data") + ", gives /data"},
		"in a member, also as sent":    {in("data", in("text", "{type: string}")), in("data", note), note, created(", gives /data, takes /data")},
		"in another member as sent":    {in("note", in("text", "{type: string}")), in("data", note), note, created(", gives /data, takes /note")},
		"in a member as sent alone":    {in("note", in("text", "{type: string}")), note, note, created(", takes /note")},
		"in a member that is no part":  {in("text", in("of", "{type: string}")), note, note, created("")},
		"its only member is a list":    {in("texts", "{type: array, items: {type: string}}"), note, note, created("")},
		"in one of two members":        {in("text", "{type: string}"), "{type: object, properties: {data: " + note + ", other: {type: object, properties: {key: {type: string}}}}}", note, created(", gives /data")},
		"in two members":               {in("text", "{type: string}"), "{type: object, properties: {data: " + note + ", other: " + note + "}}", note, ""},
		"beside a member that is sent": {in("text", "{type: string}"), "{type: object, properties: {text: {type: string}, owner: " + note + "}}", note, ""},
		"in attributes":                {in("data", attributes), in("data", attributes), attributes, created(", gives /data/attributes /data/id, takes /data/attributes /data/id") + ", gives /attributes /id"},
		"with attributes that are sent otherwise": {
			in("text", "{type: string}"), in("data", attributes), note, created(", gives /data/attributes /data/id"),
		},
		"with attributes and more": {in("text", "{type: string}"), in("data", strings.Replace(attributes, "type: {type", "kind: {type", 1)), note, created(", gives /data")},
		"a list of them":           {in("text", "{type: string}"), in("data", list), note, ""},
	} {
		paths := strings.NewReplacer("SENT", c.sent, "RECEIVED", c.received, "READ", c.read).Replace(`
  /notes:
    post:
      operationId: createNote
      requestBody: {content: {application/json: {schema: SENT}}}
      responses: {"201": {description: A note., content: {application/json: {schema: RECEIVED}}}}
  /notes/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    get: {operationId: getNote, responses: {"200": {description: A note., content: {application/json: {schema: READ}}}}}
`)
		want := c.want
		if want != "" {
			want += "\ngetNote: {id} is of createNote"
		}
		t.Run(name, func(t *testing.T) { checkLines(t, told(found(t, paths, Declarations{})), want) })
	}
}

// belowTools are what is below a tool: parts, and an action.
const belowTools = `
  /tools/{tool}/parts:
    parameters: [&tool {name: tool, in: path, required: true, schema: {type: string}}]
    post: {operationId: createPart, responses: {"201": &part {description: A part., content: {application/json: {schema: {type: object, properties: {partId: {type: integer}, id: {type: integer}}}}}}}}
  /tools/{tool}/parts/{partId}:
    parameters: [*tool, &id {name: partId, in: path, required: true, schema: {type: integer}}]
    get: {operationId: getPart, responses: {"200": *part}}
  /tools/{tool}/parts/{partId}/turn:
    parameters: [*tool, *id]
    post: {operationId: turnPart, responses: {"200": *part}}
  /tools/{tool}/shop/{shop}:
    parameters: [*tool, {name: shop, in: path, required: true, schema: {type: string}}]
    post: {operationId: sell, responses: {"200": *part}}
  /shops/{shop}:
    parameters: [{name: shop, in: path, required: true, schema: {type: string}}]
    get: {operationId: getShop, responses: {"200": *part}}
`

// What is below a resource is known with it, and not without.
func TestBelow(t *testing.T) {
	t.Parallel()
	const part = `
createPart: assigned "partId" of integer, inferredBELOW
  GET getPart`
	const onPart = `
createPart: {tool} is of createTool
getPart: {partId} is of createPart
sell: {tool} is of createTool
turnPart: {partId} is of createPart`
	tool, toolUses, _ := strings.Cut(onTool, "\ndeleteTool:")
	toolUses = "\ndeleteTool:" + toolUses
	created := `createTool: assigned "id" of string, inferred` + tool
	for name, c := range map[string]struct {
		paths    string
		declared Declarations
		given    []string
		want     string
	}{
		"below a tool": {
			paths: plainTool + belowTools,
			want:  created + strings.Replace(part, "BELOW", ", below createTool", 1) + toolUses + onPart,
		},
		"the tool is unknown": {paths: belowTools},
		"the tool is given":   {paths: belowTools, given: []string{"tool"}, want: strings.Replace(part, "BELOW", "", 1) + "\ngetPart: {partId} is of createPart\nturnPart: {partId} is of createPart"},
		"the tool is given, and created": {
			paths: plainTool + belowTools, given: []string{"tool"},
			want: created + strings.Replace(part, "BELOW", "", 1) + toolUses + "\ngetPart: {partId} is of createPart\nturnPart: {partId} is of createPart",
		},
		"the shop is given": {
			paths: plainTool + belowTools, given: []string{"shop"},
			want: created + strings.Replace(part, "BELOW", ", below createTool", 1) + toolUses + strings.Replace(onPart, "\nsell: {tool} is of createTool", "", 1),
		},
		"some are not inferred": {
			paths: plainTool + belowTools,
			declared: Declarations{
				Lists: []scenario.List{{Operation: "turnPart"}}, LeaveOut: map[string]string{"sell": "a reason"},
			},
			want: created + strings.Replace(part, "BELOW", ", below createTool", 1) + toolUses + "\ncreatePart: {tool} is of createTool\ngetPart: {partId} is of createPart",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := told(found(t, c.paths, c.declared, c.given...))
			checkLines(t, slices.Sorted(slices.Values(got)), strings.Join(slices.Sorted(strings.Lines(c.want+"\n")), ""))
		})
	}
}
