package plan

import (
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/schematest"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// filterOf is a filter of a list that has created things with some colors, the first of which has the id 0.
func filterOf(p *Planner, trial *draft.Trial, colors ...any) *filter {
	list := &resources.List{ReadBy: p.Document.Operation("listPots"), IsInferred: true}
	list.Operation, list.Filters = "listPots", map[string]string{"color": "color"}
	f := &filter{listTest: &listTest{Trial: trial, list: list}}
	for i, color := range colors {
		f.things = append(f.things, &scenario.Thing{ID: i})
		f.shown = append(f.shown, map[string]any{"color": color})
	}
	return f
}

// found is what a list has for a color: items by id and color, and its end, unless it goes on.
func found(color any, goesOn bool, items ...string) *selection {
	s := &selection{asked: []wanted{{resources.Filter{Parameter: "color", Member: "color"}, color}}, isWhole: !goesOn}
	for _, item := range items {
		id, have, shows := strings.Cut(item, ":")
		s.ids, s.items = append(s.ids, id), append(s.items, map[string]any{})
		if shows {
			s.items[len(s.items)-1]["color"] = have
		}
	}
	return s
}

// A list with a filter must have what the filter selects, and nothing else.
func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		selection *selection
		want      string
	}{
		"right":                       {found("red", false, "0:red", "9:red"), ""},
		"right, and shows no color":   {found("red", false, "0", "9"), ""},
		"of another":                  {found("red", false, "0:red", "9:blue"), "a list with color=red has an item with color blue"},
		"of the test":                 {found("red", false, "0:red", "1:redx"), "a list with color=red has an item with color redx"},
		"of the test, shows no color": {found("red", false, "0", "1"), "a list with color=red has an item with color redx"},
		"lacks one":                   {found("red", false), "a list with color=red lacks 0, which has it"},
		"lacks one, and goes on":      {found("red", true), ""},
	} {
		p := planOf(t, Settings{})
		got := ""
		checked(p, func(trial *draft.Trial) {
			if wrong := filterOf(p, trial, "red", "redx").mistakeIn(c.selection); wrong != nil {
				got = wrong.message
			}
		})
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A guess that is wrong is not tested if another meaning is right, or if it selects nothing. Otherwise it is broken.
func TestGuess(t *testing.T) {
	t.Parallel()
	all := []string{"0:red", "1:redx", "2:xred", "3:xredx", "4:RED", "5:blue"}
	for name, c := range map[string]struct {
		red, blue []string
		want      string
	}{
		"any case":       {[]string{"0:red", "4:RED"}, all[5:], `not tested: color may have another meaning; if it is right, the options need {"Lists":[{"Operation":"listPots","Create":"","ID":"","Filters":{"color":"color anycase"}}]}`},
		"begins":         {all[:2], all[5:], "color begins"},
		"begins in any":  {[]string{"0:red", "1:redx", "4:RED"}, all[5:], "color begins"},
		"contains":       {all[:4], all[5:], "color contains"},
		"at least":       {all[:4], append([]string{"5:blue"}, all[:4]...), "color >="},
		"nothing":        {nil, nil, "not tested: color selects nothing"},
		"everything":     {all, all, "broken: a list with color=red has an item with color redx"},
		"another":        {all[5:], all[:1], "broken: a list with color=red has an item with color blue"},
		"only the first": {all[:1], nil, "broken: a list with color=blue lacks 5"},
	} {
		p := planOf(t, Settings{})
		got := checked(p, func(trial *draft.Trial) {
			f := filterOf(p, trial, "red", "redx", "xred", "xredx", "RED", "blue")
			selections := []*selection{found("red", false, c.red...), found("blue", false, c.blue...)}
			wrong := f.mistakeWith(resources.Equal, selections)
			f.excuseGuess(resources.Filter{Parameter: "color", Member: "color", IsGuess: true}, selections)
			f.Check(scenario.Broken{Message: wrong.message})
		})
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Values for a filter are such that a wrong one takes them for each other.
func TestDrawn(t *testing.T) {
	t.Parallel()
	p := planOf(t, Settings{})
	checked(p, func(trial *draft.Trial) {
		f := filterOf(p, trial)
		texts := f.drawnTexts(schematest.Of(t, `{type: string}`))
		if text := texts[0].(string); texts[1] != text+"x" || texts[2] != "x"+text || texts[4] != strings.ToUpper(text) || strings.Contains(texts[6].(string), text) {
			t.Errorf("the texts are %q", texts)
		}
		if emails := f.drawnTexts(schematest.Of(t, `{type: string, format: email}`)); len(emails) != 2 {
			t.Errorf("the addresses are %q", emails)
		}
		for described, least := range map[string]int64{`{type: integer}`: 0, `{type: integer, minimum: 3, maximum: 5}`: 3, `{type: number, multipleOf: 5}`: 0} {
			numbers := f.drawnNumbers(schematest.Of(t, described))
			if numbers[1] != least || numbers[0].(int64) <= least || numbers[2].(int64) <= numbers[0].(int64) {
				t.Errorf("of %s, the numbers are %v", described, numbers)
			}
		}
		if numbers := f.drawnNumbers(schematest.Of(t, `{type: integer, minimum: 3, maximum: 4}`)); numbers != nil {
			t.Errorf("between 3 and 4, the numbers are %v", numbers)
		}
		days := f.drawnTimes(schematest.Of(t, `{type: string, format: date}`))
		if order, _ := resources.Above.Selects(days[0], days[1]); !order || days[2].(string) <= days[0].(string) {
			t.Errorf("the days are %v", days)
		}
	})
}

// onePage is an engine for which each page of a list has the same body.
type onePage struct {
	silent
	body string
}

func (e onePage) Send(scenario.Request, scenario.Expectation) (scenario.Interaction, error) {
	return scenario.Interaction{Status: 200, Body: []byte(e.body)}, nil
}

// A page with a filter must not count what the filter leaves out. Nothing is known if only such a page counts.
func TestCountsOnly(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"items": [], "total": 3}`: "kept",
		`{"items": [], "total": 2}`: "broken: a list with color=red says that there are 2 of 2, but 1 have another value",
		`{"items": []}`:             "kept",
	} {
		p := planOf(t, Settings{})
		got := said(scenario.Try(onePage{body: body}, p.drafted(scenario.Promise{}, func(trial *draft.Trial) {
			f := filterOf(p, trial, "red", "blue")
			f.list.Items = "items"
			asked := found("red", false)
			asked.total = 2
			f.countsOnly(asked)
		})))
		if got != want {
			t.Errorf("the list %s: %s, want %s", body, got, want)
		}
	}
}
