package plantcontract

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// findSequences are what the document promises of lists in the order of names, of counts
// and of tags. Other plants may be in the store: the names and tags of a sequence begin
// with a text that no others have.
var findSequences = []contracttest.Sequence{
	{Name: "name_prefix finds names, in their order across pages", Steps: namePrefix, Shows: []scenario.Promise{
		scenario.Effect("listPlants", "name_prefix"), scenario.Effect("listPlants", "cursor"), scenario.Effect("countPlants", "name_prefix"),
	}},
	{Name: "order=name lists all plants by name, and a cursor continues", Steps: orderByName, Shows: []scenario.Promise{
		scenario.Effect("listPlants", "order"),
	}},
	{Name: "order=id is the default order", Steps: orderByID},
	{Name: "descending orders, with a filter across pages", Steps: descendingOrders},
	{Name: "a plant moves in the order of names with its name", Steps: movesWithName},
	{Name: "parameters that cannot be combined are refused", Steps: refusedCombinations},
	{Name: "tags are listed once and in order across pages", Steps: tagsInOrder, Shows: []scenario.Promise{
		scenario.Effect("listTags", "limit"), scenario.Effect("listTags", "after"), scenario.Effect("listTags", "prefix"), scenario.Effect("countPlants", "tag"),
	}},
	{Name: "a page of tags has 100 of them by default", Steps: defaultTags, Shows: []scenario.Promise{
		scenario.Default("listTags", "limit"),
	}},
	{Name: "countPlants counts all plants", Steps: countsAll},
}

// batch are plants that a sequence creates in one request. Their names or tags begin with a text that no
// name or tag of another sequence begins with.
type batch struct {
	plants []*scenario.Thing
	begin  string
}

// newBatch creates n plants with ascending ids. newPlant makes a plant when the text is known.
func newBatch(text string, n int, newPlant func(begin string, i int) map[string]any) (*batch, []scenario.Step) {
	unique := newPlants(1)[0]
	b := &batch{plants: newPlants(n)}
	return b, []scenario.Step{
		{Draw: append([]*scenario.Thing{unique}, b.plants...)},
		write("createPlants", nil, func() any {
			b.begin = fmt.Sprintf("%s %v ", text, unique.ID)
			all := make([]any, n)
			for i, thing := range b.plants {
				plant := newPlant(b.begin, i)
				plant["id"] = thing.ID
				all[i] = plant
			}
			return map[string]any{"plants": all}
		}),
	}
}

// pick returns the ids of some of the plants.
func (b *batch) pick(indexes ...int) (ids []string) {
	for _, i := range indexes {
		ids = append(ids, fmt.Sprint(b.plants[i].ID))
	}
	return ids
}

// with is a query with one more parameter.
func with(of url.Values, name, value string) url.Values {
	more := maps.Clone(of)
	if more == nil {
		more = url.Values{}
	}
	more.Set(name, value)
	return more
}

// combination is a query to which none of some parameters may be added.
type combination struct {
	operation string
	query     url.Values
	forbidden []string
}

var combinations = []combination{
	{"listPlants", url.Values{"name_prefix": {"fic"}}, []string{"tag", "after"}},
	{"listPlants", url.Values{"order": {"name"}}, []string{"tag", "after"}},
	{"listPlants", url.Values{"order": {"name_desc"}}, []string{"tag", "after"}},
	{"listPlants", url.Values{"order": {"updated"}}, []string{"tag", "after", "name_prefix"}},
	{"listPlants", url.Values{"order": {"id_desc"}}, []string{"after", "name_prefix"}},
	{"listPlants", url.Values{"order": {"id"}}, []string{"name_prefix", "cursor"}},
	{"listPlants", url.Values{"cursor": {cursorOfFicus}}, []string{"tag", "after"}},
	{"countPlants", url.Values{"name_prefix": {"fic"}}, []string{"tag"}},
}

const cursorOfFicus = "000000000000000a4649435553"

// forbiddenValues are values of the parameters of combinations.
var forbiddenValues = map[string]string{"tag": "Moraceae", "after": "8", "name_prefix": "fic", "cursor": cursorOfFicus}

func refusedCombinations() (steps []scenario.Step) {
	for _, c := range combinations {
		all := c.query
		for _, name := range c.forbidden {
			all = with(all, name, forbiddenValues[name])
			steps = append(steps, refusesParameter(c.operation, with(c.query, name, forbiddenValues[name]), name))
		}
		for _, name := range c.forbidden {
			steps = append(steps, refusesParameter(c.operation, all, name))
		}
	}
	return steps
}

func refusesParameter(operation string, of url.Values, name string) scenario.Step {
	step := query(operation, asked(of), nil)
	step.Expect = scenario.RefusedAt(scenario.InvalidParameter, "query", "/"+name)
	return step
}

func countsAll() []scenario.Step {
	const size = 3
	_, steps := newBatch("Name", size, func(string, int) map[string]any { return map[string]any{"name": "Ficus"} })
	return append(steps, query("countPlants", asked(nil), func(got scenario.Interaction) error {
		counted, err := strconv.Atoi(fmt.Sprint(got.Member("count")))
		if err != nil || counted < size {
			return scenario.Brokenf("there are %d plants, and the count is %s", size, got.Body)
		}
		return nil
	}))
}

// walksTo fails unless a walk with each size of page meets exactly these plants.
func walksTo(of url.Values, want []string) (steps []scenario.Step) {
	for limit := 1; limit <= len(want)+1; limit++ {
		w := &walk{operation: "listPlants", query: with(of, "limit", strconv.Itoa(limit)), want: want, limit: limit, itemsOf: idsOf}
		steps = append(steps, w.steps()...)
	}
	return steps
}

// walksToTags fails unless a walk meets exactly these tags.
func walksToTags(of url.Values, want []string, limit int) []scenario.Step {
	w := &walk{operation: "listTags", query: of, want: want, limit: limit, itemsOf: tagsOf}
	return w.steps()
}

// walk fails unless the pages of a walk have exactly these items, and each page but the
// last one is full.
type walk struct {
	operation string
	query     url.Values
	want, met []string
	limit     int
	itemsOf   func(scenario.Interaction) ([]string, error)
}

func (w *walk) steps() []scenario.Step {
	return []scenario.Step{
		{Walk: &scenario.Walk{Operation: w.operation, Query: w.query, Visit: w.visit}},
		scenario.Verify(func() error {
			if len(w.met) == len(w.want) {
				return nil
			}
			return scenario.Brokenf("a walk of %s with %v ends after %q, want %q", w.operation, w.query, w.met, w.want)
		}),
	}
}

func (w *walk) visit(page scenario.Interaction) (enough bool, err error) {
	items, err := w.itemsOf(page)
	if err != nil {
		return true, err
	}
	if full := min(w.limit, len(w.want)-len(w.met)); len(items) != full {
		return true, scenario.Brokenf("a page of %s with %v has %q after %q, want %d items", w.operation, w.query, items, w.met, full)
	}
	w.met = append(w.met, items...)
	if !slices.Equal(w.met, w.want[:len(w.met)]) {
		return true, scenario.Brokenf("a walk of %s with %v meets %q, want %q", w.operation, w.query, w.met, w.want)
	}
	if link := page.Header.Get("Link"); link != "" && len(w.met) == len(w.want) {
		return true, scenario.Brokenf("a walk of %s with %v has met all of %q, and goes on with %s", w.operation, w.query, w.met, link)
	}
	return false, nil
}

// counts fails unless countPlants counts exactly n plants.
func counts(of url.Values, n int) scenario.Step {
	return query("countPlants", asked(of), func(got scenario.Interaction) error {
		if got.Member("count") == strconv.Itoa(n) && got.Member("more") == false {
			return nil
		}
		return scenario.Brokenf("there are %d plants with %v, and the count is %s", n, of, got.Body)
	})
}

// cursorOf returns the cursor in the Link of a page.
func cursorOf(page scenario.Interaction) (url.Values, error) {
	link, _, _ := strings.Cut(strings.TrimPrefix(page.Header.Get("Link"), "<"), ">")
	next, err := url.Parse(link)
	if err != nil || !next.Query().Has("cursor") {
		return nil, scenario.Brokenf("the Link %q has no cursor: %v", page.Header.Get("Link"), err)
	}
	return url.Values{"cursor": next.Query()["cursor"]}, nil
}

type listedPlant struct {
	ID   json.Number
	Name string
}

// plantsAre makes a check of one of the ids of a list of plants.
func plantsAre(check func(ids []string) error) func(scenario.Interaction) error {
	return func(page scenario.Interaction) error {
		ids, err := idsOf(page)
		if err != nil {
			return err
		}
		return check(ids)
	}
}

func idsOf(page scenario.Interaction) (ids []string, err error) {
	plants, err := decoded[[]listedPlant]("list of plants", page)
	for _, plant := range plants {
		ids = append(ids, plant.ID.String())
	}
	return ids, err
}

func tagsOf(page scenario.Interaction) ([]string, error) {
	return decoded[[]string]("list of tags", page)
}
