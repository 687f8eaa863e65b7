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
	{Name: "name_prefix finds names, in their order across pages", Run: namePrefix, Shows: []scenario.Promise{
		scenario.Effect("listPlants", "name_prefix"), scenario.Effect("listPlants", "cursor"), scenario.Effect("countPlants", "name_prefix"),
	}},
	{Name: "order=name lists all plants by name, and a cursor continues", Run: orderByName, Shows: []scenario.Promise{
		scenario.Effect("listPlants", "order"),
	}},
	{Name: "order=id is the default order", Run: orderByID},
	{Name: "descending orders, with a filter across pages", Run: descendingOrders},
	{Name: "q finds parts of names in any order, with tags and in each order", Run: searches, Shows: []scenario.Promise{
		scenario.Effect("listPlants", "q"), scenario.Effect("countPlants", "q"),
		scenario.Effect("listPlants", "tag_prefix"), scenario.Effect("countPlants", "tag_prefix"),
	}},
	{Name: "a plant moves in the order of names with its name", Run: movesWithName},
	{Name: "parameters that cannot be combined are refused", Run: refusedCombinations},
	{Name: "tags are listed once and in order across pages", Run: tagsInOrder, Shows: []scenario.Promise{
		scenario.Effect("listTags", "limit"), scenario.Effect("listTags", "after"), scenario.Effect("listTags", "prefix"), scenario.Effect("countPlants", "tag"),
	}},
	{Name: "a page of tags has 100 of them by default", Run: defaultTags, Shows: []scenario.Promise{
		scenario.Default("listTags", "limit"),
	}},
	{Name: "countPlants counts all plants", Run: countsAll},
}

// batch are plants that a sequence creates in one request. Their names or tags begin with a text that no
// name or tag of another sequence begins with.
type batch struct {
	plants []*scenario.Thing
	begin  string
}

// newBatch creates n plants with ascending ids. newPlant makes a plant when the text is known.
func newBatch(t *scenario.Trial, text string, n int, newPlant func(begin string, i int) map[string]any) *batch {
	unique := newPlants(1)[0]
	b := &batch{plants: newPlants(n)}
	t.Draw(append([]*scenario.Thing{unique}, b.plants...)...)
	b.begin = fmt.Sprintf("%s %v ", text, unique.ID)
	all := make([]any, n)
	for i, thing := range b.plants {
		plant := newPlant(b.begin, i)
		plant["id"] = thing.ID
		all[i] = plant
	}
	write(t, "createPlants", nil, map[string]any{"plants": all})
	return b
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
	{"listPlants", url.Values{"name_prefix": {"fic"}}, []string{"q", "tag", "tag_prefix", "after"}},
	{"listPlants", url.Values{"q": {"fic"}}, []string{"after"}},
	{"listPlants", url.Values{"tag_prefix": {"M"}}, []string{"after", "tag"}},
	{"listPlants", url.Values{"order": {"name"}}, []string{"after"}},
	{"listPlants", url.Values{"order": {"name_desc"}}, []string{"after"}},
	{"listPlants", url.Values{"order": {"tag"}}, []string{"after", "name_prefix"}},
	{"listPlants", url.Values{"order": {"tag_desc"}}, []string{"after", "name_prefix"}},
	{"listPlants", url.Values{"order": {"updated"}}, []string{"after", "name_prefix"}},
	{"listPlants", url.Values{"order": {"updated_asc"}}, []string{"after", "name_prefix"}},
	{"listPlants", url.Values{"order": {"id_desc"}}, []string{"after", "name_prefix"}},
	{"listPlants", url.Values{"order": {"id"}}, []string{"name_prefix", "cursor"}},
	{"listPlants", url.Values{"cursor": {cursorOfFicus}}, []string{"after"}},
	{"countPlants", url.Values{"name_prefix": {"fic"}}, []string{"q", "tag", "tag_prefix"}},
	{"countPlants", url.Values{"tag_prefix": {"M"}}, []string{"tag"}},
}

const cursorOfFicus = "000000000000000a4649435553"

// forbiddenValues are values of the parameters of combinations.
var forbiddenValues = map[string]string{
	"q": "fic", "tag": "Moraceae", "tag_prefix": "M", "after": "8", "name_prefix": "fic", "cursor": cursorOfFicus,
}

func refusedCombinations(t *scenario.Trial) {
	for _, c := range combinations {
		all := c.query
		for _, name := range c.forbidden {
			all = with(all, name, forbiddenValues[name])
			refusesParameter(t, c.operation, with(c.query, name, forbiddenValues[name]), name)
		}
		for _, name := range c.forbidden {
			refusesParameter(t, c.operation, all, name)
		}
	}
}

func refusesParameter(t *scenario.Trial, operation string, of url.Values, name string) {
	t.Do(scenario.Call{Operation: operation, Query: of}, scenario.RefusedAt(scenario.InvalidParameter, "query", "/"+name))
}

func countsAll(t *scenario.Trial) {
	const size = 3
	newBatch(t, "Name", size, func(string, int) map[string]any { return map[string]any{"name": "Ficus"} })
	got := query(t, "countPlants", nil)
	counted, err := strconv.Atoi(fmt.Sprint(got.Member("count")))
	t.Require(err == nil && counted >= size, "there are %d plants, and the count is %s", size, got.Body)
}

// walksTo fails unless a walk with each size of page meets exactly these plants.
func walksTo(t *scenario.Trial, of url.Values, want []string) {
	for limit := 1; limit <= len(want)+1; limit++ {
		w := &walk{t: t, operation: "listPlants", query: with(of, "limit", strconv.Itoa(limit)), want: want, limit: limit, itemsOf: idsOf}
		w.run()
	}
}

// walksToTags fails unless a walk meets exactly these tags.
func walksToTags(t *scenario.Trial, of url.Values, want []string, limit int) {
	w := &walk{t: t, operation: "listTags", query: of, want: want, limit: limit, itemsOf: tagsOf}
	w.run()
}

// walk fails unless the pages of a walk have exactly these items, and each page but the
// last one is full.
type walk struct {
	t         *scenario.Trial
	operation string
	query     url.Values
	want, met []string
	limit     int
	itemsOf   func(*scenario.Trial, scenario.Interaction) []string
}

func (w *walk) run() {
	for page := range w.t.Pages(w.operation, w.query) {
		w.visit(page)
	}
	w.t.Require(len(w.met) == len(w.want), "a walk of %s with %v ends after %q, want %q", w.operation, w.query, w.met, w.want)
}

func (w *walk) visit(page scenario.Interaction) {
	items := w.itemsOf(w.t, page)
	full := min(w.limit, len(w.want)-len(w.met))
	w.t.Require(len(items) == full, "a page of %s with %v has %q after %q, want %d items", w.operation, w.query, items, w.met, full)
	w.met = append(w.met, items...)
	isRight := slices.Equal(w.met, w.want[:len(w.met)])
	w.t.Require(isRight, "a walk of %s with %v meets %q, want %q", w.operation, w.query, w.met, w.want)
	link := page.Header.Get("Link")
	mayGoOn := link == "" || len(w.met) < len(w.want)
	w.t.Require(mayGoOn, "a walk of %s with %v has met all of %q, and goes on with %s", w.operation, w.query, w.met, link)
}

// counts fails unless countPlants counts exactly n plants.
func counts(t *scenario.Trial, of url.Values, n int) {
	got := query(t, "countPlants", of)
	isRight := got.Member("count") == strconv.Itoa(n) && got.Member("more") == false
	t.Require(isRight, "there are %d plants with %v, and the count is %s", n, of, got.Body)
}

// cursorOf returns the cursor in the Link of a page.
func cursorOf(t *scenario.Trial, page scenario.Interaction) url.Values {
	link, _, _ := strings.Cut(strings.TrimPrefix(page.Header.Get("Link"), "<"), ">")
	next, err := url.Parse(link)
	hasCursor := err == nil && next.Query().Has("cursor")
	t.Require(hasCursor, "the Link %q has no cursor: %v", page.Header.Get("Link"), err)
	return url.Values{"cursor": next.Query()["cursor"]}
}

type listedPlant struct {
	ID   json.Number
	Name string
}

func idsOf(t *scenario.Trial, page scenario.Interaction) (ids []string) {
	for _, plant := range decoded[[]listedPlant](t, "list of plants", page) {
		ids = append(ids, plant.ID.String())
	}
	return ids
}

func tagsOf(t *scenario.Trial, page scenario.Interaction) []string {
	return decoded[[]string](t, "list of tags", page)
}
