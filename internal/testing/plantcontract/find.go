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
	{Name: "name_prefix finds names, in their order across pages", Steps: namePrefix, Shows: []string{
		effect("listPlants", "name_prefix"), effect("listPlants", "cursor"), effect("countPlants", "name_prefix"),
	}},
	{Name: "order=name lists all plants by name, and a cursor continues", Steps: orderByName, Shows: []string{
		effect("listPlants", "order"),
	}},
	{Name: "order=id is the default order", Steps: orderByID},
	{Name: "descending orders, with a filter across pages", Steps: descendingOrders},
	{Name: "a plant moves in the order of names with its name", Steps: movesWithName},
	{Name: "parameters that cannot be combined are refused", Steps: refusedCombinations},
	{Name: "tags are listed once and in order across pages", Steps: tagsInOrder, Shows: []string{
		effect("listTags", "limit"), effect("listTags", "after"), effect("listTags", "prefix"), effect("countPlants", "tag"),
	}},
	{Name: "a page of tags has 100 of them by default", Steps: defaultTags, Shows: []string{
		"listTags, default of parameter limit",
	}},
	{Name: "countPlants counts all plants", Steps: countsAll},
}

func effect(operation, parameter string) string {
	return operation + ", effect of parameter " + parameter
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

// with is a query with one more parameter.
func with(of url.Values, name, value string) url.Values {
	more := maps.Clone(of)
	if more == nil {
		more = url.Values{}
	}
	more.Set(name, value)
	return more
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

// tagEnds are the ends of tags in their order. In UTF-16 the last one would come before the one before it.
var tagEnds = []string{"", "B", "a", "b", "bb", "\uff21", "\U0001f335"}

// taggedPlants creates a plant for each tag, two for the fourth one, and before them, in the order of tags, some
// whose tags do not begin with the text. It returns the tags when the text is known.
func taggedPlants() (tagged *batch, tags func() []string, steps []scenario.Step) {
	all := func(begin string) []string {
		tags := []string{"", "x" + begin, strings.ToUpper(begin) + "a", begin[:len(begin)-1]}
		for _, end := range tagEnds {
			tags = append(tags, begin+end)
		}
		tags = append(tags, begin+tagEnds[3])
		slices.Reverse(tags)
		return tags
	}
	tagged, steps = newBatch("Tag", len(tagEnds)+5, func(begin string, i int) map[string]any {
		return map[string]any{"name": "Ficus", "tag": all(begin)[i]}
	})
	return tagged, func() (want []string) {
		for _, end := range tagEnds {
			want = append(want, tagged.begin+end)
		}
		return want
	}, steps
}

func tagsInOrder() []scenario.Step {
	tagged, tags, steps := taggedPlants()
	return append(steps, scenario.Later(func() []scenario.Step {
		want, prefix := tags(), url.Values{"prefix": {tagged.begin}}
		var steps []scenario.Step
		for limit := 1; limit <= len(want)+1; limit++ {
			steps = append(steps, walksToTags(with(prefix, "limit", strconv.Itoa(limit)), want, limit)...)
		}
		for i, tag := range want {
			steps = append(steps, followTag(prefix, tag, want[i+1:])...)
		}
		steps = append(steps, walksToTags(with(prefix, "after", tagged.begin+"C"), want[2:], len(want))...) // no plant has it
		steps = append(steps, walksToTags(with(prefix, "after", ""), want, len(want))...)
		steps = append(steps, walksToTags(url.Values{"prefix": {tagged.begin + "b"}}, want[3:5], len(want))...)
		steps = append(steps, query("listTags", asked(url.Values{"limit": {"1"}}), reads("list of tags", func(got []string) error {
			if slices.Equal(got, []string{""}) {
				return nil
			}
			return scenario.Brokenf("the first tag is %q, want the empty one", got)
		})))
		steps = append(steps, walksTo(url.Values{"tag": {want[3]}}, tagged.pick(0, 4))...)
		steps = append(steps,
			counts(url.Values{"tag": {want[3]}}, 2),
			write("deletePlant", tagged.plants[0], nil), // the other plant with this tag
			counts(url.Values{"tag": {want[3]}}, 1),
			write("patchPlant", tagged.plants[1], always(map[string]any{"tag": nil})),
			counts(url.Values{"tag": {want[6]}}, 0))
		return append(steps, walksToTags(prefix, want[:6], len(want))...)
	}))
}

// followTag lists the tags that follow one, with the prefix and without it.
func followTag(prefix url.Values, tag string, rest []string) []scenario.Step {
	steps := walksToTags(with(prefix, "after", tag), rest, len(tagEnds))
	if len(rest) == 0 {
		return steps
	}
	of := url.Values{"after": {tag}, "limit": {strconv.Itoa(len(rest))}}
	return append(steps, query("listTags", asked(of), reads("list of tags", func(got []string) error {
		if slices.Equal(got, rest) {
			return nil
		}
		return scenario.Brokenf("after %q the tags are %q, want %q", tag, got, rest)
	})))
}

func defaultTags() []scenario.Step {
	const size = 101
	tagOf := func(begin string, i int) string { return fmt.Sprintf("%s%03d", begin, i) }
	tagged, steps := newBatch("Tag", size, func(begin string, i int) map[string]any {
		return map[string]any{"name": "Ficus", "tag": tagOf(begin, i)}
	})
	return append(steps, scenario.Later(func() []scenario.Step {
		want := make([]string, size)
		for i := range want {
			want[i] = tagOf(tagged.begin, i)
		}
		return walksToTags(url.Values{"prefix": {tagged.begin}}, want, 100)
	}))
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
