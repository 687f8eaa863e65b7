package known

import (
	"encoding/json"
	"slices"
	"testing"
)

// A value that one response has shown is found by other names of the same.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nouns []string
		value any
		names []string
		want  any
	}{
		{NounsOf("/flows/", ""), object("id", "f1"), Elsewhere("flow_id"), "f1"},
		{NounsOf("/flows/filter", ""), []any{object("id", "f1")}, InPath("/flows/{id}", "id"), "f1"},
		{NounsOf("/flows/{flowId}", ""), object("id", json.Number("7")), Elsewhere("flowIds"), json.Number("7")},
		{NounsOf("/batches", ""), object("name", "b"), InPath("/batches/name/{name}", "name"), "b"},
		{NounsOf("/users", ""), object("username", "ann"), InPath("/users/{username}/repos", "username"), "ann"},
		{NounsOf("/tenants", ""), object("name", "acme"), InPath("/tenants/{tenant}/keys", "tenant"), "acme"},
		{NounsOf("/limits", ""), object("id", "l1"), InPath("/limits/{id_or_name}", "id_or_name"), "l1"},
		{NounsOf("/runs/{id}/retry", "TaskRunResponse"), object("id", "r1"), Elsewhere("parent_task_run_id"), "r1"},
		{NounsOf("/v1/pets", ""), object("data", object("id", "p1")), InPath("/v1/pets/{petId}", "petId"), "p1"},
		{NounsOf("/orders", ""), object("customer", object("id", "c1")), Elsewhere("customer_id"), "c1"},
		{NounsOf("/orders", ""), object("line_ids", []any{"x"}), Elsewhere("lineId"), "x"},
		// The name and the id of a thing itself name nothing else.
		{NounsOf("/flows", ""), object("id", "f1"), Elsewhere("id"), nil},
		{NounsOf("/flows", ""), object("done", true), InPath("/flows/{done}", "done"), nil},
		// What is above in the path is another thing.
		{NounsOf("/pools/{id}/queues", ""), object("id", "q1"), InPath("/pools/{id}", "id"), nil},
	} {
		pool := &Pool{}
		pool.Learn(c.nouns, c.value, Place{})
		got, _ := pool.Find(c.names, func(Entry) bool { return true })
		if got.Value != c.want {
			t.Errorf("%v of %v under %v: %v, want %v", c.value, c.nouns, c.names, got.Value, c.want)
		}
	}
}

// object is an object with one member.
func object(name string, value any) map[string]any { return map[string]any{name: value} }

// The newest value is found first, what is dropped is not found any more, and only the last ones are kept.
func TestNewest(t *testing.T) {
	t.Parallel()
	pool := &Pool{}
	all := func() (found []any) {
		pool.Find([]string{"flowid"}, func(entry Entry) bool {
			found = append(found, entry.Value)
			return false
		})
		return found
	}
	for number := range 10 {
		pool.Learn([]string{"flow"}, object("id", json.Number("1"+string(rune('0'+number)))), Place{})
	}
	pool.Learn([]string{"flow"}, object("id", json.Number("15")), Place{})
	pool.Drop([]string{"flowid"}, "18")
	want := []any{json.Number("15"), json.Number("19"), json.Number("17"), json.Number("16"), json.Number("14"), json.Number("13"), json.Number("12")}
	if got := all(); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}
