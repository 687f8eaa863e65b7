package plantcontract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// changeSequences are what the document promises of the feed of changes. The store may have other
// plants, but no other client may change plants during the test.
var changeSequences = []contracttest.Sequence{
	{Name: "a copy made of listChanges has every plant", Steps: copyOfChanges},
	{Name: "listChanges has each write alone after the position before it", Steps: eachWriteAlone, Shows: []scenario.Promise{
		scenario.Effect("listChanges", "after"),
	}},
	{Name: "listChanges and streamChanges refuse an unknown position", Steps: unknownPositions},
	{Name: "listChanges has at most limit changes, and says whether there are more", Steps: limitedChanges, Shows: []scenario.Promise{
		scenario.Effect("listChanges", "limit"),
	}},
	{Name: "listChanges has 100 changes by default", Steps: defaultLimit, Shows: []scenario.Promise{
		scenario.Default("listChanges", "limit"),
	}},
	{Name: "listChanges does not wait by default", Steps: noWait, Shows: []scenario.Promise{
		scenario.Default("listChanges", "wait"),
	}},
	{Name: "listChanges waits for a change that comes later", Steps: waitsForChange, Shows: []scenario.Promise{
		scenario.Effect("listChanges", "wait"),
	}},
	{Name: "streamChanges has a change that comes later", Steps: streamsChange, Shows: []scenario.Promise{
		scenario.Effect("streamChanges", "after"),
	}},
	{Name: "streamChanges resumes after the last event, also with an older position", Steps: resumes, Shows: []scenario.Promise{
		scenario.Effect("streamChanges", "Last-Event-ID"),
	}},
}

// unknownPosition is a position of another store.
const unknownPosition = "AD7PTT2aDqEdAAAAAAAAACgAAAAAAAAAKgAAAAAAAAAAUFTG"

// changePage is a response of listChanges.
type changePage struct {
	Changes []struct {
		ID    json.Number
		Plant any
	}
	Position string
	More     bool
}

// changes reads a page of changes.
func changes(of func() url.Values, check func(changePage) error) scenario.Step {
	return query("listChanges", of, reads("page of changes", check))
}

// feed is what a client knows of the changes.
type feed struct {
	position string         // after the last change that it has seen
	copied   map[string]any // the plants by id
}

// catchUp applies all changes to the copy.
func (f *feed) catchUp() scenario.Step {
	f.copied = map[string]any{}
	isLast := false
	step := changes(func() url.Values {
		of := url.Values{"limit": {"1000"}}
		if f.position != "" {
			of.Set("after", f.position)
		}
		return of
	}, func(page changePage) error {
		isLast = len(page.Changes) == 0
		for _, change := range page.Changes {
			f.copied[change.ID.String()] = change.Plant
		}
		if page.Position == f.position && !isLast {
			return scenario.Brokenf("after %d changes, the position %q is still the same", len(page.Changes), f.position)
		}
		f.position = page.Position
		return nil
	})
	again := step
	step.Then = func(scenario.Interaction) []scenario.Step {
		if isLast {
			return nil
		}
		again.Then = step.Then
		return []scenario.Step{again}
	}
	return step
}

// after is the query for what follows the position.
func (f *feed) after(more url.Values) func() url.Values {
	return func() url.Values {
		of := url.Values{"after": {f.position}}
		for name, values := range more {
			of[name] = values
		}
		return of
	}
}

func copyOfChanges() []scenario.Step {
	plants, known := newPlants(3), &feed{}
	steps := append(create(plants...), write("deletePlant", plants[1], nil), known.catchUp())
	for _, plant := range plants {
		steps = append(steps, read(plant, func(got scenario.Interaction) error { return known.isCopied(plant, got) }))
	}
	return steps
}

// isCopied compares the copy of a plant with the plant.
func (f *feed) isCopied(plant *scenario.Thing, got scenario.Interaction) error {
	state, isKnown := f.copied[fmt.Sprint(plant.ID)]
	switch {
	case !exists(got) && state != nil:
		return scenario.Brokenf("%v does not exist, but the changes have %v", plant.ID, state)
	case !exists(got):
		return nil
	case !isKnown:
		return scenario.Brokenf("%v exists, but the changes lack it", plant.ID)
	}
	want, err := decoded[any]("plant", got)
	if err != nil || !reflect.DeepEqual(state, want) {
		return scenario.Brokenf("%v is %s, but the changes have %v", plant.ID, got.Body, state)
	}
	return nil
}

func eachWriteAlone() []scenario.Step {
	plant, known := newPlant(), &feed{}
	steps := append([]scenario.Step{known.catchUp()}, create(plant)...)
	steps = append(steps, known.expect("a create", plant, true)...)
	steps = append(steps, write("putPlant", plant, always(map[string]any{"name": "another"})))
	steps = append(steps, known.expect("a replacement", plant, true)...)
	steps = append(steps, write("deletePlant", plant, nil))
	return append(steps, known.expect("a deletion", plant, false)...)
}

// expect fails unless the only change after the position is one of a plant, and none comes after it.
func (f *feed) expect(what string, plant *scenario.Thing, exists bool) []scenario.Step {
	isAlone := changes(f.after(nil), func(page changePage) error {
		if len(page.Changes) != 1 || page.Changes[0].ID.String() != fmt.Sprint(plant.ID) {
			return scenario.Brokenf("after %s of %v the changes are %v", what, plant.ID, page.Changes)
		}
		if has := page.Changes[0].Plant != nil; has != exists {
			return scenario.Brokenf("after %s of %v the change has the plant %v", what, plant.ID, page.Changes[0].Plant)
		}
		f.position = page.Position
		return nil
	})
	return []scenario.Step{isAlone, changes(f.after(nil), func(page changePage) error {
		if len(page.Changes) > 0 {
			return scenario.Brokenf("the change by %s of %v comes again after its position: %v", what, plant.ID, page.Changes)
		}
		return nil
	})}
}

func unknownPositions() (steps []scenario.Step) {
	for _, operation := range []string{"listChanges", "streamChanges"} {
		refused := query(operation, asked(url.Values{"after": {unknownPosition}}), nil)
		refused.Expect = scenario.Refused(scenario.UnknownPosition)
		steps = append(steps, refused)
	}
	return steps
}

func limitedChanges() []scenario.Step {
	known := &feed{}
	steps := append([]scenario.Step{known.catchUp()}, create(newPlants(3)...)...)
	for limit := 1; limit <= 3; limit++ {
		steps = append(steps, changes(known.after(url.Values{"limit": {strconv.Itoa(limit)}}), func(page changePage) error {
			size := len(page.Changes)
			isFull := size > 0 && size <= limit
			if isFull && page.More == (size < 3) {
				return nil
			}
			return scenario.Brokenf("of 3 changes, a page with limit=%d has %d, and more is %t", limit, size, page.More)
		}))
	}
	return steps
}

func defaultLimit() []scenario.Step {
	known := &feed{}
	steps := append([]scenario.Step{known.catchUp()}, create(newPlants(101)...)...)
	return append(steps, changes(known.after(nil), func(page changePage) error {
		if size := len(page.Changes); size > 100 || size == 0 {
			return scenario.Brokenf("of 101 changes, a page without limit has %d, want 1 to 100", size)
		}
		return nil
	}))
}

func noWait() []scenario.Step {
	known := &feed{}
	return []scenario.Step{known.catchUp(), changes(known.after(nil), func(page changePage) error {
		if len(page.Changes) > 0 {
			return scenario.Brokenf("after the last change there is another one: %v", page.Changes)
		}
		return nil
	})}
}

// createLater creates a plant after the time that a request needs to arrive.
func createLater(plant *scenario.Thing) []scenario.Step {
	wait := scenario.Verify(func() error { time.Sleep(100 * time.Millisecond); return nil })
	return append([]scenario.Step{wait}, create(plant)...)
}

func waitsForChange() []scenario.Step {
	plant, known := newPlant(), &feed{}
	waiting := changes(known.after(url.Values{"wait": {"30"}}), func(page changePage) error {
		if len(page.Changes) == 1 && page.Changes[0].ID.String() == fmt.Sprint(plant.ID) {
			return nil
		}
		return scenario.Brokenf("%v was created while a request waited, and the response is %v", plant.ID, page.Changes)
	})
	waiting.Meanwhile = createLater(plant)
	return []scenario.Step{known.catchUp(), waiting}
}

// stream reads the first event after a position, which must be the change of a plant, and remembers it.
func (f *feed) stream(plant *scenario.Thing, header func() http.Header, into *scenario.Event) scenario.Step {
	return scenario.Step{
		Call: func() scenario.Call {
			return scenario.Call{Operation: "streamChanges", Query: f.after(nil)(), Header: header()}
		},
		Expect: scenario.Accepted,
		Check: func(got scenario.Interaction) error {
			events, _ := got.Events()
			if len(events) == 0 {
				return scenario.Brokenf("the stream ends without an event: %.300q", got.Body)
			}
			*into = events[0]
			return isChange(events[0], plant)
		},
	}
}

func noHeader() http.Header { return nil }

// isChange fails unless an event is the change of a plant.
func isChange(event scenario.Event, plant *scenario.Thing) error {
	var change struct{ ID json.Number }
	err := json.Unmarshal([]byte(event.Data), &change)
	if err != nil || event.ID == "" || change.ID.String() != fmt.Sprint(plant.ID) {
		return scenario.Brokenf("the event after a change of %v is %+v", plant.ID, event)
	}
	return nil
}

func streamsChange() []scenario.Step {
	plant, known := newPlant(), &feed{}
	streaming := known.stream(plant, noHeader, &scenario.Event{})
	streaming.Meanwhile = createLater(plant)
	return []scenario.Step{known.catchUp(), streaming}
}

func resumes() []scenario.Step {
	plants, known, first := newPlants(2), &feed{}, &scenario.Event{}
	steps := append([]scenario.Step{known.catchUp()}, create(plants...)...)
	return append(steps,
		known.stream(plants[0], noHeader, first),
		known.stream(plants[1], func() http.Header { return http.Header{"Last-Event-Id": {first.ID}} }, &scenario.Event{}))
}
