// Package tools pins the developer tools, and tests that `make compat` finds
// breaking changes.
package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// Each of these edits of the document breaks a client. make compat must fail for
// each of them, with the reason given here.
var breaking = map[string]struct{ old, new, want string }{
	"an operation is gone":               {"/plants:\n    get:", "/plant:\n    get:", "api-path-removed-without-deprecation"},
	"an operation has another name":      {"operationId: createPlant", "operationId: makePlant", "api-operation-id-removed"},
	"a success has another status":       {`        "200":` + "\n          description: The plant is stored.", `        "201":` + "\n          description: The plant is stored.", "response-success-status-removed"},
	"a second success":                   {"belongs to another plant}\n        \"401\":", "belongs to another plant}\n        \"202\":\n          description: later\n        \"401\":", "response-success-status-added"},
	"a member is required":               {"required: [id, name]", "required: [id, name, tag]", "request-property-became-required"},
	"a member has another type":          {"type: integer\n          format: int64\n          description: Identification", "type: string\n          description: Identification", "request-property-type-changed"},
	"a number is smaller":                {"format: int64\n          description: Identification", "format: int32\n          description: Identification", "request-property-type-changed"},
	"a name must be shorter":             {"maxLength: 1000", "maxLength: 999", "maxLength was set to `999`"},
	"a tag must be shorter":              {"maxLength: 256", "maxLength: 255", "maxLength was set to `255`"},
	"a pattern is demanded":              {"maxLength: 1000\n          example: Ficus lyrata", "maxLength: 1000\n          pattern: ^[A-Z]\n          example: Ficus lyrata", "request-property-pattern-added"},
	"a range is demanded":                {"format: int64\n          description: Identification", "format: int64\n          minimum: 1\n          description: Identification", "request-property-min-set"},
	"an answer lost an optional member":  {"        tag:\n          type: string\n          description: Tag to specify the type, of at most 256 characters (Unicode code points)\n          maxLength: 256\n          example: Moraceae\n      example: {name: Ficus lyrata, tag: Moraceae}", "      example: {name: Ficus lyrata}", "response-optional-property-removed"},
	"an answer may lack a member":        {"required: [name]", "required: []", "response-property-became-optional"},
	"an error number is an enum":         {"format: int32\n          description: Numeric", "format: int32\n          enum: [40001]\n          description: Numeric", "response-property-enum"},
	"an operation has its own security":  {"      x-required-scope: write\n", "      x-required-scope: write\n      security: [{bearerAuth: []}, {other: []}]\n", "api-security-added"},
	"the whole service has another door": {"security:\n  - bearerAuth: []", "security:\n  - other: []", "api-global-security-added"},
	"a parameter has another default":    {"default: 100", "default: 50", "request-parameter-default-value-changed"},
	"a parameter has no default":         {"            default: 100\n", "", "request-parameter-default-value-removed"},
	"an operation needs another scope":   {"x-required-scope: read", "x-required-scope: write", "required-scope-changed"},
	"an error code is gone":              {"enum: [40001, 40002,", "enum: [40002,", "enum-member-removed"},
	"a scope is gone":                    {"enum: [read, write]", "enum: [read]", "enum-member-removed"},
	"a header has another pattern":       {`pattern: '^"[0-9a-v]+"$'`, `pattern: '^"[0-9a-z]+"$'`, "response-header-changed"},
	"a header has another value":         {`enum: ["private, no-cache"]`, `enum: ["no-cache"]`, "response-header-changed"},
	"a failure is another media type":    {"application/json:\n              schema:\n                $ref: \"#/components/schemas/Error\"\n              examples:\n                malformed", "text/plain:\n              schema:\n                $ref: \"#/components/schemas/Error\"\n              examples:\n                malformed", "response-media-type-removed"},
}

func TestCompatFailsOnBreakingChange(t *testing.T) {
	root, err := filepath.Abs("../../..")
	must.NoError(t, err)
	document, err := os.ReadFile(filepath.Join(root, "api/openapi.yaml"))
	must.NoError(t, err)
	compat := func(t *testing.T, document string) (string, error) {
		path := filepath.Join(t.TempDir(), "openapi.yaml")
		must.NoError(t, os.WriteFile(path, []byte(document), 0o600))
		out, err := program.Command(t, "make", "--no-print-directory", "-C", root, "compat", "DOCUMENT="+path).CombinedOutput()
		return string(out), err
	}
	if out, err := compat(t, string(document)); err != nil {
		t.Fatalf("the document as it stands is refused: %s", out)
	}
	for name, edit := range breaking {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Everywhere: a change of an operation that no release has breaks no client.
			edited := strings.ReplaceAll(string(document), edit.old, edit.new)
			if edited == string(document) {
				t.Fatalf("the document has no %q to edit", edit.old)
			}
			out, err := compat(t, edited)
			if err == nil || !strings.Contains(out, edit.want) {
				t.Errorf("make compat says %v, want %q:\n%s", err, edit.want, out)
			}
		})
	}
}

// A shallow clone may lack the last release, so it proves nothing.
func TestCompatNeedsTheReleases(t *testing.T) {
	clone := filepath.Join(t.TempDir(), "clone")
	root, err := filepath.Abs("../../..")
	must.NoError(t, err)
	program.Finish(t, program.Command(t, "git", "clone", "-q", "--depth", "1", "file://"+root, clone))
	out, err := program.Command(t, "make", "--no-print-directory", "-C", clone, "compat").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "git fetch --unshallow") {
		t.Errorf("make compat in a shallow clone says %v:\n%s", err, out)
	}
}
