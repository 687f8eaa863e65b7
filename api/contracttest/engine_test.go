package contracttest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

func thing(status int, body string) Interaction {
	x := Interaction{Method: "GET", URL: "http://things.example/things/3", Path: "/things/3", Status: status, Header: http.Header{}, Body: []byte(body)}
	if body != "" {
		x.Header.Set("Content-Type", "application/json")
	}
	return x
}

// What the document does not allow is a fault, and nothing else. A client of an earlier document, and the generated one,
// must be able to read a response, too.
func TestCheck(t *testing.T) {
	t.Parallel()
	earlier := strings.Replace(smallDocument, "required: [id], properties: {id: {type: integer}}", "required: [name], properties: {name: {type: string}}", 1)
	unread := []Fault{{Where: "generated client", Keyword: "getThing", Message: "cannot read it"}}
	for name, c := range map[string]struct {
		options Options
		status  int
		want    string
	}{
		"as documented":           {Options{}, 200, ""},
		"an unlisted status":      {Options{}, 201, "the document does not list 201"},
		"unread by version 1":     {Options{Service: Service{Earlier: map[string][]byte{"version 1": []byte(earlier)}}}, 200, "to a client of version 1"},
		"unread by the generated": {Options{Checks: Checks{Faults: func(Judged) []Fault { return unread }}}, 200, "cannot read it"},
	} {
		heard := &told{}
		small(c.options).Check(heard, thing(c.status, `{"id":3}`))
		if got := strings.Join(heard.lines, "\n"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: Check tells %q, want %q", name, got, c.want)
		}
	}
}

// A refused example counts for nothing.
func TestCoverage(t *testing.T) {
	t.Parallel()
	c := small(Options{Checks: Checks{Promises: map[string]func(Interaction) bool{"of the options": func(Interaction) bool { return true }}}})
	const example = "getThing, example of parameter id"
	if missing := notTestedOf(c); !slices.Contains(missing, example) || !slices.Contains(missing, "of the options") || !slices.Contains(missing, "getThing, 200") {
		t.Errorf("the promises are %v", missing)
	}
	c.Check(t, thing(404, ""))
	if missing := notTestedOf(c); !slices.Contains(missing, example) || slices.Contains(missing, "getThing, 404") || slices.Contains(missing, "of the options") {
		t.Errorf("after a 404 %v are missing", missing)
	}
	c.Check(t, thing(200, `{"id":3}`))
	if missing := notTestedOf(c); slices.Contains(missing, example) || slices.Contains(missing, "getThing, 200") {
		t.Errorf("after a 200 %v are missing", missing)
	}
}

// notTestedOf lists the promises that are not tested without a reason.
func notTestedOf(c *Contract) (names []string) {
	for _, p := range c.Promises() {
		if p.State == NotTested && p.Fails() {
			names = append(names, p.Name)
		}
	}
	return names
}

// What the engine cannot test is a promise, too, and fails unless the options have a reason.
func TestUntestable(t *testing.T) {
	t.Parallel()
	text := strings.Replace(smallDocument, "schema: {type: integer}, example: 3", "schema: {type: string, pattern: '^(?=a$', format: colour}", 1)
	known := map[string]string{`getThing, parameter id: format "colour"`: "a colour is any text", "getThing, 299": "a mistake"}
	c := contractFrom(t, text, Options{Known: known})
	all := strings.Join(notTestedOf(c), "\n")
	for want, fails := range map[string]bool{
		`pattern "^(?=a$"`: true, `format "colour"`: false, "effect of parameter id": true,
	} {
		if strings.Contains(all, want) != fails {
			t.Errorf("%s fails: %v, want %v; these do:\n%s", want, !fails, fails, all)
		}
	}
	if lost := c.Report().Lost; !slices.Equal(lost, []string{"getThing, 299 a mistake"}) {
		t.Errorf("what is known and was not found: %q", lost)
	}
}

// A sequence of the options shows what a parameter does, and what is no value of an enum
// shows that its type is kept.
func TestShows(t *testing.T) {
	t.Parallel()
	order := "        - {name: order, in: query, schema: {type: string, enum: [id, name]}}\n      responses:"
	shows := Sequence{Name: "things in order", Shows: []scenario.Promise{scenario.Effect("getThing", "order")}, Run: func(*scenario.Trial) {}}
	c := contractFrom(t, strings.Replace(smallDocument, "      responses:", order, 1), Options{Service: Service{Rules: Rules{StrictParameters: true}, Sequences: []Sequence{shows}}})
	var shown []string
	for _, test := range testsOf(c) {
		for _, promise := range test.test.Shows {
			shown = append(shown, report.Name(promise))
		}
	}
	of := 0
	for _, name := range notTestedOf(c) {
		if strings.Contains(name, "order") {
			if of++; !slices.Contains(shown, name) {
				t.Errorf("no test tries %s", name)
			}
		}
	}
	if of < 5 || !slices.Contains(shown, "getThing, effect of parameter order") || !slices.Contains(shown, "getThing, parameter order enum, refused") {
		t.Errorf("%d promises name the parameter; the tests show %v", of, shown)
	}
}
