package resources

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A response says what was created, and the document at which path it can be deleted.
func TestCreated(t *testing.T) {
	t.Parallel()
	chosen := strings.NewReplacer("REQUIRED", "id", "SENT", "string", "RECEIVED", "string", "IDENTITY", "string").Replace(createTool + getTool)
	part := strings.Replace(belowTools, "    get: {operationId: getPart", "    delete: {operationId: deletePart, responses: {\"204\": {description: It is gone.}}}\n    get: {operationId: getPart", 1)
	undeletable := strings.Replace(plainTool, "    delete:", "    x-delete:", 1)
	location := http.Header{"Location": {"/tools/l1"}}
	for name, c := range map[string]struct {
		paths, operation, path string
		status                 int
		sent, received         string
		header                 http.Header
		want                   string // the path
	}{
		"the service assigns the identity": {plainTool, "createTool", "/tools", 201, `{"id": "s1"}`, `{"id": "r1"}`, location, "/tools/r1"},
		"Location has it":                  {plainTool, "createTool", "/tools", 201, `{"id": "s1"}`, `{}`, location, "/tools/l1"},
		"nothing has it":                   {plainTool, "createTool", "/tools", 201, `{"id": "s1"}`, `{}`, nil, ""},
		"the client chooses it":            {chosen, "createTool", "/tools", 201, `{"id": "s1"}`, `{"id": "r1"}`, location, "/tools/s1"},
		"with another status":              {chosen, "createTool", "/tools", 200, `{"id": "s1"}`, `{}`, nil, "/tools/s1"},
		"a PUT has created":                {plainTool, "putTool", "/tools/p1", 201, `{"id": "s1"}`, `{"id": "r1"}`, nil, "/tools/p1"},
		"a PUT has replaced":               {plainTool, "putTool", "/tools/p1", 200, `{"id": "s1"}`, `{"id": "r1"}`, nil, ""},
		"a PATCH creates nothing":          {plainTool, "changeTool", "/tools/p1", 201, `{"id": "s1"}`, `{"id": "r1"}`, nil, ""},
		"a redirect creates nothing":       {chosen, "createTool", "/tools", 300, `{"id": "s1"}`, ``, nil, ""},
		"no DELETE":                        {undeletable, "createTool", "/tools", 201, `{}`, `{"id": "r1"}`, nil, ""},
		"below another one":                {plainTool + part, "createPart", "/tools/t1/parts", 201, `{}`, `{"partId": 7}`, nil, ""},
		"an operation that is on no thing": {plainTool + belowTools, "getShop", "/shops/1", 200, ``, `{"id": 7}`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := found(t, c.paths, Declarations{})
			operation := s.document.Operation(c.operation)
			x := scenario.Interaction{Method: operation.Method, Path: c.path, RequestBody: []byte(c.sent)}
			x.Receive(c.status, http.Header{"Content-Type": {"application/json"}}, []byte(c.received))
			for name, values := range c.header {
				x.Header[name] = values
			}
			thing, path := s.Created(operation, x)
			if path != c.want || (thing != nil) != (c.want != "") {
				t.Errorf("it is %v at %q, want %q", thing, path, c.want)
			}
		})
	}
}
