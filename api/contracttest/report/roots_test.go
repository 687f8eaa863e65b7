package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// ofRoot is a failure with a root.
func ofRoot(cause, root string) scenario.Failure {
	one := failure(cause, scenario.Behaviour)
	one.Root = causeOf(root)
	return one
}

// causeTexts are the causes of a ledger as sentences, and those that are known end with the reason.
func causeTexts(l *Ledger) (texts []string) {
	for _, cause := range l.Causes() {
		texts = append(texts, cause.Cause+cause.Known)
	}
	slices.Sort(texts)
	return texts
}

// Causes with one root are one. A single one, and those that are known, stay what they are.
func TestJoinedRoots(t *testing.T) {
	t.Parallel()
	pots := []string{"null as /color", "null as /height", "null as /width"}
	for name, c := range map[string]struct {
		causes []string
		known  map[string]string
		want   []string
	}{
		"many":         {pots, nil, []string{"null is taken"}},
		"many of two":  {[]string{pots[0], pots[1], pots[2], "text as /color", "text as /height", "text as /width"}, nil, []string{"null is taken", "text is taken"}},
		"one":          {pots[2:], nil, pots[2:]},
		"one is known": {pots, map[string]string{causeOf(pots[0]).ID(): "!"}, []string{pots[0] + "!", "null is taken"}},
	} {
		l := ledgerOf()
		l.Known = c.known
		for _, cause := range c.causes {
			taken, _, _ := strings.Cut(cause, " ")
			l.NoteFailures([]scenario.Failure{ofRoot(cause, taken+" is taken")})
		}
		if got := causeTexts(l); !slices.Equal(got, c.want) {
			t.Errorf("%s: the causes are %q, want %q", name, got, c.want)
		}
		if lost := New(Document{}, l).Lost; len(lost) > 0 {
			t.Errorf("%s: %q is said not to be found", name, lost)
		}
	}
}

// Where a value of another type is accepted, what else is accepted in that place has the root of it.
func TestUnderTypes(t *testing.T) {
	t.Parallel()
	accepted := func(place, keyword string) scenario.Failure {
		return scenario.Failure{
			Cause: scenario.Cause{Kind: scenario.Accepts, In: "body", Component: "Pot", Place: place, Keyword: keyword},
			Root:  scenario.Cause{Kind: scenario.Accepts, Keyword: keyword},
		}
	}
	l := ledgerOf()
	l.NoteFailures([]scenario.Failure{accepted("/color", "type"), accepted("/color", "format"), accepted("/size", "format")})
	want := []string{"Pot in requests: a value of another format is accepted as /size", "values of another type are accepted"}
	if got := causeTexts(l); !slices.Equal(got, want) {
		t.Errorf("the causes are %q, want %q", got, want)
	}
}

// A member that is wrong in several components is one cause, unless something else is wrong with one of them.
func TestOfOneBase(t *testing.T) {
	t.Parallel()
	wrong := func(component, place string) scenario.Failure {
		return scenario.Failure{
			Cause: scenario.Cause{Kind: scenario.WrongBody, Component: component, Place: place, Keyword: "type"},
			Root:  scenario.Cause{Kind: scenario.WrongForm, Component: component},
		}
	}
	l := ledgerOf()
	l.NoteFailures([]scenario.Failure{wrong("Pot", "/made"), wrong("Cup", "/made"), wrong("Jug", "/made"), wrong("Jug", "/size"), wrong("Mug", "/size")})
	want := []string{
		"Jug in responses: bodies are not as the document says", "Mug in responses: /size has another type",
		"components in responses: /made has another type",
	}
	if got := causeTexts(l); !slices.Equal(got, want) {
		t.Errorf("the causes are %q, want %q", got, want)
	}
}

// A joined cause has all failures of its parts, the most frequent one first, and is named beside the promises that they
// break.
func TestWhole(t *testing.T) {
	t.Parallel()
	pots := []string{"null as /color", "null as /height", "null as /width"}
	l := ledgerOf("createPot, body /color nullable, refused")
	for i, cause := range pots {
		found := ofRoot(cause, "null is taken")
		l.NoteFailures(slices.Repeat([]scenario.Failure{found}, 1+i/2))
		found.Test = "a test of all"
		l.NoteFailures([]scenario.Failure{found})
		l.Fail(found, promise("createPot, body /color nullable, refused"))
	}
	report := New(Document{}, l)
	whole := report.Causes[0]
	isOrdered := slices.Equal(whole.Parts, []string{pots[2], pots[0], pots[1]}) && whole.First.Cause == causeOf(pots[2])
	if whole.Count != 7 || len(whole.Tests) != 4 || !isOrdered || whole.ID != causeOf("null is taken").ID() {
		t.Errorf("the cause is %+v", whole)
	}
	if got := report.Promises[0].Cause; got != whole.ID {
		t.Errorf("beside the promise is %s", got)
	}
}

// A joined cause shows where it was found, but no more places than a screen has.
func TestParts(t *testing.T) {
	t.Parallel()
	for count, end := range map[int]string{
		mostParts:     fmt.Sprintf("/member%d\n  broken: is wrong", mostParts-1),
		mostParts + 2: "\n  and in 2 more places\n  broken: is wrong",
	} {
		l := ledgerOf()
		for i := range count {
			l.NoteFailures([]scenario.Failure{ofRoot(fmt.Sprintf("null as /member%d", i), "null is taken")})
		}
		text := l.Causes()[0].String()
		shown := strings.Count(text, "\n  where:  null as /member")
		if shown != mostParts || !strings.Contains(text, end) {
			t.Errorf("of %d places %d are shown:\n%s", count, shown, text)
		}
	}
}
