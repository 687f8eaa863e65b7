package resources

import (
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
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
