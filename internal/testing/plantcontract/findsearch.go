package plantcontract

import (
	"net/url"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// soughtPlants are names and the ends of tags, "-" for no tag. A key of a name has 150 characters.
var soughtPlants = []struct{ name, tagEnd string }{
	{"Ficus lyrata ‘Wilson’", "a"},
	{"FICUS LYRATA", "b"},
	{"Wilsonia", "a"},
	{"Épinette", "ab"},
	{strings.Repeat("ficus ", 30) + "wilson", "-"},
	{"lyrata Wilson", "b"},
}

// searches searches for plants in a store that may have many others: these are left out of what it meets.
func searches(t *scenario.Trial) {
	sought := newBatch(t, "Tag", len(soughtPlants), func(begin string, i int) map[string]any {
		plant := map[string]any{"name": soughtPlants[i].name}
		if end := soughtPlants[i].tagEnd; end != "-" {
			plant["tag"] = begin + end
		}
		return plant
	})
	for text, found := range map[string][]int{
		"wilson lyrata": {0, 5}, "WILS": {4, 0, 5, 2}, "ficus wilson": {4, 0}, "é\tpin": {3}, "e\u0301": {3}, "epin": nil, "wilson wilsonia": {2},
	} {
		meets(t, sought, url.Values{"q": {text}, "limit": {"1000"}}, found)
	}
	for order, found := range map[string][]int{
		"id": {0, 1, 2, 5}, "id_desc": {5, 2, 1, 0}, "name": {1, 0, 5, 2}, "name_desc": {2, 5, 0, 1},
		"tag": {0, 2, 1, 5}, "tag_desc": {5, 1, 2, 0},
	} {
		meets(t, sought, url.Values{"q": {"l"}, "tag_prefix": {sought.begin}, "order": {order}}, found)
	}
	counts(t, url.Values{"q": {"lyrata"}, "tag": {sought.begin + "a"}}, 1)
	counts(t, url.Values{"q": {"wilson"}, "tag_prefix": {sought.begin}}, 3)
	counts(t, url.Values{"tag_prefix": {sought.begin + "a"}}, 3)
	meets(t, sought, url.Values{"tag_prefix": {sought.begin + "a"}, "limit": {"1"}}, []int{0, 2, 3})
	walksTo(t, url.Values{"tag": {sought.begin + "b"}, "order": {"tag"}}, sought.pick(1, 5))
	write(t, "patchPlant", sought.plants[1], map[string]any{"name": "Ficus lyrata"})
	meets(t, sought, url.Values{"order": {"updated_asc"}, "tag": {sought.begin + "b"}, "limit": {"1"}}, []int{5, 1})
}

// meets fails unless a walk meets exactly these plants of a batch. A page of a search may be empty.
func meets(t *scenario.Trial, of *batch, query url.Values, found []int) {
	want, all := of.pick(found...), make([]int, len(of.plants))
	for i := range all {
		all[i] = i
	}
	own, met := of.pick(all...), []string(nil)
	for page := range t.Pages("listPlants", query) {
		for _, id := range idsOf(t, page) {
			if slices.Contains(own, id) {
				met = append(met, id)
			}
		}
	}
	t.Require(slices.Equal(met, want), "a search with %v meets %q, want %q", query, met, want)
}
