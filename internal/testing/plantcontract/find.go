package plantcontract

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest"
)

// findSequences are what the document promises of lists in the order of names, of counts
// and of tags. Other plants may be in the store: the names and tags of a sequence begin
// with a text that no others have.
var findSequences = []contracttest.Sequence{
	{Name: "name_prefix finds names, in their order across pages", Shows: []string{
		effect("listPlants", "name_prefix"), effect("listPlants", "cursor"), effect("countPlants", "name_prefix"),
	}, Try: func(s *contracttest.Session) {
		begin, ids := namedPlants(s, "Name")
		for text, want := range map[string][]int{
			"": inOrder, "fic": {6, 7}, "FICUS": {6, 7}, "ficus x": nil, "ss": {4}, "e": {5},
			"É": {2, 3}, "E\u0301": {2, 3}, "ß": {0, 1}, "ẞ": {0, 1},
		} {
			query := url.Values{"name_prefix": {begin + text}}
			walksTo(s, query, pick(ids, want))
			counts(s, query, len(want))
			query.Set("order", "name")
			walksTo(s, query, pick(ids, want))
		}
	}},
	{Name: "order=name lists all plants by name, and a cursor continues", Shows: []string{
		effect("listPlants", "order"),
	}, Try: func(s *contracttest.Session) {
		begin, ids := namedPlants(s, "\x00Name") // the first names of all, so that the walk is short
		want := pick(ids, inOrder)
		for _, limit := range []string{"1", "4", "1000"} {
			var met []string
			seen := map[json.Number]bool{}
			query := url.Values{"order": {"name"}, "limit": {limit}}
			for page := range s.Walk("listPlants", query) {
				plants := plantsOf(s, page)
				if len(plants) == 0 || seen[plants[0].ID] {
					break // it would not end
				}
				seen[plants[0].ID] = true
				for _, p := range plants {
					if id := p.ID.String(); slices.Contains(want, id) {
						met = append(met, id)
					} else if p.Name > "\x01" {
						met = append(met, "a name that comes later")
					}
				}
				if len(met) >= len(want) {
					break
				}
			}
			if len(met) < len(want) || !slices.Equal(met[:len(want)], want) {
				s.Failf("a walk with %v meets %v, want %v", query, met, want)
			}
		}
		for page := range s.Walk("listPlants", url.Values{"name_prefix": {begin}, "limit": {"1"}}) {
			if want = want[1:]; len(want) == 0 {
				break
			}
			query := cursorOf(s, page)
			query.Set("limit", strconv.Itoa(len(want)))
			if got := idsOf(s, s.Query("listPlants", query)); !slices.Equal(got, want) {
				s.Failf("a cursor without other parameters continues with %v, want %v", got, want)
			}
		}
	}},
	{Name: "order=id is the default order", Try: func(s *contracttest.Session) {
		_, ids := namedPlants(s, "Name")
		first, _ := strconv.ParseInt(ids[0], 10, 64)
		query := url.Values{"after": {strconv.FormatInt(first-1, 10)}, "limit": {strconv.Itoa(len(ids))}}
		for range 2 {
			if got := idsOf(s, s.Query("listPlants", query)); !slices.Equal(got, ids) {
				s.Failf("a list with %v has %v, want %v", query, got, ids)
			}
			query.Set("order", "id")
		}
	}},
	{Name: "descending orders, with a filter across pages", Try: func(s *contracttest.Session) {
		begin, ids := namedPlants(s, "Name")
		names := pick(ids, inOrder)
		slices.Reverse(names)
		walksTo(s, url.Values{"order": {"name_desc"}, "name_prefix": {begin}}, names)
		slices.Reverse(ids)
		for _, id := range ids {
			s.Accepted(s.Call("patchPlant", id, map[string]any{"tag": begin}))
		}
		walksTo(s, url.Values{"order": {"id_desc"}, "tag": {begin}}, ids)
		slices.Reverse(ids) // the order of the patches
		for page := range s.Walk("listPlants", url.Values{"order": {"updated"}, "limit": {"2"}}) {
			for _, id := range idsOf(s, page) {
				if len(ids) > 0 && slices.Contains(ids, id) {
					if id != ids[0] {
						s.Failf("order=updated lists plant %s before plant %s, which has changed later", id, ids[0])
					}
					ids = ids[1:]
				}
			}
			if len(ids) == 0 {
				return
			}
		}
		s.Failf("order=updated does not list the plants %v", ids)
	}},
	{Name: "a plant moves in the order of names with its name", Try: func(s *contracttest.Session) {
		begin, ids := namedPlants(s, "Name")
		s.Accepted(s.Call("patchPlant", ids[0], map[string]any{"name": begin + "fi"}))
		s.Accepted(s.Call("putPlant", ids[8], map[string]any{"name": begin + "gingko"}))
		s.Accepted(s.Call("deletePlant", ids[6], nil))
		walksTo(s, url.Values{"name_prefix": {begin}}, pick(ids, []int{5, 0, 7, 8, 4, 2, 3, 1}))
		counts(s, url.Values{"name_prefix": {begin + "fi"}}, 2)
	}},
	{Name: "parameters that cannot be combined are refused", Try: func(s *contracttest.Session) {
		refused := func(got contracttest.Interaction, name string) {
			s.Refused(got, contracttest.Violation{Kind: contracttest.InvalidParameter, In: "query", Pointer: "/" + name})
		}
		for operation, cases := range map[string][][]string{
			"listPlants": {
				{"name_prefix=fic", "tag", "after"},
				{"order=name", "tag", "after"},
				{"order=name_desc", "tag", "after"},
				{"order=updated", "tag", "after", "name_prefix"},
				{"order=id_desc", "after", "name_prefix"},
				{"order=id", "name_prefix", "cursor"},
				{"cursor=000000000000000a4649435553", "tag", "after"},
			},
			"countPlants": {{"name_prefix=fic", "tag"}},
		} {
			for _, c := range cases {
				all, _ := url.ParseQuery(c[0])
				for _, name := range c[1:] {
					query, _ := url.ParseQuery(c[0])
					query.Set(name, map[string]string{
						"tag": "Moraceae", "after": "8", "name_prefix": "fic", "cursor": "000000000000000a4649435553",
					}[name])
					all.Set(name, query.Get(name))
					refused(s.Query(operation, query), name)
				}
				got := s.Query(operation, all)
				for _, name := range c[1:] {
					refused(got, name)
				}
			}
		}
	}},
	{Name: "tags are listed once and in order across pages", Shows: []string{
		effect("listTags", "limit"), effect("listTags", "after"), effect("listTags", "prefix"), effect("countPlants", "tag"),
	}, Try: func(s *contracttest.Session) {
		begin := unique(s, "Tag")
		// In UTF-16 the last character would come before the one before it.
		want := []string{begin, begin + "B", begin + "a", begin + "b", begin + "bb", begin + "\uff21", begin + "\U0001f335"}
		tags := slices.Concat([]string{"", "x" + begin, strings.ToUpper(begin) + "a", begin[:len(begin)-1]}, want, want[3:4])
		slices.Reverse(tags)
		ids := createAll(s, len(tags), func(i int) map[string]any { return map[string]any{"name": "Ficus", "tag": tags[i]} })
		for limit := 1; limit <= len(want)+1; limit++ {
			walksToTags(s, url.Values{"prefix": {begin}, "limit": {strconv.Itoa(limit)}}, want, limit)
		}
		for i := range want {
			rest := want[i+1:]
			walksToTags(s, url.Values{"prefix": {begin}, "after": {want[i]}}, rest, len(want))
			if len(rest) > 0 {
				got := tagsOf(s, s.Query("listTags", url.Values{"after": {want[i]}, "limit": {strconv.Itoa(len(rest))}}))
				if !slices.Equal(got, rest) {
					s.Failf("after %q the tags are %q, want %q", want[i], got, rest)
				}
			}
		}
		walksToTags(s, url.Values{"prefix": {begin}, "after": {begin + "C"}}, want[2:], len(want)) // no plant has it
		walksToTags(s, url.Values{"prefix": {begin}, "after": {""}}, want, len(want))
		walksToTags(s, url.Values{"prefix": {begin + "b"}}, want[3:5], len(want))
		if got := tagsOf(s, s.Query("listTags", url.Values{"limit": {"1"}})); !slices.Equal(got, []string{""}) {
			s.Failf("the first tag is %q, want the empty one", got)
		}

		walksTo(s, url.Values{"tag": {want[3]}}, pick(ids, []int{0, 4}))
		counts(s, url.Values{"tag": {want[3]}}, 2)
		s.Accepted(s.Call("deletePlant", ids[0], nil)) // the other plant with this tag
		counts(s, url.Values{"tag": {want[3]}}, 1)
		s.Accepted(s.Call("patchPlant", ids[1], map[string]any{"tag": nil}))
		counts(s, url.Values{"tag": {want[6]}}, 0)
		walksToTags(s, url.Values{"prefix": {begin}}, want[:6], len(want))
	}},
	{Name: "a page of tags has 100 of them by default", Shows: []string{
		"listTags, default of parameter limit",
	}, Try: func(s *contracttest.Session) {
		begin := unique(s, "Tag")
		want := make([]string, 101)
		for i := range want {
			want[i] = fmt.Sprintf("%s%03d", begin, i)
		}
		createAll(s, len(want), func(i int) map[string]any { return map[string]any{"name": "Ficus", "tag": want[i]} })
		walksToTags(s, url.Values{"prefix": {begin}}, want, 100)
	}},
	{Name: "countPlants counts all plants", Try: func(s *contracttest.Session) {
		ids := createAll(s, 3, func(int) map[string]any { return map[string]any{"name": "Ficus"} })
		got := s.Query("countPlants", nil)
		s.Accepted(got)
		if n, _ := strconv.Atoi(fmt.Sprint(got.Member("count"))); n < len(ids) {
			s.Failf("there are %d plants, and the count is %s", len(ids), got.Body)
		}
	}},
}

func effect(operation, parameter string) string {
	return operation + ", effect of parameter " + parameter
}

// unique returns a text that no name or tag of another sequence begins with.
func unique(s *contracttest.Session, text string) string {
	return fmt.Sprintf("%s %v ", text, s.NewID("createPlant"))
}

// ends are the ends of names, and inOrder is the order of these. Names that differ only
// in case, or in the form of their accents, follow in the order of ids. E comes before S,
// É and ß.
var (
	ends    = []string{"ẞ", "ß", "étoile", "E\u0301TOILE", "ss", "Etoile", "ficus", "Ficus", ""}
	inOrder = []int{8, 5, 6, 7, 4, 2, 3, 0, 1}
)

// namedPlants creates plants whose names begin with a text, half of them in other case,
// and some whose names do not. It returns the text and the ids of the first ones.
func namedPlants(s *contracttest.Session, text string) (begin string, ids []string) {
	begin = unique(s, text)
	others := []string{"x" + begin, begin[:len(begin)-1], "x" + begin + "ficus"}
	ids = createAll(s, len(ends)+len(others), func(i int) map[string]any {
		switch {
		case i >= len(ends):
			return map[string]any{"name": others[i-len(ends)]}
		case i%2 == 1:
			return map[string]any{"name": strings.ToUpper(begin) + ends[i]}
		default:
			return map[string]any{"name": begin + ends[i]}
		}
	})
	return begin, ids[:len(ends)]
}

// createAll creates n plants with ascending ids, which it returns.
func createAll(s *contracttest.Session, n int, newPlant func(i int) map[string]any) (ids []string) {
	plants := make([]any, n)
	for i := range plants {
		p := newPlant(i)
		p["id"] = s.NewID("createPlant")
		plants[i], ids = p, append(ids, fmt.Sprint(p["id"]))
	}
	s.Accepted(s.Call("createPlants", nil, map[string]any{"plants": plants}))
	return ids
}

func pick(ids []string, indexes []int) (picked []string) {
	for _, i := range indexes {
		picked = append(picked, ids[i])
	}
	return picked
}

// walksTo fails unless a walk with each size of page meets exactly these plants.
func walksTo(s *contracttest.Session, query url.Values, want []string) {
	for limit := 1; limit <= len(want)+1; limit++ {
		query.Set("limit", strconv.Itoa(limit))
		walk(s, "listPlants", query, want, limit, idsOf)
	}
	query.Del("limit")
}

func walksToTags(s *contracttest.Session, query url.Values, want []string, limit int) {
	walk(s, "listTags", query, want, limit, tagsOf)
}

// walk fails unless the pages of a walk have exactly these items, and each page but the
// last one is full.
func walk(
	s *contracttest.Session, operation string, query url.Values, want []string, limit int,
	itemsOf func(*contracttest.Session, contracttest.Interaction) []string,
) {
	var met []string
	for page := range s.Walk(operation, query) {
		items := itemsOf(s, page)
		if full := min(limit, len(want)-len(met)); len(items) != full {
			s.Failf("a page of %s with %v has %q after %q, want %d items", operation, query, items, met, full)
		}
		if met = append(met, items...); !slices.Equal(met, want[:len(met)]) {
			s.Failf("a walk of %s with %v meets %q, want %q", operation, query, met, want)
		}
		if link := page.Header.Get("Link"); link != "" && len(met) == len(want) {
			s.Failf("a walk of %s with %v has met all of %q, and goes on with %s", operation, query, met, link)
		}
	}
	if len(met) < len(want) {
		s.Failf("a walk of %s with %v ends after %q, want %q", operation, query, met, want)
	}
}

// counts fails unless countPlants counts exactly n plants.
func counts(s *contracttest.Session, query url.Values, n int) {
	got := s.Query("countPlants", query)
	s.Accepted(got)
	if got.Member("count") != strconv.Itoa(n) || got.Member("more") != false {
		s.Failf("there are %d plants with %v, and the count is %s", n, query, got.Body)
	}
}

// cursorOf returns the cursor in the Link of a page.
func cursorOf(s *contracttest.Session, page contracttest.Interaction) url.Values {
	link, _, _ := strings.Cut(strings.TrimPrefix(page.Header.Get("Link"), "<"), ">")
	next, err := url.Parse(link)
	if err != nil || !next.Query().Has("cursor") {
		s.Failf("the Link %q has no cursor: %v", page.Header.Get("Link"), err)
	}
	return url.Values{"cursor": next.Query()["cursor"]}
}

type listedPlant struct {
	ID   json.Number
	Name string
}

func plantsOf(s *contracttest.Session, page contracttest.Interaction) (plants []listedPlant) {
	s.Accepted(page)
	if err := json.Unmarshal(page.Body, &plants); err != nil {
		s.Failf("the response is no list of plants: %v", err)
	}
	return plants
}

func idsOf(s *contracttest.Session, page contracttest.Interaction) (ids []string) {
	for _, p := range plantsOf(s, page) {
		ids = append(ids, p.ID.String())
	}
	return ids
}

func tagsOf(s *contracttest.Session, page contracttest.Interaction) (tags []string) {
	s.Accepted(page)
	if err := json.Unmarshal(page.Body, &tags); err != nil {
		s.Failf("the response is no list of tags: %v", err)
	}
	return tags
}
