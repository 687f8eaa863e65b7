package resources

import (
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// keysDocument has a link from the create of a key to what reads it, and links that cannot be followed.
const keysDocument = `
  /keys:
    post:
      operationId: createKey
      requestBody: {content: {application/json: {schema: {type: object, properties: {name: {type: string}}}}}}
      responses: {"201": {description: A key., links: {read: {operationId: OPERATION, parameters: {PARAMETER: EXPRESSION}}}}}
    get: {operationId: listKeys, responses: {"200": {description: Keys., links: {read: {operationId: open, parameters: {key: $response.body#/first}}}}}}
  /opened/{key}:
    get:
      operationId: open
      parameters: [{name: key, in: path, required: true, schema: {type: integer}}]
      responses: {"200": {description: It is open.}}
  /doors/{door}/{key}:
    get:
      operationId: tryKey
      parameters: [{name: door, in: path, required: true, schema: {type: integer}}, {name: key, in: path, required: true, schema: {type: integer}}]
      responses: {"200": {description: It is open.}}
  /doors/{door}:
    post:
      operationId: createDoor
      parameters: [{name: door, in: path, required: true, schema: {type: integer}}]
      responses: {"201": {description: A door., links: {read: {operationId: open, parameters: {key: $response.body#/id}}}}}
`

// A link says what leads where, if a test can follow it.
func TestLinks(t *testing.T) {
	t.Parallel()
	fromOthers := []string{
		"createDoor, link to open: only a POST without path parameters can be followed",
		"listKeys, link to open: only a POST without path parameters can be followed",
	}
	const assigned = `createKey: assigned "id" of integer
  GET open
open: {key} is of createKey`
	const chosen = `createKey: chosen "name" of string
  GET open
open: {key} is of createKey`
	for _, c := range []struct{ operation, parameter, expression, want, unsupported string }{
		{"open", "key", "$response.body#/id", assigned, ""},
		{"open", "path.key", "$response.body#/id", assigned, ""},
		{"open", "key", "$request.body#/name", chosen, ""},
		{"open", "key", "$response.header.Location", "", "createKey, link to open by $response.header.Location"},
		{"open", "key", "$request.query.id", "", "createKey, link to open by $request.query.id"},
		{"open", "key", "$response", "", "createKey, link to open by $response"},
		{"open", "key", "$url.body#/id", "", "createKey, link to open by $url.body#/id"},
		{"open", "key", "$response.body#/data/id", strings.Replace(assigned, "integer", "integer, gives /data", 1), ""},
		{"open", "key", "$request.body#/data/name", strings.Replace(chosen, "string", "integer, takes /data", 1), ""},
		{"tryKey", "key", "$response.body#/id", "", "createKey, link to tryKey: only a POST without path parameters can be followed"},
		{"noOperation", "key", "$response.body#/id", "", "createKey, link to noOperation: only a POST without path parameters can be followed"},
		{"open", "lock", "$response.body#/id", "", "createKey, link to open by the parameter lock, which its path does not have"},
		{"open", "key: $response.body#/id, lock", "$response.body#/name", assigned, "createKey, link to open by the parameter lock, which its path does not have"},
	} {
		paths := strings.NewReplacer("OPERATION", c.operation, "PARAMETER", c.parameter, "EXPRESSION", c.expression).Replace(keysDocument)
		t.Run(c.operation+" by "+c.expression, func(t *testing.T) {
			s := found(t, paths, Declarations{})
			checkLines(t, told(s), c.want)
			var unsupported []string
			for _, promise := range s.document.Unsupported {
				text := strings.TrimPrefix(promise.Operation+", "+promise.Place, ", ")
				if !slices.Contains(fromOthers, text) && !strings.HasPrefix(text, "the document, is not valid") {
					unsupported = append(unsupported, text)
				}
			}
			checkLines(t, unsupported, c.unsupported)
		})
	}
}

// A declared resource comes after the links, and has what they do not say.
func TestLookups(t *testing.T) {
	t.Parallel()
	s := found(t, plainTool+cupsWith("", "CUPS"), Declarations{
		Resources: []scenario.Resource{{Create: "createTool", ID: "name", Read: "getTool"}},
	})
	createTool := s.document.Operation("createTool")
	getTool := s.document.Operation("getTool")
	listCups := s.document.Operation("listCups")
	tool := s.CreatedBy("createTool")
	if s.Of(createTool) != tool || s.Of(getTool) != tool || s.Of(listCups) != nil || tool == nil {
		t.Errorf("resources of operations are %v, %v and %v", s.Of(createTool), s.Of(getTool), s.Of(listCups))
	}
	if tool.Create != createTool || s.CreatedBy("getTool") != nil || s.CreatedBy("listCups") != nil {
		t.Error("an operation creates what it should not, or does not what it should")
	}
	if s.FirstChosen() != tool || found(t, plainTool, Declarations{}).FirstChosen() != nil {
		t.Error("the first resource whose identity is chosen is another one")
	}
	if !s.values.IsIdentity(tool.Identity) {
		t.Error("the name of a tool is no identity")
	}
	if s.Infers(nil) || !s.Infers(getTool) {
		t.Error("inferred is what should not be")
	}
}

// What no client may send is no identity that a client chooses: the path says what that looks like.
func TestReadOnlyIdentity(t *testing.T) {
	t.Parallel()
	readOnly := strings.NewReplacer("REQUIRED", "name", "SENT", "integer, readOnly: true", "RECEIVED", "string", "IDENTITY", "string").Replace(createTool + getTool)
	declared := Declarations{Resources: []scenario.Resource{{Create: "createTool", ID: "id", Read: "getTool"}}}
	if identity := found(t, readOnly, declared).CreatedBy("createTool").Identity; !(schema.TypeOf(identity) == "string") {
		t.Errorf("what no client sends is the identity: %v", schema.TypeOf(identity))
	}
}

// An operation is left out by the options, or for what its document lacks.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	s := found(t, plainTool, Declarations{LeaveOut: map[string]string{"putTool": "a reason"}})
	put := s.document.Operation("putTool")
	get := s.document.Operation("getTool")
	if !s.IsLeftOut(put) || s.IsLeftOut(get) {
		t.Errorf("left out: %v and %v", s.IsLeftOut(put), s.IsLeftOut(get))
	}
	get.NeedsUnread = true
	if !s.IsLeftOut(get) {
		t.Error("what needs more than the document has is not left out")
	}
}

// What a link says of an operation is not inferred otherwise.
func TestLinkedElsewhere(t *testing.T) {
	t.Parallel()
	const post = `
  /opened:
    post: {operationId: createOpened, responses: {"201": {description: It is there., headers: {Location: {schema: {type: string}}}}}}
`
	paths := strings.NewReplacer("OPERATION", "open", "PARAMETER", "key", "EXPRESSION", "$response.body#/id").Replace(keysDocument)
	s := found(t, paths+post, Declarations{})
	checkLines(t, told(s), "createKey: assigned \"id\" of integer\n  GET open\nopen: {key} is of createKey")
	checkLines(t, s.Inferred, "")
}

// What a link does not say is inferred beside it.
func TestLinkedAndInferred(t *testing.T) {
	t.Parallel()
	linked := strings.Replace(plainTool, `"201": {description: A tool.,`, `"201": {description: A tool., links: {read: {operationId: getTool, parameters: {id: $response.body#/id}}},`, 1)
	checkLines(t, told(found(t, linked, Declarations{})), `createTool: assigned "id" of string`+onTool)
}

// Of a path whose parameter is not described, or of a list without a schema, nothing is inferred.
func TestNothingInferred(t *testing.T) {
	t.Parallel()
	undescribed := strings.Replace(plainTool, "    parameters: [{name: id, in: path, required: true, schema: {type: string}}]\n", "", 1)
	checkLines(t, told(found(t, undescribed, Declarations{})), "")
	declared := Declarations{Resources: []scenario.Resource{{Create: "createTool", Read: "getTool", Assigned: true}}}
	checkLines(t, told(found(t, undescribed, declared)), "")
	s := found(t, strings.Replace(cupsWith("", "CUPS"), "application/json: {schema: {type: array", "text/plain: {schema: {type: array", 1), Declarations{})
	checkLines(t, toldLists(s), "")
}
