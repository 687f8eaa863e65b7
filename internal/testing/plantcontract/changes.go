package plantcontract

import (
	"encoding/json"
	"fmt"
	"maps"
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
	{Name: "a copy made of listChanges has every plant", Run: copyOfChanges},
	{Name: "listChanges has each write alone after the position before it", Run: eachWriteAlone, Shows: []scenario.Promise{
		scenario.Effect("listChanges", "after"),
	}},
	{Name: "listChanges and streamChanges refuse an unknown position", Run: unknownPositions},
	{Name: "listChanges has at most limit changes, and says whether there are more", Run: limitedChanges, Shows: []scenario.Promise{
		scenario.Effect("listChanges", "limit"),
	}},
	{Name: "listChanges has 100 changes by default", Run: defaultLimit, Shows: []scenario.Promise{
		scenario.Default("listChanges", "limit"),
	}},
	{Name: "listChanges does not wait by default", Run: noWait, Shows: []scenario.Promise{
		scenario.Default("listChanges", "wait"),
	}},
	{Name: "listChanges waits for a change that comes later", Run: waitsForChange, Shows: []scenario.Promise{
		scenario.Effect("listChanges", "wait"),
	}},
	{Name: "streamChanges has a change that comes later", Run: streamsChange, Shows: []scenario.Promise{
		scenario.Effect("streamChanges", "after"),
	}},
	{Name: "streamChanges resumes after the last event, also with an older position", Run: resumes, Shows: []scenario.Promise{
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
func changes(t *scenario.Trial, of url.Values) changePage {
	return decoded[changePage](t, "page of changes", query(t, "listChanges", of))
}

// feed is what a client knows of the changes.
type feed struct {
	t        *scenario.Trial
	position string         // after the last change that it has seen
	copied   map[string]any // the plants by id
}

// catchUp returns a client that has applied all changes to its copy.
func catchUp(t *scenario.Trial) *feed {
	f := &feed{t: t, copied: map[string]any{}}
	of := url.Values{"limit": {"1000"}}
	for {
		page := changes(t, of)
		isLast := len(page.Changes) == 0
		for _, change := range page.Changes {
			f.copied[change.ID.String()] = change.Plant
		}
		hasMoved := page.Position != f.position || isLast
		t.Require(hasMoved, "after %d changes, the position %q is still the same", len(page.Changes), f.position)
		f.position = page.Position
		of.Set("after", f.position)
		if isLast {
			return f
		}
	}
}

// next reads what follows the position.
func (f *feed) next(more url.Values) changePage {
	of := url.Values{"after": {f.position}}
	maps.Copy(of, more)
	return changes(f.t, of)
}

func copyOfChanges(t *scenario.Trial) {
	plants := newPlants(3)
	t.Create(plants...)
	write(t, "deletePlant", plants[1], nil)
	known := catchUp(t)
	for _, plant := range plants {
		known.isCopied(plant)
	}
}

// isCopied compares the copy of a plant with the plant.
func (f *feed) isCopied(plant *scenario.Thing) {
	got := read(f.t, plant)
	state, isKnown := f.copied[fmt.Sprint(plant.ID)]
	if !exists(got) {
		f.t.Require(state == nil, "%v does not exist, but the changes have %v", plant.ID, state)
		return
	}
	f.t.Require(isKnown, "%v exists, but the changes lack it", plant.ID)
	want := decoded[any](f.t, "plant", got)
	f.t.Require(reflect.DeepEqual(state, want), "%v is %s, but the changes have %v", plant.ID, got.Body, state)
}

func eachWriteAlone(t *scenario.Trial) {
	known := catchUp(t)
	plant := create(t)
	known.expect("a create", plant, true)
	write(t, "putPlant", plant, map[string]any{"name": "another"})
	known.expect("a replacement", plant, true)
	write(t, "deletePlant", plant, nil)
	known.expect("a deletion", plant, false)
}

// expect fails unless the only change after the position is one of a plant, and none comes after it.
func (f *feed) expect(what string, plant *scenario.Thing, exists bool) {
	page := f.next(nil)
	isAlone := len(page.Changes) == 1 && page.Changes[0].ID.String() == fmt.Sprint(plant.ID)
	f.t.Require(isAlone, "after %s of %v the changes are %v", what, plant.ID, page.Changes)
	state := page.Changes[0].Plant
	f.t.Require((state != nil) == exists, "after %s of %v the change has the plant %v", what, plant.ID, state)
	f.position = page.Position
	again := f.next(nil).Changes
	f.t.Require(len(again) == 0, "the change by %s of %v comes again after its position: %v", what, plant.ID, again)
}

func unknownPositions(t *scenario.Trial) {
	for _, operation := range []string{"listChanges", "streamChanges"} {
		call := scenario.Call{Operation: operation, Query: url.Values{"after": {unknownPosition}}}
		t.Do(call, scenario.Refused(scenario.UnknownPosition))
	}
}

func limitedChanges(t *scenario.Trial) {
	known := catchUp(t)
	t.Create(newPlants(3)...)
	for limit := 1; limit <= 3; limit++ {
		page := known.next(url.Values{"limit": {strconv.Itoa(limit)}})
		size := len(page.Changes)
		isFull := size > 0 && size <= limit
		isRight := isFull && page.More == (size < 3)
		t.Require(isRight, "of 3 changes, a page with limit=%d has %d, and more is %t", limit, size, page.More)
	}
}

func defaultLimit(t *scenario.Trial) {
	known := catchUp(t)
	t.Create(newPlants(101)...)
	size := len(known.next(nil).Changes)
	t.Require(size > 0 && size <= 100, "of 101 changes, a page without limit has %d, want 1 to 100", size)
}

func noWait(t *scenario.Trial) {
	page := catchUp(t).next(nil)
	t.Require(len(page.Changes) == 0, "after the last change there is another one: %v", page.Changes)
}

// createLater creates a plant after the time that a request needs to arrive.
func createLater(plant *scenario.Thing) func(*scenario.Trial) {
	return func(beside *scenario.Trial) {
		time.Sleep(100 * time.Millisecond)
		beside.Create(plant)
	}
}

func waitsForChange(t *scenario.Trial) {
	known, plant := catchUp(t), newPlants(1)[0]
	t.Together(createLater(plant), func(t *scenario.Trial) {
		known.t = t
		page := known.next(url.Values{"wait": {"30"}})
		isIt := len(page.Changes) == 1 && page.Changes[0].ID.String() == fmt.Sprint(plant.ID)
		t.Require(isIt, "%v was created while a request waited, and the response is %v", plant.ID, page.Changes)
	})
}

// stream reads the first event after a position, which must be the change of a plant, and returns it.
func (f *feed) stream(plant *scenario.Thing, header http.Header) scenario.Event {
	of := url.Values{"after": {f.position}}
	got := f.t.Do(scenario.Call{Operation: "streamChanges", Query: of, Header: header}, scenario.Accepted)
	events, _ := got.Events()
	f.t.Require(len(events) > 0, "the stream ends without an event: %.300q", got.Body)
	var change struct{ ID json.Number }
	err := json.Unmarshal([]byte(events[0].Data), &change)
	isIt := err == nil && events[0].ID != "" && change.ID.String() == fmt.Sprint(plant.ID)
	f.t.Require(isIt, "the event after a change of %v is %+v", plant.ID, events[0])
	return events[0]
}

func streamsChange(t *scenario.Trial) {
	known, plant := catchUp(t), newPlants(1)[0]
	t.Together(createLater(plant), func(t *scenario.Trial) {
		known.t = t
		known.stream(plant, nil)
	})
}

func resumes(t *scenario.Trial) {
	known, plants := catchUp(t), newPlants(2)
	t.Create(plants...)
	first := known.stream(plants[0], nil)
	known.stream(plants[1], http.Header{"Last-Event-Id": {first.ID}})
}
