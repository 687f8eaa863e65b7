package plantcontract

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// sequences are what the document promises in words about several requests.
var sequences = []contracttest.Sequence{
	{Name: "a repeated create changes nothing", Run: repeatedCreate},
	{Name: "a create with a taken id changes nothing", Run: takenID},
	{Name: "createPlants stores all or nothing", Run: allOrNothing},
	{Name: "createPlants stores what it responds with, once", Run: storedOnce},
	{Name: "updated_at moves with each change, created_at never", Run: times},
	{Name: "from chooses where listChanges begins", Run: changesFrom, Shows: []scenario.Promise{
		scenario.Effect("listChanges", "from"), scenario.Default("listChanges", "from"),
	}},
	{Name: "etag is the ETag", Run: etagMember},
}

func repeatedCreate(t *scenario.Trial) {
	plant := create(t)
	read(t, plant)
	write(t, "createPlant", nil, plant.Sent)
	unchanged(t, plant)
}

func takenID(t *scenario.Trial) {
	plant := create(t)
	read(t, plant)
	for _, name := range []string{"name", "tag"} {
		other := maps.Clone(plant.Sent)
		other[name] = "another"
		t.Do(scenario.Call{Operation: "createPlant", Body: other}, scenario.RefusedAt(scenario.Conflict, "body", "/id"))
		unchanged(t, plant)
	}
}

func allOrNothing(t *scenario.Trial) {
	taken, free := create(t), newPlants(1)[0]
	read(t, taken)
	t.Draw(free)
	batch := map[string]any{"plants": []any{
		map[string]any{"id": free.ID, "name": "one"}, map[string]any{"id": taken.ID, "name": "another"},
	}}
	t.Do(scenario.Call{Operation: "createPlants", Body: batch}, scenario.RefusedAt(scenario.Conflict, "body", "/plants/1/id"))
	unchanged(t, taken)
	t.Do(scenario.Call{Operation: "getPlant", Of: free}, scenario.Refused(scenario.UnknownResource))
}

func storedOnce(t *scenario.Trial) {
	plants := newPlants(2)
	t.Draw(plants...)
	batch := map[string]any{"plants": []any{
		map[string]any{"id": plants[0].ID, "name": "first", "tag": "t"}, map[string]any{"id": plants[1].ID, "name": "second"},
	}}
	want := []any{map[string]any{"name": "first", "tag": "t"}, map[string]any{"name": "second"}}
	for _, created := range []string{"2", "0"} { // the second time it is a repeated request
		got := write(t, "createPlants", nil, batch)
		isRight := reflect.DeepEqual(got.Member("plants"), want) && got.Member("created") == created
		t.Require(isRight, "the response to two plants, %s of them new, is %s", created, got.Body)
	}
	for i, name := range []string{"first", "second"} {
		got := read(t, plants[i])
		t.Require(got.Member("name") == name, "a batch with the plant %v %s has stored %s", plants[i].ID, name, got.Body)
	}
}

func times(t *scenario.Trial) {
	plant := create(t)
	last := read(t, plant)
	for i, operation := range []string{"putPlant", "patchPlant", "putPlant"} {
		body := map[string]any{"name": fmt.Sprint("change ", i)}
		write(t, operation, plant, body)
		next := read(t, plant)
		updated, again := fmt.Sprint(last.Member("updated_at")), fmt.Sprint(next.Member("updated_at"))
		t.Require(again > updated, "%s has moved updated_at from %v to %v", operation, updated, again)
		isSame := next.Member("created_at") == last.Member("created_at")
		t.Require(isSame, "%s has moved created_at from %v to %v", operation, last.Member("created_at"), next.Member("created_at"))
		write(t, operation, plant, body)
		unchanged(t, plant) // a repeated request
		last = next
	}
}

// idsOfChanges reads a page of changes of which only the ids and the position matter.
func idsOfChanges(t *scenario.Trial, of url.Values) (ids []string, position string) {
	page := changes(t, of)
	for _, change := range page.Changes {
		ids = append(ids, change.ID.String())
	}
	return ids, page.Position
}

func changesFrom(t *scenario.Trial) {
	before := create(t)
	none, position := idsOfChanges(t, url.Values{"from": {"now"}})
	after := create(t)
	later, _ := idsOfChanges(t, url.Values{"from": {"now"}, "after": {position}, "limit": {"1000"}})
	hasOld, hasNew := slices.Contains(later, fmt.Sprint(before.ID)), slices.Contains(later, fmt.Sprint(after.ID))
	t.Require(len(none) == 0 && !hasOld && hasNew,
		"from now on are the changes %v, then %v; want none, then one of %v, and none of %v", none, later, after.ID, before.ID)
	first, _ := idsOfChanges(t, url.Values{"limit": {"1"}})
	start, _ := idsOfChanges(t, url.Values{"limit": {"1"}, "from": {"start"}})
	isSame := len(first) == 1 && slices.Equal(first, start)
	t.Require(isSame, "changes begin with %v, and from the start with %v; want the same plant", first, start)
}

func etagMember(t *scenario.Trial) {
	got := read(t, create(t))
	etag := got.Header.Get("ETag")
	t.Require(etag == fmt.Sprintf("%q", got.Member("etag")), "the ETag is %s, the member etag is %v", etag, got.Member("etag"))
}
