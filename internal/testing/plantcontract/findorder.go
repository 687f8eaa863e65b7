package plantcontract

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// ends are the ends of names, and inOrder is the order of these. Names that differ only
// in case, or in the form of their accents, follow in the order of ids. E comes before S,
// É and ß.
var (
	ends    = []string{"ẞ", "ß", "étoile", "E\u0301TOILE", "ss", "Etoile", "ficus", "Ficus", ""}
	inOrder = []int{8, 5, 6, 7, 4, 2, 3, 0, 1}
)

// namedPlants creates plants whose names begin with a text, half of them in other case,
// and after them some whose names do not.
func namedPlants(text string) (*batch, []scenario.Step) {
	return newBatch(text, len(ends)+3, func(begin string, i int) map[string]any {
		others := []string{"x" + begin, begin[:len(begin)-1], "x" + begin + "ficus"}
		switch {
		case i >= len(ends):
			return map[string]any{"name": others[i-len(ends)]}
		case i%2 == 1:
			return map[string]any{"name": strings.ToUpper(begin) + ends[i]}
		}
		return map[string]any{"name": begin + ends[i]}
	})
}

func namePrefix() []scenario.Step {
	named, steps := namedPlants("Name")
	return append(steps, scenario.Later(func() (steps []scenario.Step) {
		for text, found := range map[string][]int{
			"": inOrder, "fic": {6, 7}, "FICUS": {6, 7}, "ficus x": nil, "ss": {4}, "e": {5},
			"É": {2, 3}, "E\u0301": {2, 3}, "ß": {0, 1}, "ẞ": {0, 1},
		} {
			of, want := url.Values{"name_prefix": {named.begin + text}}, named.pick(found...)
			steps = append(steps, walksTo(of, want)...)
			steps = append(steps, counts(of, len(want)))
			steps = append(steps, walksTo(with(of, "order", "name"), want)...)
		}
		return steps
	}))
}

func orderByName() []scenario.Step {
	named, steps := namedPlants("\x00Name") // the first names of all, so that the walk is short
	for _, limit := range []string{"1", "4", "1000"} {
		steps = append(steps, scenario.Later(func() []scenario.Step {
			w := &walkOfAll{query: url.Values{"order": {"name"}, "limit": {limit}}, want: named.pick(inOrder...), seen: map[json.Number]bool{}}
			return w.steps()
		}))
	}
	return append(steps, scenario.Later(func() []scenario.Step {
		want := named.pick(inOrder...)
		var continued []scenario.Step
		return []scenario.Step{{Walk: &scenario.Walk{
			Operation: "listPlants", Query: url.Values{"name_prefix": {named.begin}, "limit": {"1"}},
			Visit: func(page scenario.Interaction) (bool, error) {
				if want = want[1:]; len(want) == 0 {
					return true, nil
				}
				of, err := cursorOf(page)
				if err == nil {
					continued = append(continued, continues(with(of, "limit", strconv.Itoa(len(want))), want))
				}
				return false, err
			},
		}}, scenario.Later(func() []scenario.Step { return continued })}
	}))
}

// continues fails unless a cursor without other parameters leads to the rest of the plants.
func continues(of url.Values, want []string) scenario.Step {
	return query("listPlants", asked(of), plantsAre(func(ids []string) error {
		if slices.Equal(ids, want) {
			return nil
		}
		return scenario.Brokenf("a cursor without other parameters continues with %v, want %v", ids, want)
	}))
}

// walkOfAll is a walk in which other plants may come first or later.
type walkOfAll struct {
	query     url.Values
	want, met []string
	seen      map[json.Number]bool // the first plants of pages
}

func (w *walkOfAll) steps() []scenario.Step {
	return []scenario.Step{
		{Walk: &scenario.Walk{Operation: "listPlants", Query: w.query, Visit: w.visit}},
		scenario.Verify(func() error {
			if len(w.met) >= len(w.want) && slices.Equal(w.met[:len(w.want)], w.want) {
				return nil
			}
			return scenario.Brokenf("a walk with %v meets %v, want %v", w.query, w.met, w.want)
		}),
	}
}

func (w *walkOfAll) visit(page scenario.Interaction) (enough bool, err error) {
	plants, err := decoded[[]listedPlant]("list of plants", page)
	if err != nil {
		return true, err
	}
	if len(plants) == 0 || w.seen[plants[0].ID] {
		return true, nil // it would not end
	}
	w.seen[plants[0].ID] = true
	for _, plant := range plants {
		id := plant.ID.String()
		switch {
		case slices.Contains(w.want, id):
			w.met = append(w.met, id)
		case plant.Name > "\x01":
			w.met = append(w.met, "a name that comes later")
		}
	}
	return len(w.met) >= len(w.want), nil
}

func orderByID() []scenario.Step {
	named, steps := namedPlants("Name")
	return append(steps, scenario.Later(func() (steps []scenario.Step) {
		ids := named.pick(0, 1, 2, 3, 4, 5, 6, 7, 8)
		first, _ := strconv.ParseInt(ids[0], 10, 64) // which is a number
		of := url.Values{"after": {strconv.FormatInt(first-1, 10)}, "limit": {strconv.Itoa(len(ids))}}
		for _, of := range []url.Values{of, with(of, "order", "id")} {
			steps = append(steps, query("listPlants", asked(of), plantsAre(func(got []string) error {
				if slices.Equal(got, ids) {
					return nil
				}
				return scenario.Brokenf("a list with %v has %v, want %v", of, got, ids)
			})))
		}
		return steps
	}))
}

func descendingOrders() []scenario.Step {
	named, steps := namedPlants("Name")
	byName := slices.Clone(inOrder)
	slices.Reverse(byName)
	byID := []int{8, 7, 6, 5, 4, 3, 2, 1, 0}
	steps = append(steps, scenario.Later(func() []scenario.Step {
		return walksTo(url.Values{"order": {"name_desc"}, "name_prefix": {named.begin}}, named.pick(byName...))
	}))
	for _, i := range byID {
		steps = append(steps, write("patchPlant", named.plants[i], func() any { return map[string]any{"tag": named.begin} }))
	}
	return append(steps, scenario.Later(func() []scenario.Step {
		steps := walksTo(url.Values{"order": {"id_desc"}, "tag": {named.begin}}, named.pick(byID...))
		return append(steps, walksByUpdate(named.pick(0, 1, 2, 3, 4, 5, 6, 7, 8))...)
	}))
}

// walksByUpdate fails unless a walk meets plants in the order in which they have changed, the last one first.
func walksByUpdate(rest []string) []scenario.Step {
	return []scenario.Step{
		{Walk: &scenario.Walk{
			Operation: "listPlants", Query: url.Values{"order": {"updated"}, "limit": {"2"}},
			Visit: func(page scenario.Interaction) (enough bool, err error) {
				ids, err := idsOf(page)
				for _, id := range ids {
					switch i := slices.Index(rest, id); {
					case i > 0:
						return true, scenario.Brokenf("order=updated lists plant %s before plant %s, which has changed later", id, rest[0])
					case i == 0:
						rest = rest[1:]
					}
				}
				return len(rest) == 0, err
			},
		}},
		scenario.Verify(func() error {
			if len(rest) == 0 {
				return nil
			}
			return scenario.Brokenf("order=updated does not list the plants %v", rest)
		}),
	}
}

func movesWithName() []scenario.Step {
	named, steps := namedPlants("Name")
	renamed := func(end string) func() any {
		return func() any { return map[string]any{"name": named.begin + end} }
	}
	return append(steps,
		write("patchPlant", named.plants[0], renamed("fi")),
		write("putPlant", named.plants[8], renamed("gingko")),
		write("deletePlant", named.plants[6], nil),
		scenario.Later(func() []scenario.Step {
			steps := walksTo(url.Values{"name_prefix": {named.begin}}, named.pick(5, 0, 7, 8, 4, 2, 3, 1))
			return append(steps, counts(url.Values{"name_prefix": {named.begin + "fi"}}, 2))
		}))
}
