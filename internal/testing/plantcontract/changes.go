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
)

// changeSequences are what the document promises of the feed of changes. The store may have other
// plants, but no other client may change plants during the test.
var changeSequences = []contracttest.Sequence{
	{Name: "a copy made of listChanges has every plant", Try: func(s *contracttest.Session) {
		ids := plainPlants(s, 3)
		s.Accepted(s.Call("deletePlant", ids[1], nil))
		copied := map[string]any{}
		applied(s, copied)
		for _, id := range ids {
			state, known := copied[fmt.Sprint(id)]
			got := s.Read("createPlant", id)
			switch {
			case got.Status >= 400 && state != nil:
				s.Failf("%v does not exist, but the changes have %v", id, state)
			case got.Status < 400 && !known:
				s.Failf("%v exists, but the changes lack it", id)
			case got.Status < 400:
				var want any
				if err := json.Unmarshal(got.Body, &want); err != nil || !reflect.DeepEqual(state, want) {
					s.Failf("%v is %s, but the changes have %v", id, got.Body, state)
				}
			}
		}
	}},
	{Name: "listChanges has each write alone after the position before it", Shows: []string{
		effect("listChanges", "after"),
	}, Try: func(s *contracttest.Session) {
		at := present(s)
		expect := func(what string, id any, exists bool) {
			got := changesOf(s, url.Values{"after": {at}})
			if len(got.Changes) != 1 || got.Changes[0].ID.String() != fmt.Sprint(id) {
				s.Failf("after %s of %v the changes are %v", what, id, got.Changes)
			}
			if (got.Changes[0].Plant != nil) != exists {
				s.Failf("after %s of %v the change has the plant %v", what, id, got.Changes[0].Plant)
			}
			if again := changesOf(s, url.Values{"after": {got.Position}}); len(again.Changes) > 0 {
				s.Failf("the change by %s of %v comes again after its position: %v", what, id, again.Changes)
			}
			at = got.Position
		}
		id := plainPlants(s, 1)[0]
		expect("a create", id, true)
		s.Accepted(s.Call("putPlant", id, map[string]any{"name": "another"}))
		expect("a replacement", id, true)
		s.Accepted(s.Call("deletePlant", id, nil))
		expect("a deletion", id, false)
	}},
	{Name: "listChanges and streamChanges refuse an unknown position", Try: func(s *contracttest.Session) {
		for _, operation := range []string{"listChanges", "streamChanges"} {
			got := s.Query(operation, url.Values{"after": {unknownPosition}})
			s.Refused(got, contracttest.Violation{Kind: contracttest.UnknownPosition})
		}
	}},
	{Name: "listChanges has at most limit changes, and says whether there are more", Shows: []string{
		effect("listChanges", "limit"),
	}, Try: func(s *contracttest.Session) {
		at := present(s)
		plainPlants(s, 3)
		for limit := 1; limit <= 3; limit++ {
			got := changesOf(s, url.Values{"after": {at}, "limit": {strconv.Itoa(limit)}})
			if n := len(got.Changes); n > limit || n == 0 || got.More != (n < 3) {
				s.Failf("of 3 changes, a page with limit=%d has %d, and more is %t", limit, n, got.More)
			}
		}
	}},
	{Name: "listChanges has 100 changes by default", Shows: []string{
		"listChanges, default of parameter limit",
	}, Try: func(s *contracttest.Session) {
		at := present(s)
		plainPlants(s, 101)
		if n := len(changesOf(s, url.Values{"after": {at}}).Changes); n > 100 || n == 0 {
			s.Failf("of 101 changes, a page without limit has %d, want 1 to 100", n)
		}
	}},
	{Name: "listChanges does not wait by default", Shows: []string{
		"listChanges, default of parameter wait",
	}, Try: func(s *contracttest.Session) {
		if got := changesOf(s, url.Values{"after": {present(s)}}); len(got.Changes) > 0 {
			s.Failf("after the last change there is another one: %v", got.Changes)
		}
	}},
	{Name: "listChanges waits for a change that comes later", Shows: []string{
		effect("listChanges", "wait"),
	}, Try: func(s *contracttest.Session) {
		at := present(s)
		created := createLater(s)
		got := changesOf(s, url.Values{"after": {at}, "wait": {"30"}})
		if id := created(); len(got.Changes) != 1 || got.Changes[0].ID.String() != fmt.Sprint(id) {
			s.Failf("%v was created while a request waited, and the response is %v", id, got.Changes)
		}
	}},
	{Name: "streamChanges has a change that comes later", Shows: []string{
		effect("streamChanges", "after"),
	}, Try: func(s *contracttest.Session) {
		at := present(s)
		created := createLater(s)
		e := firstChange(s, at, http.Header{})
		isChange(s, e, created())
	}},
	{Name: "streamChanges resumes after the last event, also with an older position", Shows: []string{
		effect("streamChanges", "Last-Event-ID"),
	}, Try: func(s *contracttest.Session) {
		at := present(s)
		ids := plainPlants(s, 2)
		first := firstChange(s, at, http.Header{})
		isChange(s, first, ids[0])
		isChange(s, firstChange(s, at, http.Header{"Last-Event-Id": {first.ID}}), ids[1])
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

func changesOf(s *contracttest.Session, query url.Values) (page changePage) {
	got := s.Query("listChanges", query)
	s.Accepted(got)
	if err := json.Unmarshal(got.Body, &page); err != nil {
		s.Failf("the response is no page of changes: %v", err)
	}
	return page
}

// applied applies all changes to a copy of the plants by id, and returns the position after the last one.
func applied(s *contracttest.Session, copied map[string]any) (position string) {
	query := url.Values{"limit": {"1000"}}
	for {
		page := changesOf(s, query)
		if len(page.Changes) == 0 {
			return page.Position
		}
		for _, c := range page.Changes {
			copied[c.ID.String()] = c.Plant
		}
		if page.Position == position {
			s.Failf("after %d changes, the position %q is still the same", len(page.Changes), position)
		}
		position = page.Position
		query.Set("after", position)
	}
}

// present returns the position after the last change.
func present(s *contracttest.Session) string { return applied(s, map[string]any{}) }

// plainPlants creates plants and returns their ids.
func plainPlants(s *contracttest.Session, n int) (ids []any) {
	for range n {
		ids = append(ids, s.NewID("createPlant"))
		s.Create("createPlant", ids[len(ids)-1])
	}
	return ids
}

// createLater creates a plant after the time that a request needs to arrive. The result waits for the create.
func createLater(s *contracttest.Session) (created func() any) {
	var id any
	wait := s.Beside(func(s *contracttest.Session) {
		time.Sleep(100 * time.Millisecond)
		id = plainPlants(s, 1)[0]
	})
	return func() any { wait(); return id }
}

func firstChange(s *contracttest.Session, after string, header http.Header) contracttest.Event {
	got := s.Send("streamChanges", url.Values{"after": {after}}, header)
	s.Accepted(got)
	events, _ := got.Events()
	if len(events) == 0 {
		s.Failf("the stream ends without an event: %.300q", got.Body)
	}
	return events[0]
}

// isChange fails unless an event is the change of a plant.
func isChange(s *contracttest.Session, e contracttest.Event, id any) {
	var change struct{ ID json.Number }
	if err := json.Unmarshal([]byte(e.Data), &change); err != nil || e.ID == "" || change.ID.String() != fmt.Sprint(id) {
		s.Failf("the event after a change of %v is %+v", id, e)
	}
}
