package document

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/internal/testing/golden"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// TestRead compares what is read of each document in testdata, and what is reported of it, with a file beside it.
func TestRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	must.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must.NoError(t, err)
		d, err := Parse(text)
		must.NoError(t, err)
		golden.Compare(t, strings.TrimSuffix(file, ".yaml")+".txt", described(t, d))
	}
}

// described is a document in words.
func described(t *testing.T, d *Document) string {
	t.Helper()
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("%s, version %s, at %q of %v, with the headers %v", d.Title, d.Version, d.Base, d.Servers, slices.Sorted(maps.Keys(d.Headers)))
	var unsupported []string
	for _, promise := range d.Unsupported {
		unsupported = append(unsupported, nameOf(promise))
	}
	slices.Sort(unsupported)
	for _, reported := range unsupported {
		line("not tested: %.150s", reported)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Schemes)) {
		line("scheme %s in the header %q, as %q", name, CredentialHeader(d.Scheme(name)), d.Scheme(name).Sent("a:b"))
	}
	line("challenges %v", slices.Sorted(slices.Values(d.ChallengeSchemes())))
	for _, o := range d.Operations {
		line("\n%s: %s %s, of %q with %v", o.ID, o.Method, o.Template, o.Tags, o.Extensions)
		facts := map[string]bool{
			"needs what is not read": o.NeedsUnread, "needs If-Match": o.NeedsIfMatch(), "needs a body": o.NeedsBody(), "has JSON": o.HasJSON(),
			"streams": o.Streams(), "sends Link": o.Sends("Link"), "sends Location": o.SendsLocation(), "is of one thing": o.EndsWithParameter(),
			"describes a body": o.Content != nil, "says no security": o.SaysNoSecurity(), "lists 204": o.Lists(204),
		}
		for _, fact := range slices.Sorted(maps.Keys(facts)) {
			if facts[fact] {
				line("  %s", fact)
			}
		}
		for i, name := range o.PathNames {
			line("  in its path %s, at %s", name, o.Prefix(i))
		}
		if above, found := o.Above(); found {
			line("  is below %s", above)
		}
		line("  opened by %v, %s", o.Requirements(), map[bool]string{true: "open", false: "closed"}[o.IsOpen()])
		for _, parameter := range o.Parameters {
			wanted, isJSON := ParameterSchema(parameter)
			example, has := o.ParameterExamples()[parameter.Name]
			two, _ := Written(parameter, []any{"a", "b"})
			line("  parameter %s in %s: %s, required %t, JSON %t, example %q %t, two as %q", parameter.Name, parameter.In, inWords(d, wanted), parameter.Required, isJSON, example, has, two)
			if o.Parameter(parameter.In, parameter.Name) != parameter {
				t.Errorf("%s finds another parameter %s in %s", o.ID, parameter.Name, parameter.In)
			}
		}
		examples, named := o.ExamplesOfBody(), o.BodyExamples()
		if mediaType, body := o.Body(); body != nil {
			line("  body of %s: %.300s", mediaType, inWords(d, body))
			line("  examples %v, by name %v", inJSON(examples), slices.Sorted(maps.Keys(named)))
		}
		for _, status := range []int{200, 201, 202, 204, 302, 400, 404, 500} {
			key, response := o.ResponseAs(status)
			if response == nil {
				if o.Succeeds(status) || o.ResultName(status) != "" {
					line("  %d is not described, success %t, result %s", status, o.Succeeds(status), o.ResultName(status))
				}
				continue
			}
			line("  %d as %s, success %t, of %v, result %s %.80s", status, key, o.Succeeds(status), slices.Sorted(maps.Keys(response.Content)), o.ResultName(status), inWords(d, o.ResultOf(status)))
		}
		for _, status := range o.Statuses() {
			for name, link := range o.Responses[status].Links {
				line("  after %s, %s leads to %s with %v", status, name, link.OperationID, link.Parameters)
			}
		}
		line("  statuses %v, result %.80s", o.Statuses(), inWords(d, o.Result()))
	}
	line("")
	for _, name := range jsonvalue.Names(d.reader.component("schemas")) {
		component := d.Component(name, schema.Request)
		line("schema %s: %.120s", name, d.TextOf(component))
		for _, member := range slices.Sorted(maps.Keys(component.Properties)) {
			line("  %s: %s", member, d.TextOf(component.Properties[member]))
		}
	}
	return text.String()
}

// inWords is a schema as JSON, or a dash for none.
func inWords(d *Document, described *schema.Schema) string {
	if described == nil {
		return "-"
	}
	return cmp.Or(d.TextOf(described), "{}")
}

// inJSON is a value as JSON, or nothing for none.
func inJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
