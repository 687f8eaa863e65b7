package plantcontract

import (
	"encoding/json"
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
	{Name: "a repeated create changes nothing", Steps: repeatedCreate},
	{Name: "a create with a taken id changes nothing", Steps: takenID},
	{Name: "createPlants stores all or nothing", Steps: allOrNothing},
	{Name: "createPlants stores what it responds with, once", Steps: storedOnce},
	{Name: "updated_at moves with each change, created_at never", Steps: times},
	{Name: "from chooses where listChanges begins", Steps: changesFrom, Shows: []scenario.Promise{
		scenario.Effect("listChanges", "from"), scenario.Default("listChanges", "from"),
	}},
	{Name: "etag is the ETag", Steps: etagMember},
}

func repeatedCreate() []scenario.Step {
	plant := newPlant()
	return append(create(plant),
		read(plant, nil),
		write("createPlant", nil, func() any { return plant.Sent }),
		unchanged(plant))
}

func takenID() []scenario.Step {
	plant := newPlant()
	steps := append(create(plant), read(plant, nil))
	for _, name := range []string{"name", "tag"} {
		refused := write("createPlant", nil, func() any {
			other := maps.Clone(plant.Sent)
			other[name] = "another"
			return other
		})
		refused.Expect = scenario.RefusedAt(scenario.Conflict, "body", "/id")
		steps = append(steps, refused, unchanged(plant))
	}
	return steps
}

func allOrNothing() []scenario.Step {
	taken, free := newPlant(), newPlant()
	batch := write("createPlants", nil, func() any {
		return map[string]any{"plants": []any{
			map[string]any{"id": free.ID, "name": "one"}, map[string]any{"id": taken.ID, "name": "another"},
		}}
	})
	batch.Expect = scenario.RefusedAt(scenario.Conflict, "body", "/plants/1/id")
	absent := read(free, nil)
	absent.Expect = scenario.Refused(scenario.UnknownResource)
	return append(create(taken), read(taken, nil), scenario.Step{Draw: []*scenario.Thing{free}}, batch, unchanged(taken), absent)
}

func storedOnce() []scenario.Step {
	one, two := newPlant(), newPlant()
	want := []any{map[string]any{"name": "first", "tag": "t"}, map[string]any{"name": "second"}}
	steps := []scenario.Step{{Draw: []*scenario.Thing{one, two}}}
	for _, created := range []string{"2", "0"} { // the second time it is a repeated request
		batch := write("createPlants", nil, func() any {
			return map[string]any{"plants": []any{
				map[string]any{"id": one.ID, "name": "first", "tag": "t"}, map[string]any{"id": two.ID, "name": "second"},
			}}
		})
		batch.Check = func(got scenario.Interaction) error {
			if reflect.DeepEqual(got.Member("plants"), want) && got.Member("created") == created {
				return nil
			}
			return scenario.Brokenf("the response to two plants, %s of them new, is %s", created, got.Body)
		}
		steps = append(steps, batch)
	}
	return append(steps, isNamed(one, "first"), isNamed(two, "second"))
}

// isNamed fails unless a batch has stored a plant with a name.
func isNamed(plant *scenario.Thing, name string) scenario.Step {
	return read(plant, func(got scenario.Interaction) error {
		if got.Member("name") == name {
			return nil
		}
		return scenario.Brokenf("a batch with the plant %v %s has stored %s", plant.ID, name, got.Body)
	})
}

func times() []scenario.Step {
	plant := newPlant()
	steps := append(create(plant), read(plant, nil))
	for i, operation := range []string{"putPlant", "patchPlant", "putPlant"} {
		body := always(map[string]any{"name": fmt.Sprint("change ", i)})
		steps = append(steps, write(operation, plant, body), movesTimes(plant, operation))
		steps = append(steps, write(operation, plant, body), unchanged(plant)) // a repeated request
	}
	return steps
}

// movesTimes reads a plant after a change.
func movesTimes(plant *scenario.Thing, operation string) scenario.Step {
	return scenario.Later(func() []scenario.Step {
		last := plant.Seen
		return []scenario.Step{read(plant, func(next scenario.Interaction) error {
			updated, created := last.Member("updated_at"), last.Member("created_at")
			switch {
			case fmt.Sprint(next.Member("updated_at")) <= fmt.Sprint(updated):
				return scenario.Brokenf("%s has moved updated_at from %v to %v", operation, updated, next.Member("updated_at"))
			case next.Member("created_at") != created:
				return scenario.Brokenf("%s has moved created_at from %v to %v", operation, created, next.Member("created_at"))
			}
			return nil
		})}
	})
}

// idPage is a page of changes of which only the ids matter.
type idPage struct {
	Changes  []struct{ ID json.Number }
	Position string
}

func (p idPage) ids() (ids []string) {
	for _, change := range p.Changes {
		ids = append(ids, change.ID.String())
	}
	return ids
}

// idsOfChanges remembers a page of changes.
func idsOfChanges(of func() url.Values, into *idPage) scenario.Step {
	return query("listChanges", of, reads("page of changes", func(page idPage) error { *into = page; return nil }))
}

func changesFrom() []scenario.Step {
	before, after := newPlant(), newPlant()
	var none, later, first, start idPage
	steps := append(create(before), idsOfChanges(asked(url.Values{"from": {"now"}}), &none))
	steps = append(steps, create(after)...)
	return append(steps,
		idsOfChanges(func() url.Values {
			return url.Values{"from": {"now"}, "after": {none.Position}, "limit": {"1000"}}
		}, &later),
		scenario.Verify(func() error {
			hasOld, hasNew := slices.Contains(later.ids(), fmt.Sprint(before.ID)), slices.Contains(later.ids(), fmt.Sprint(after.ID))
			if len(none.ids()) == 0 && !hasOld && hasNew {
				return nil
			}
			return scenario.Brokenf("from now on are the changes %v, then %v; want none, then one of %v, and none of %v",
				none.ids(), later.ids(), after.ID, before.ID)
		}),
		idsOfChanges(asked(url.Values{"limit": {"1"}}), &first),
		idsOfChanges(asked(url.Values{"limit": {"1"}, "from": {"start"}}), &start),
		scenario.Verify(func() error {
			if len(first.ids()) == 1 && slices.Equal(first.ids(), start.ids()) {
				return nil
			}
			return scenario.Brokenf("changes begin with %v, and from the start with %v; want the same plant", first.ids(), start.ids())
		}))
}

func etagMember() []scenario.Step {
	plant := newPlant()
	return append(create(plant), read(plant, func(got scenario.Interaction) error {
		if got.Header.Get("ETag") == fmt.Sprintf("%q", got.Member("etag")) {
			return nil
		}
		return scenario.Brokenf("the ETag is %s, the member etag is %v", got.Header.Get("ETag"), got.Member("etag"))
	}))
}
