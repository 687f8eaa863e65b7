package plantcontract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest"
)

// sequences are what the document promises in words about several requests.
var sequences = []contracttest.Sequence{
	{Name: "a repeated create changes nothing", Try: func(s *contracttest.Session) {
		id := s.NewID("createPlant")
		sent := s.Create("createPlant", id)
		before := s.Read("createPlant", id)
		s.Accepted(s.Call("createPlant", nil, sent))
		unchanged(s, before, id)
	}},
	{Name: "a create with a taken id changes nothing", Try: func(s *contracttest.Session) {
		id := s.NewID("createPlant")
		sent := s.Create("createPlant", id)
		before := s.Read("createPlant", id)
		for _, name := range []string{"name", "tag"} {
			other := maps.Clone(sent)
			other[name] = "another"
			s.Refused(s.Call("createPlant", nil, other), contracttest.Violation{Kind: contracttest.Conflict, In: "body", Pointer: "/id"})
			unchanged(s, before, id)
		}
	}},
	{Name: "createPlants stores all or nothing", Try: func(s *contracttest.Session) {
		taken, free := s.NewID("createPlant"), s.NewID("createPlant")
		s.Create("createPlant", taken)
		before := s.Read("createPlant", taken)
		batch := map[string]any{"plants": []any{
			map[string]any{"id": free, "name": "one"}, map[string]any{"id": taken, "name": "another"},
		}}
		s.Refused(s.Call("createPlants", nil, batch), contracttest.Violation{Kind: contracttest.Conflict, In: "body", Pointer: "/plants/1/id"})
		unchanged(s, before, taken)
		s.Refused(s.Read("createPlant", free), contracttest.Violation{Kind: contracttest.UnknownResource})
	}},
	{Name: "createPlants stores what it responds with, once", Try: func(s *contracttest.Session) {
		one, two := s.NewID("createPlant"), s.NewID("createPlant")
		batch := map[string]any{"plants": []any{
			map[string]any{"id": one, "name": "first", "tag": "t"}, map[string]any{"id": two, "name": "second"},
		}}
		want := []any{map[string]any{"name": "first", "tag": "t"}, map[string]any{"name": "second"}}
		for _, created := range []string{"2", "0"} { // the second time it is a repeated request
			got := s.Call("createPlants", nil, batch)
			s.Accepted(got)
			if !reflect.DeepEqual(got.Member("plants"), want) || got.Member("created") != created {
				s.Failf("the response to two plants, %s of them new, is %s", created, got.Body)
			}
		}
		for id, name := range map[any]string{one: "first", two: "second"} {
			if got := s.Read("createPlant", id); got.Member("name") != name {
				s.Failf("a batch with the plant %v %s has stored %s", id, name, got.Body)
			}
		}
	}},
	{Name: "updated_at moves with each change, created_at never", Try: func(s *contracttest.Session) {
		id := s.NewID("createPlant")
		s.Create("createPlant", id)
		last := s.Read("createPlant", id)
		for i, operation := range []string{"putPlant", "patchPlant", "putPlant"} {
			body := map[string]any{"name": fmt.Sprint("change ", i)}
			s.Accepted(s.Call(operation, id, body))
			next := s.Read("createPlant", id)
			if fmt.Sprint(next.Member("updated_at")) <= fmt.Sprint(last.Member("updated_at")) {
				s.Failf("%s has moved updated_at from %v to %v", operation, last.Member("updated_at"), next.Member("updated_at"))
			}
			if next.Member("created_at") != last.Member("created_at") {
				s.Failf("%s has moved created_at from %v to %v", operation, last.Member("created_at"), next.Member("created_at"))
			}
			s.Accepted(s.Call(operation, id, body)) // a repeated request
			unchanged(s, next, id)
			last = next
		}
	}},
	{Name: "from chooses where listChanges begins", Shows: []string{
		effect("listChanges", "from"), "listChanges, default of parameter from",
	}, Try: func(s *contracttest.Session) {
		changes := func(query url.Values) (ids []string, position string) {
			got := s.Query("listChanges", query)
			s.Accepted(got)
			var page struct {
				Changes  []struct{ ID json.Number }
				Position string
			}
			if err := json.Unmarshal(got.Body, &page); err != nil {
				s.Failf("the response is no page of changes: %v", err)
			}
			for _, c := range page.Changes {
				ids = append(ids, c.ID.String())
			}
			return ids, page.Position
		}
		before, after := s.NewID("createPlant"), s.NewID("createPlant")
		s.Create("createPlant", before)
		none, position := changes(url.Values{"from": {"now"}})
		s.Create("createPlant", after)
		got, _ := changes(url.Values{"from": {"now"}, "after": {position}, "limit": {"1000"}})
		if len(none) > 0 || slices.Contains(got, fmt.Sprint(before)) || !slices.Contains(got, fmt.Sprint(after)) {
			s.Failf("from now on are the changes %v, then %v; want none, then one of %v, and none of %v", none, got, after, before)
		}
		first, _ := changes(url.Values{"limit": {"1"}})
		if start, _ := changes(url.Values{"limit": {"1"}, "from": {"start"}}); len(first) != 1 || !slices.Equal(first, start) {
			s.Failf("changes begin with %v, and from the start with %v; want the same plant", first, start)
		}
	}},
	{Name: "etag is the ETag", Try: func(s *contracttest.Session) {
		id := s.NewID("createPlant")
		s.Create("createPlant", id)
		if got := s.Read("createPlant", id); got.Header.Get("ETag") != fmt.Sprintf("%q", got.Member("etag")) {
			s.Failf("the ETag is %s, the member etag is %v", got.Header.Get("ETag"), got.Member("etag"))
		}
	}},
}

// unchanged fails unless a plant is as it was.
func unchanged(s *contracttest.Session, before contracttest.Interaction, id any) {
	if after := s.Read("createPlant", id); !bytes.Equal(before.Body, after.Body) {
		s.Failf("the plant has changed from %s to %s", before.Body, after.Body)
	}
}
