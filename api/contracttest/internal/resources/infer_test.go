package resources

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

const jarsDocument = `
openapi: 3.0.3
info: {title: Jars, version: "1"}
paths:
  /jars/{label}:
    parameters: [{name: label, in: path, required: true, schema: {type: string}}]
    get: {operationId: getJar, responses: {"200": {description: A jar.}}}
    put: {operationId: putJar, responses: {RESPONSES}}
`

// A PUT that refuses what does not exist creates nothing, unless the document says that it creates, too: then it is
// something else that may not exist.
func TestPutCreates(t *testing.T) {
	t.Parallel()
	for statuses, want := range map[string][]string{
		"200":         {"putJar"},
		"200 404":     nil,
		"200 201 404": {"putJar"},
	} {
		var responses []string
		for status := range strings.SplitSeq(statuses, " ") {
			responses = append(responses, `"`+status+`": {description: A status.}`)
		}
		read, err := document.Parse([]byte(strings.Replace(jarsDocument, "RESPONSES", strings.Join(responses, ", "), 1)))
		must.NoError(t, err)
		var creates []string
		for _, x := range Find(read, values.New(values.Settings{}), Declarations{}).All {
			creates = append(creates, x.Create.ID)
		}
		if !slices.Equal(creates, want) {
			t.Errorf("with %s the creates are %v, want %v", statuses, creates, want)
		}
	}
}

// People read what was inferred, and of what nothing was, and can take from a stub what the options should say.
func TestSentences(t *testing.T) {
	t.Parallel()
	lost := ""
	for i := range 7 {
		lost += strings.NewReplacer("NUMBER", fmt.Sprint(i)).Replace(`
  /lost/NUMBER/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {operationId: getNUMBER, responses: {"200": {description: It.}}}
`)
	}
	const guessed = `
  /spoons: {post: {operationId: createSpoon, responses: {"201": {description: A spoon., content: {application/json: {schema: {type: object, properties: {of: {type: string}}}}}}}}}
  /spoons/{name}:
    parameters: [{name: name, in: path, required: true, schema: {type: string}}]
    get: {operationId: getSpoon, responses: {"200": {description: A spoon.}}}
  /houses/{house}/doors: {parameters: [&house {name: house, in: path, required: true, schema: {type: string}}], post: {operationId: createDoor, responses: {"201": {description: A door.}}}}
  /houses/{house}/doors/{id}: {parameters: [*house, {name: id, in: path, required: true, schema: {type: string}}], get: {operationId: getDoor, responses: {"200": {description: A door.}}}}
`
	const list = "{type: object, properties: {cups: CUPS, next: {type: string}}}"
	query := query("limit", "type: integer") + ", " + query("cursor", "type: string") + ", " + query("color", "type: string")
	for name, c := range map[string]struct {
		paths, inferred, missed, stub string
		declared                      Declarations
	}{
		"a resource and a list": {
			paths: cupsWith(query, list),
			inferred: `createCup creates what {cupId} names in getCup: it is in the member id of its response, which the service assigns
listCups lists what createCup creates in the member cups; limit is the most items of a page; cursor is the next of the page before; color selects by the member color`,
		},
		"a list of the items after one": {
			paths: cupsWith(`{name: after, in: query, schema: {type: string}}`, "CUPS"),
			inferred: `createCup creates what {cupId} names in getCup: it is in the member id of its response, which the service assigns
listCups lists what createCup creates; after is the id of the item before`,
		},
		"one that PUT creates": {
			paths:    strings.Replace(jarsDocument[strings.Index(jarsDocument, "  /jars"):], "RESPONSES", `"200": {description: A jar.}`, 1),
			inferred: `putJar creates what {label} names in getJar: it is in its path, which the client chooses`,
		},
		"one without a list": {
			paths:    cupsWith("", "{type: array, items: {type: string}}"),
			inferred: `createCup creates what {cupId} names in getCup: it is in the member id of its response, which the service assigns`,
			missed:   "listCups: no array of its response, or more than one, has the member that identifies what createCup creates",
			stub:     `{"Lists":[{"Operation":"listCups","Create":"createCup","ID":"id","Items":"…"}]}`,
		},
		"many": {
			paths: lost, missed: "get0, get1, get2, get3, get4 and 2 more: no operation at the path above creates what it reads",
		},
		"one is left out": {
			paths: lost, missed: "get0, get1, get2, get4, get5 and 1 more: no operation at the path above creates what it reads",
			declared: Declarations{LeaveOut: map[string]string{"get3": "a reason"}},
		},
		"one is declared elsewhere": {
			paths: lost + cupsWith("", "CUPS"), missed: "get0, get1, get2, get4, get5 and 1 more: no operation at the path above creates what it reads",
			inferred: "listCups lists what createCup creates",
			declared: Declarations{Resources: []scenario.Resource{{Create: "createCup", ID: "id", Assigned: true, Read: "get3"}}},
		},
		"one is declared": {
			paths: guessed, missed: "getDoor: no test can create what its path names before",
			declared: Declarations{Resources: []scenario.Resource{{Create: "createSpoon", ID: "of", Assigned: true, Read: "getSpoon"}}},
		},
		"nothing is known": {
			paths: guessed,
			missed: `getSpoon: no member of what createSpoon takes or responds with identifies what it reads
getDoor: no test can create what its path names before`,
			stub: `{"Resources":[{"Create":"createSpoon","ID":"…","Assigned":true,"Read":"getSpoon"}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := found(t, c.paths, c.declared)
			checkLines(t, s.Inferred, c.inferred)
			checkLines(t, s.NotInferred(), c.missed)
			if got := s.Stub(); got != c.stub {
				t.Errorf("the stub is %s, want %s", got, c.stub)
			}
		})
	}
}

const accountsDocument = `
openapi: 3.0.3
info: {title: Accounts, version: "1"}
paths:
  /accounts/WHERE:
    post:
      operationId: makeAccount
      requestBody: {content: {application/json: {schema: {type: object, properties: {name: {type: string}}}}}}
      responses: {"200": {description: An account.}}
  /accounts/{name}:
    parameters: [{name: name, in: path, required: true, schema: {type: string}}]
    get: {operationId: getAccount, responses: {"200": {description: An account.}}}
`

// A registration creates an account, and a search creates none.
func TestRegistrationCreates(t *testing.T) {
	t.Parallel()
	for where, want := range map[string]int{"register": 1, "signup": 1, "search": 0} {
		read, err := document.Parse([]byte(strings.Replace(accountsDocument, "WHERE", where, 1)))
		must.NoError(t, err)
		if found := Find(read, values.New(values.Settings{}), Declarations{}).All; len(found) != want {
			t.Errorf("POST /accounts/%s creates %d resources, want %d", where, len(found), want)
		}
	}
}
