package values

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schematest"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// parameterOf reads a parameter.
func parameterOf(t *testing.T, text string) *document.Parameter {
	t.Helper()
	return schematest.Parameter(t, text)
}

// Of each parameter of the table, the texts that are sent for each promise. Before some there is that the service is
// strict. Three dots are a demand.
func TestParameterTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/parameters.txt")
	must.NoError(t, err)
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		first, want, _ := strings.Cut(part, "\n")
		described, isStrict := strings.CutPrefix(first, "strict ")
		g := New(Settings{Rules: scenario.Rules{StrictParameters: isStrict}, Values: map[string]string{"given": "7"}})
		var lines []string
		texts := map[string]string{}
		for _, v := range g.ParameterVariants(parameterOf(t, described)) {
			promise := report.Name(v.Promise)
			if !slices.Contains(lines, promise) {
				lines = append(lines, promise)
			}
			sent := v.Text
			if v.Demand {
				sent = "..."
			}
			if len(sent) > 120 {
				sent = fmt.Sprint(len(sent), " bytes")
			}
			texts[promise] += " " + sent
		}
		for i, promise := range lines {
			lines[i] = promise + ":" + texts[promise]
		}
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("%s\nhas\n%s\nwant\n%s\n", first, got, want)
		}
	}
}

// The plainest text of a parameter is a given one, an example, or that of its schema.
func TestBaseParameter(t *testing.T) {
	t.Parallel()
	g := New(Settings{Values: map[string]string{"given": "7"}})
	for _, c := range []struct{ parameter, want string }{
		{`{"name":"p","in":"query","schema":{"type":"integer","minimum":3}}`, "p=3"},
		{`{"name":"p","in":"query","example":4,"schema":{"type":"integer","example":5}}`, "p=4"},
		{`{"name":"p","in":"query","schema":{"type":"integer","example":5}}`, "p=5"},
		{`{"name":"given","in":"query","example":4,"schema":{"type":"integer"}}`, "given=7"},
		{`{"name":"given","in":"query","example":4,"schema":{"type":"boolean"}}`, "given=4"},
		{`{"name":"p","in":"path","example":"a/b","schema":{"type":"string"}}`, "Ficus"},
		{`{"name":"p","in":"path","schema":{"type":"array","items":{"type":"object"}}}`, "none"},
	} {
		text, ok := g.BaseParameter(parameterOf(t, c.parameter))
		if !ok {
			text = "none"
		}
		if text != c.want {
			t.Errorf("%s is sent as %q, want %q", c.parameter, text, c.want)
		}
	}
}

// The value of a parameter is in the name of its test, where it is cut.
func TestShown(t *testing.T) {
	t.Parallel()
	g := New(Settings{Rules: scenario.Rules{StrictParameters: true}})
	all := g.ParameterVariants(parameterOf(t, `{"name":"p","in":"query","schema":{"type":"string","enum":["`+strings.Repeat("x", 50)+`"]}}`))
	var names []string
	for _, v := range all {
		names = append(names, v.Shown)
	}
	for _, want := range []string{`"` + strings.Repeat("x", 40) + `"`, "twice"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not among %q", want, names)
		}
	}
}

// A parameter is sent if it is required, or given.
func TestIsSent(t *testing.T) {
	t.Parallel()
	g := New(Settings{Values: map[string]string{"given": ""}})
	for text, want := range map[string]bool{
		`{"name":"p","in":"query","required":true}`: true,
		`{"name":"given","in":"query"}`:             true,
		`{"name":"p","in":"query"}`:                 false,
	} {
		if g.IsSent(parameterOf(t, text)) != want {
			t.Errorf("%s is sent: %v", text, !want)
		}
	}
}
