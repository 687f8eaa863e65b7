package plantcontract

import (
	"fmt"
	"net/url"
	"reflect"
	"strconv"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// historySequences are what the document promises of the history of a plant, if the service keeps one.
var historySequences = []contracttest.Sequence{
	{Name: "getHistory has each change, with the state before", Run: eachChangeOfPlant, Shows: []scenario.Promise{
		scenario.Effect("getHistory", "id"),
	}},
	{Name: "changed_by is the name of the token", Run: namesOfChanges},
	{Name: "getHistory has pages, the newest changes first", Run: pagesOfHistory, Shows: []scenario.Promise{
		scenario.Effect("getHistory", "limit"), scenario.Effect("getHistory", "cursor"),
	}},
	{Name: "a page of a history has 100 changes by default", Run: defaultHistory, Shows: []scenario.Promise{
		scenario.Default("getHistory", "limit"),
	}},
}

// entry is an entry of a history.
type entry struct {
	Change string
	By     string `json:"changed_by"`
	At     string `json:"changed_at"`
	Plant  map[string]any
}

// pageOfHistory reads a page of the history of a plant.
func pageOfHistory(t *scenario.Trial, plant *scenario.Thing, of url.Values) ([]entry, scenario.Interaction) {
	page := t.Do(scenario.Call{Operation: "getHistory", Of: plant, Query: of}, scenario.Accepted)
	return decoded[[]entry](t, "history", page), page
}

func eachChangeOfPlant(t *scenario.Trial) {
	plant := create(t)
	none, _ := pageOfHistory(t, plant, nil)
	t.Require(len(none) == 0, "a new plant has the history %v", none)
	var want []entry // the newest first, as far as it is known
	for _, change := range []struct {
		operation, kind string
		body            any
	}{
		{"putPlant", "replaced", map[string]any{"name": "second"}},
		{"putPlant", "replaced", map[string]any{"name": "third", "tag": "t"}},
		{"patchPlant", "patched", map[string]any{"tag": nil}},
		{"deletePlant", "deleted", nil},
		{"putPlant", "", map[string]any{"name": "again"}}, // a create has no entry
		{"patchPlant", "patched", map[string]any{"name": "last"}},
		{"patchPlant", "", map[string]any{"name": "last"}}, // nothing changes
	} {
		before := read(t, plant)
		write(t, change.operation, plant, change.body)
		if change.kind != "" {
			want = append([]entry{{Change: change.kind, Plant: decoded[map[string]any](t, "plant", before)}}, want...)
		}
		got, _ := pageOfHistory(t, plant, nil)
		t.Require(len(got) == len(want), "after %s the history has %d changes, want %d: %v", change.operation, len(got), len(want), got)
		for i := range want {
			isRight := got[i].Change == want[i].Change && reflect.DeepEqual(got[i].Plant, want[i].Plant)
			t.Require(isRight, "after %s the entry %d of the history is %v, want %v", change.operation, i, got[i], want[i])
			t.Require(i == 0 || got[i].At <= got[i-1].At, "the history is not in the order of the times: %v", got)
		}
	}
}

func namesOfChanges(t *scenario.Trial) {
	name := fmt.Sprint(query(t, "getToken", nil).Member("name"))
	plant := create(t)
	stored := read(t, plant).Member("changed_by")
	if stored == nil {
		return // the operator may leave names out
	}
	t.Require(stored == name, "a plant that %q has created is by %v", name, stored)
	write(t, "putPlant", plant, map[string]any{"name": "another"})
	write(t, "deletePlant", plant, nil)
	entries, _ := pageOfHistory(t, plant, nil)
	t.Require(len(entries) == 2, "after two changes the history is %v", entries)
	for _, each := range entries {
		isRight := each.By == name && each.Plant["changed_by"] == name
		t.Require(isRight, "what %q has changed has the entry %v", name, each)
	}
}

// rename renames a plant a number of times.
func rename(t *scenario.Trial, plant *scenario.Thing, times int) {
	for i := range times {
		write(t, "putPlant", plant, map[string]any{"name": fmt.Sprint(i)})
	}
}

func pagesOfHistory(t *scenario.Trial) {
	const changes = 4
	plant := create(t)
	rename(t, plant, changes)
	for limit := 1; limit <= changes+1; limit++ {
		of, met := url.Values{"limit": {strconv.Itoa(limit)}}, 0
		for {
			entries, page := pageOfHistory(t, plant, of)
			isFull := len(entries) == min(limit, changes-met)
			t.Require(isFull, "a page of %d has %v after %d of %d changes", limit, entries, met, changes)
			for _, each := range entries {
				met++
				isNext := met == changes || each.Plant["name"] == fmt.Sprint(changes-1-met)
				t.Require(isNext, "the change %d of %d is %v", met, changes, each)
			}
			hasMore := page.Header.Get("Link") != ""
			t.Require(hasMore == (met < changes), "after %d of %d changes the Link is %q", met, changes, page.Header.Get("Link"))
			if !hasMore {
				break
			}
			of = cursorOf(t, page)
			of.Set("limit", strconv.Itoa(limit))
		}
	}
}

func defaultHistory(t *scenario.Trial) {
	plant := create(t)
	rename(t, plant, 101)
	entries, page := pageOfHistory(t, plant, nil)
	t.Require(len(entries) == 100 && page.Header.Get("Link") != "", "of 101 changes, a page without limit has %d", len(entries))
}
