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
func namedPlants(t *scenario.Trial, text string) *batch {
	return newBatch(t, text, len(ends)+3, func(begin string, i int) map[string]any {
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

func namePrefix(t *scenario.Trial) {
	named := namedPlants(t, "Name")
	for text, found := range map[string][]int{
		"": inOrder, "fic": {6, 7}, "FICUS": {6, 7}, "ficus x": nil, "ss": {4}, "e": {5},
		"É": {2, 3}, "E\u0301": {2, 3}, "ß": {0, 1}, "ẞ": {0, 1},
	} {
		of, want := url.Values{"name_prefix": {named.begin + text}}, named.pick(found...)
		walksTo(t, of, want)
		counts(t, of, len(want))
		walksTo(t, with(of, "order", "name"), want)
	}
}

func orderByName(t *scenario.Trial) {
	named := namedPlants(t, "\x00Name") // the first names of all, so that the walk is short
	want := named.pick(inOrder...)
	for _, limit := range []string{"1", "4", "1000"} {
		walksInOrder(t, url.Values{"order": {"name"}, "limit": {limit}}, want)
	}
	var cursors []url.Values
	for page := range t.Pages("listPlants", url.Values{"name_prefix": {named.begin}, "limit": {"1"}}) {
		if len(cursors) == len(want)-1 {
			break
		}
		cursors = append(cursors, cursorOf(t, page))
	}
	for i, cursor := range cursors {
		rest := want[i+1:]
		got := idsOf(t, query(t, "listPlants", with(cursor, "limit", strconv.Itoa(len(rest)))))
		t.Require(slices.Equal(got, rest), "a cursor without other parameters continues with %v, want %v", got, rest)
	}
}

// walksInOrder fails unless a walk meets plants in their order. Other plants may come first or later.
func walksInOrder(t *scenario.Trial, of url.Values, want []string) {
	var met []string
	seen := map[json.Number]bool{} // the first plants of pages
	for page := range t.Pages("listPlants", of) {
		plants := decoded[[]listedPlant](t, "list of plants", page)
		if len(plants) == 0 || seen[plants[0].ID] {
			break // it would not end
		}
		seen[plants[0].ID] = true
		for _, plant := range plants {
			id := plant.ID.String()
			switch {
			case slices.Contains(want, id):
				met = append(met, id)
			case plant.Name > "\x01":
				met = append(met, "a name that comes later")
			}
		}
		if len(met) >= len(want) {
			break
		}
	}
	isInOrder := len(met) >= len(want) && slices.Equal(met[:len(want)], want)
	t.Require(isInOrder, "a walk with %v meets %v, want %v", of, met, want)
}

func orderByID(t *scenario.Trial) {
	ids := namedPlants(t, "Name").pick(0, 1, 2, 3, 4, 5, 6, 7, 8)
	first, _ := strconv.ParseInt(ids[0], 10, 64) // which is a number
	of := url.Values{"after": {strconv.FormatInt(first-1, 10)}, "limit": {strconv.Itoa(len(ids))}}
	for _, of := range []url.Values{of, with(of, "order", "id")} {
		got := idsOf(t, query(t, "listPlants", of))
		t.Require(slices.Equal(got, ids), "a list with %v has %v, want %v", of, got, ids)
	}
}

func descendingOrders(t *scenario.Trial) {
	named := namedPlants(t, "Name")
	byName := slices.Clone(inOrder)
	slices.Reverse(byName)
	byID := []int{8, 7, 6, 5, 4, 3, 2, 1, 0}
	walksTo(t, url.Values{"order": {"name_desc"}, "name_prefix": {named.begin}}, named.pick(byName...))
	for _, i := range byID {
		write(t, "patchPlant", named.plants[i], map[string]any{"tag": named.begin})
	}
	walksTo(t, url.Values{"order": {"id_desc"}, "tag": {named.begin}}, named.pick(byID...))
	walksByUpdate(t, named.pick(0, 1, 2, 3, 4, 5, 6, 7, 8))
}

// walksByUpdate fails unless a walk meets plants in the order in which they have changed, the last one first.
func walksByUpdate(t *scenario.Trial, rest []string) {
	for page := range t.Pages("listPlants", url.Values{"order": {"updated"}, "limit": {"2"}}) {
		for _, id := range idsOf(t, page) {
			i := slices.Index(rest, id)
			if i < 0 {
				continue
			}
			t.Require(i == 0, "order=updated lists plant %s before plant %s, which has changed later", id, rest[0])
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return
		}
	}
	t.Check(scenario.Brokenf("order=updated does not list the plants %v", rest))
}

func movesWithName(t *scenario.Trial) {
	named := namedPlants(t, "Name")
	write(t, "patchPlant", named.plants[0], map[string]any{"name": named.begin + "fi"})
	write(t, "putPlant", named.plants[8], map[string]any{"name": named.begin + "gingko"})
	write(t, "deletePlant", named.plants[6], nil)
	walksTo(t, url.Values{"name_prefix": {named.begin}}, named.pick(5, 0, 7, 8, 4, 2, 3, 1))
	counts(t, url.Values{"name_prefix": {named.begin + "fi"}}, 2)
}
