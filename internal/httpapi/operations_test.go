package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// The program does not start with a document that it cannot enforce. What package contract refuses is tested there.
func TestOperationsAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"no security":              {"security:\n  - bearerAuth: []\n", "", "must have one security scheme"},
		"security optional":        {"  - bearerAuth: []\n", "  - bearerAuth: []\n  - {}\n", "must have one security scheme"},
		"a scheme that is unknown": {"scheme: bearer", "scheme: basic", `"basic" is not implemented`},
		"a scope that is unknown":  {"x-required-scope: write", "x-required-scope: admin", `"admin" is not a scope`},
		"no scope":                 {"      x-required-scope: write\n", "", `"" is not a scope`},
		"an operation left open":   {"x-required-scope: write", "x-required-scope: write\n      security: []", "must have one security scheme"},
	} {
		t.Run(name, func(t *testing.T) {
			document := bytes.Replace(api.Document, []byte(c.old), []byte(c.new), 1)
			if bytes.Equal(document, api.Document) {
				t.Fatalf("the document has no %q", c.old)
			}
			checker, err := contract.New(document, contract.Options{
				Authorize: func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
					return nil, nil
				},
			})
			must.NoError(t, err)
			_, err = operationsOf(checker)
			expect.Message(t, "operationsOf", err, c.want)
		})
	}
}

// The lengths of texts, the sizes of pages, and which operations wait are those of the document.
func TestNumbersOfTheDocument(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(api.Document)
	must.NoError(t, err)
	schemas := document.Components.Schemas
	texts := schemas["NewPlant"].Value.Properties
	if name, tag := *texts["name"].Value.MaxLength, *texts["tag"].Value.MaxLength; name != plant.MaxName || tag != plant.MaxTag {
		t.Errorf("names and tags have at most %d and %d characters, in package plant %d and %d", name, tag, plant.MaxName, plant.MaxTag)
	}
	for path, items := range map[string]*openapi3.Schema{
		"/plants":  schemas["StoredPlants"].Value,
		"/tags":    schemas["Tags"].Value,
		"/changes": schemas["Changes"].Value.Properties["changes"].Value,

		"/plants/{id}/history": schemas["History"].Value,
	} {
		limit := document.Paths.Find(path).Get.Parameters.GetByInAndName("query", "limit").Schema.Value
		if normal, most := limit.Default.(float64), *items.MaxItems; normal != normalPage || most != mostOnPage {
			t.Errorf("a page of %s has %v items, or at most %d, want %d and %d", path, normal, most, normalPage, mostOnPage)
		}
	}
	for path, item := range document.Paths.Map() {
		for method, described := range item.Operations() {
			success := described.Responses.Status(http.StatusOK)
			isStream := success != nil && success.Value.Content[eventStreamType] != nil
			hasWait := described.Parameters.GetByInAndName("query", "wait") != nil
			if waiting[described.OperationID] != (isStream || hasWait) {
				t.Errorf("%s %s waits: %v", method, path, waiting[described.OperationID])
			}
		}
	}
}

// The description of the error codes has a row for each of them. TestCodes of the client has their names.
func TestErrorCodesAreDescribed(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(api.Document)
	must.NoError(t, err)
	schema := doc.Components.Schemas["ErrorCode"].Value
	for _, code := range schema.Enum {
		if row := fmt.Sprintf("\n| %v | ", code); !strings.Contains(schema.Description, row) {
			t.Errorf("the description has no row for %v", code)
		}
	}
}
