package world

import (
	"encoding/json"
	"slices"
	"testing"
)

// object is an object with one member.
func object(name string, value any) map[string]any { return map[string]any{name: value} }

// The newest value is found first, what is dropped is not found any more, and only the last ones are kept.
func TestNewest(t *testing.T) {
	t.Parallel()
	p := &pool{}
	all := func() (found []any) {
		(&World{seen: *p}).Find([]string{"flowid"}, func(entry Entry) bool {
			found = append(found, entry.Value)
			return false
		})
		return found
	}
	for number := range 10 {
		p.learn([]string{"flow"}, object("id", json.Number("1"+string(rune('0'+number)))), Place{})
	}
	p.learn([]string{"flow"}, object("id", json.Number("15")), Place{})
	p.drop([]string{"flowid"}, "18")
	want := []any{json.Number("15"), json.Number("19"), json.Number("17"), json.Number("16"), json.Number("14"), json.Number("13"), json.Number("12")}
	if got := all(); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}
