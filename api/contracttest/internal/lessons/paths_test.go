package lessons

import (
	_ "embed"
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schematest"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// boardsDocument has boards in rooms. Nothing says what creates a room.
//
//go:embed testdata/boards.yaml
var boardsDocument string

// The parameters of a path belong together: a board is asked for in the room that it has, or in which it was seen. One that an
// operation has not found, or that was deleted, is not asked for again.
func TestKnownPath(t *testing.T) {
	t.Parallel()
	read, err := document.Parse([]byte(boardsDocument))
	must.NoError(t, err)
	lessons := taughtOf(read, values.Settings{})
	learn := func(method, path string, status int, body string) {
		lessons.Learn(scenario.Interaction{Method: method, Path: path, Status: status, Body: []byte(body)})
	}
	pathOf := func(id string) string {
		operation := read.Operation(id)
		path := operation.Template
		isOpen := func(*document.Parameter) bool { return true }
		for name, text := range lessons.For(lessons.values.ForTest(t.Name()), lessons.world).Path(operation, isOpen) {
			path = strings.ReplaceAll(path, "{"+name+"}", text)
		}
		return path
	}
	steps := []struct {
		learn func()
		id    string
		want  string
	}{
		{func() {}, "getBoard", "/rooms/{roomId}/boards/{board_id}"},
		{func() { learn(http.MethodGet, "/rooms", 200, `[{"boards":[{"id":"s0","room_id":"r0"}]}]`) }, "getBoard", "/rooms/r0/boards/s0"},
		{func() { learn(http.MethodGet, "/rooms/r%201/boards", 200, `[{"id":"s1"},{"id":"s2"}]`) }, "getBoard", "/rooms/r%201/boards/s2"},
		{func() { learn(http.MethodGet, "/rooms", 200, `{"items":[{"id":"r2"}]}`) }, "listBoards", "/rooms/r2/boards"},
		{func() {}, "getBoard", "/rooms/r%201/boards/s2"},
		{func() { learn(http.MethodGet, "/rooms/r%201/boards/s2", 404, "") }, "getBoard", "/rooms/r%201/boards/s1"},
		{func() {}, "deleteBoard", "/rooms/r%201/boards/s2"},
		{func() { learn(http.MethodDelete, "/rooms/r%201/boards/s1", 204, "") }, "getBoard", "/rooms/r0/boards/s0"},
		// What the response to a delete shows is gone, too.
		{func() { learn(http.MethodGet, "/rooms/r3/boards", 200, `[{"id":"s3"}]`) }, "getBoard", "/rooms/r3/boards/s3"},
		{func() { learn(http.MethodDelete, "/rooms/r3/boards/s3", 200, `{"id":"s3"}`) }, "getBoard", "/rooms/r0/boards/s0"},
		// So is what was in it, and nothing else.
		{func() { learn(http.MethodGet, "/rooms/r4/boards", 200, `[{"id":"s4"}]`) }, "getBoard", "/rooms/r4/boards/s4"},
		{func() { learn(http.MethodGet, "/rooms/r5/boards", 200, `[{"id":"s5"}]`) }, "getBoard", "/rooms/r5/boards/s5"},
		{func() { learn(http.MethodDelete, "/rooms/r5", 200, "") }, "getBoard", "/rooms/r4/boards/s4"},
		// What was seen in a room counts more than what was seen elsewhere.
		{func() { learn(http.MethodGet, "/halls/h1/boards", 200, `[{"id":"s6"}]`) }, "getBoard", "/rooms/r4/boards/s4"},
		// s2 was not found by its id, so a name is tried. If that is not found either, an id comes first again.
		{func() {
			learn(http.MethodGet, "/rooms/r6/boards", 200, `[{"id":"s8","name":"n1"},{"id":"s9","name":"n2"}]`)
		}, "getBoard", "/rooms/r6/boards/n2"},
		{func() {}, "deleteBoard", "/rooms/r6/boards/s9"},
		{func() { learn(http.MethodGet, "/rooms/r6/boards/n2", 404, "") }, "getBoard", "/rooms/r6/boards/s9"},
		{func() { learn(http.MethodDelete, "/rooms/r6", 200, "") }, "getBoard", "/rooms/r4/boards/s4"},
		// No path can have a slash.
		{func() { learn(http.MethodGet, "/rooms/r4/boards", 200, `[{"id":"s7"},{"id":"s/8"}]`) }, "getBoard", "/rooms/r4/boards/s7"},
	}
	for i, step := range steps {
		step.learn()
		if got := pathOf(step.id); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, strings.TrimSpace(step.want))
		}
	}
}

// What is in a path names something, and so does another parameter by its name, or its format.
func TestNamesOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		parameter   string
		isReference bool
		names       string
	}{
		{`{"name":"id","in":"path","schema":{"type":"string"}}`, true, ""},
		{`{"name":"room","in":"query","schema":{"type":"string"}}`, false, ""},
		{`{"name":"room_id","in":"query","schema":{"type":"string"}}`, true, "roomid"},
		{`{"name":"main_room_id","in":"query","schema":{"type":"integer"}}`, true, "mainroomid roomid"},
		{`{"name":"rooms","in":"query","schema":{"type":"integer"}}`, false, "roomid"},
		{`{"name":"Room","in":"header","schema":{"type":"string","format":"uuid"}}`, false, "roomid"},
		{`{"name":"room","in":"query"}`, false, ""},
	} {
		parameter := schematest.Parameter(t, c.parameter)
		if got := IsReference(parameter); got != c.isReference {
			t.Errorf("%s names something: %v", parameter.Name, got)
		}
		if got := strings.Join(NamesOf(parameter), " "); got != c.names {
			t.Errorf("%s is looked up under %q, want %q", parameter.Name, got, c.names)
		}
	}
}

// Of what is not known no value is written, also not as JSON.
func TestUnknownText(t *testing.T) {
	t.Parallel()
	parameter := schematest.Parameter(t, `{"name":"room_id","in":"query","content":{"application/json":{"schema":{"type":"string"}}}}`)
	if text, ok := ordersRead(t).Text(parameter, []string{"roomid"}); ok {
		t.Errorf("it is %q", text)
	}
}

// A parameter above belongs to the same value: its object has it, or it was seen there.
func TestAbove(t *testing.T) {
	t.Parallel()
	const board = "/rooms/{roomId}/boards/{board_id}"
	for _, c := range []struct {
		name  string
		path  string // of a response
		body  string
		given map[string]string
		open  string // names; empty: all
		want  string
	}{
		{name: "in the same object", path: "/rooms", body: `{"boards":[{"id":"s1","room_id":"r1"}]}`, want: "/rooms/r1/boards/s1"},
		{name: "by another name", path: "/rooms", body: `{"boards":[{"id":"s1","room":"r1"}]}`, want: "/rooms/{roomId}/boards/s1"},
		{name: "where it was seen", path: "/rooms/r1/boards", body: `[{"id":"s1"}]`, want: "/rooms/r1/boards/s1"},
		{name: "where it was read", path: "/rooms/r1/boards/s1", body: `{}`, want: "/rooms/r1/boards/s1"},
		{name: "the object counts more", path: "/rooms/r1/boards", body: `[{"id":"s1","room_id":"r2"}]`, want: "/rooms/r2/boards/s1"},
		{name: "a given one", path: "/rooms/r1/boards", body: `[{"id":"s1"}]`, given: map[string]string{"roomId": "g"}, want: "/rooms/{roomId}/boards/s1"},
		{name: "one that is settled", path: "/rooms/r1/boards", body: `[{"id":"s1"}]`, open: "board_id", want: "/rooms/{roomId}/boards/s1"},
		{name: "only above", path: "/rooms", body: `[{"id":"r1","name":"n1"}]`, want: "/rooms/r1/boards/{board_id}"},
		{name: "seen below something else", path: "/halls/h1/boards", body: `[{"id":"s1"}]`, want: "/rooms/{roomId}/boards/s1"},
		{name: "seen elsewhere", path: "/rooms", body: `[{"board_id":"s1"}]`, want: "/rooms/{roomId}/boards/s1"},
	} {
		read, err := document.Parse([]byte(boardsDocument))
		must.NoError(t, err)
		l := taughtOf(read, values.Settings{Values: c.given})
		// That there is no such board says nothing of a room.
		l.Learn(scenario.Interaction{Method: http.MethodGet, Path: "/rooms/r9/boards/r1", Status: 404})
		l.Learn(scenario.Interaction{Method: http.MethodGet, Path: c.path, Status: 200, Body: []byte(c.body)})
		isOpen := func(p *document.Parameter) bool { return c.open == "" || c.open == p.Name }
		path := board
		for name, text := range l.Path(read.Operation("getBoard"), isOpen) {
			path = strings.ReplaceAll(path, "{"+name+"}", text)
		}
		if path != c.want {
			t.Errorf("%s: %s, want %s", c.name, path, c.want)
		}
	}
}
