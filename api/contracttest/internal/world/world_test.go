package world

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// Only so many values are remembered that were not found, and none of a path without parameters.
func TestMissing(t *testing.T) {
	t.Parallel()
	read, err := document.Parse([]byte(`{"openapi": "3.0.3", "info": {"title": "Pots", "version": "1"}, "paths": {
		"/pots": {"get": {"operationId": "listPots", "responses": {"200": {"description": "Pots."}}}},
		"/pots/{id}": {"get": {"operationId": "getPot", "responses": {"200": {"description": "A pot."}},
			"parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}]}}}}`))
	must.NoError(t, err)
	w := New(read, resources.Find(read, values.New(values.Settings{}), resources.Declarations{}))
	w.Learn(scenario.Interaction{Method: http.MethodGet, Path: "/pots", Status: http.StatusNotFound})
	if len(w.missing) != 0 {
		t.Error("a path without parameters has not found a value")
	}
	for i := range 10_005 {
		w.Learn(scenario.Interaction{Method: http.MethodGet, Path: fmt.Sprint("/pots/", i), Status: http.StatusNotFound})
	}
	if len(w.missing) != 10_000 {
		t.Errorf("%d values are remembered", len(w.missing))
	}
	if get := read.Operation("getPot"); !w.IsMissing(get, 7) || w.IsMissing(get, "x") {
		t.Error("a value that was not found is not missing, or another one is")
	}
}

// roomsDocument has rooms, and boards in them.
const roomsDocument = `
openapi: 3.0.3
info: {title: Rooms, version: "1"}
paths:
  /rooms:
    post:
      operationId: createRoom
      requestBody: {content: {application/json: {schema: {type: object, properties: {owner_id: {type: string}}}}}}
      responses: {"201": {description: A room., content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}}}
  /rooms/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {operationId: getRoom, responses: {"200": {description: A room.}}}
    put: {operationId: putRoom, responses: {"200": {description: A room.}}}
    patch: {operationId: changeRoom, responses: {"200": {description: A room.}}}
    delete: {operationId: deleteRoom, responses: {"204": {description: It is gone.}}}
  /rooms/{id}/lock:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    delete: {operationId: unlock, responses: {"204": {description: It is open.}}}
  /rooms/{id}/boards:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {operationId: listBoards, responses: {"200": {description: Boards.}}}
`

// A response shows what exists below what, what was created, and what is gone.
func TestResponses(t *testing.T) {
	t.Parallel()
	read, err := document.Parse([]byte(roomsDocument))
	must.NoError(t, err)
	set := resources.Find(read, values.New(values.Settings{}), resources.Declarations{})
	created := scenario.Interaction{Method: "POST", Path: "/rooms", Status: 201, RequestBody: []byte(`{"owner_id":"o1"}`), Body: []byte(`{"id":"r1"}`)}
	boards := scenario.Interaction{Method: "GET", Path: "/rooms/r1/boards", Status: 200, Body: []byte(`{"id":"b1"}`)}
	deleted := scenario.Interaction{Method: "DELETE", Path: "/rooms/r1", Status: 204}
	for name, c := range map[string]struct {
		all  []scenario.Interaction
		want string
	}{
		"a create":   {[]scenario.Interaction{created}, "ownerid: o1, roomid: r1, roomownerid: o1; /rooms/r1"},
		"a list":     {[]scenario.Interaction{boards}, "boardid: b1; "},
		"a deletion": {[]scenario.Interaction{created, boards, deleted}, "boardid:, ownerid: o1, roomid:, roomownerid: o1; "},
		"a deletion of what was read": {
			[]scenario.Interaction{{Method: "GET", Path: "/rooms/r1", Status: 200, Body: []byte(`{"id":"r1","owner_id":"o1"}`)}, deleted},
			"/rooms/{}:, ownerid: o1, roomid:, roomownerid: o1; ",
		},
		"another deletion": {[]scenario.Interaction{created, boards, {Method: "DELETE", Path: "/rooms/r1/lock", Status: 204}}, "boardid: b1, ownerid: o1, roomid: r1, roomownerid: o1; /rooms/r1"},
		"a refused deletion": {
			[]scenario.Interaction{created, {Method: "DELETE", Path: "/rooms/r1", Status: 409}}, "ownerid: o1, roomid: r1, roomownerid: o1; /rooms/r1",
		},
		"a body of a deletion": {[]scenario.Interaction{{Method: "DELETE", Path: "/rooms/r1", Status: 200, Body: []byte(`{"id":"r1"}`)}}, "; "},
		"a refusal":            {[]scenario.Interaction{{Method: "GET", Path: "/rooms/r1", Status: 400, Body: []byte(`{"id":"r1"}`)}}, "; "},
		"an unknown path":      {[]scenario.Interaction{{Method: "GET", Path: "/halls", Status: 200, Body: []byte(`{"id":"r1"}`)}}, "; "},
		"nothing is found":     {[]scenario.Interaction{{Method: "GET", Path: "/rooms/r1", Status: 404, Body: []byte(`{"id":"r1"}`)}}, "; "},
		"a read":               {[]scenario.Interaction{{Method: "GET", Path: "/rooms/r%201", Status: 200, Body: []byte(`{"id":"r2"}`)}}, "/rooms/{}: r 1, roomid: r2; "},
		"a wrong escape":       {[]scenario.Interaction{{Method: "GET", Path: "/rooms/%zz", Status: 200}}, "; "},
		"a PUT": {
			[]scenario.Interaction{{Method: "PUT", Path: "/rooms/r1", Status: 200, RequestBody: []byte(`{"owner_id":"o1"}`)}}, "ownerid: o1, roomownerid: o1; ",
		},
		"a PUT that creates": {[]scenario.Interaction{{Method: "PUT", Path: "/rooms/r1", Status: 201}}, "/rooms/{}: r1; /rooms/r1"},
		"a change":           {[]scenario.Interaction{{Method: "PATCH", Path: "/rooms/r1", Status: 200, RequestBody: []byte(`{"owner_id":"o1"}`)}}, "; "},
		"a POST without a body in its response": {
			[]scenario.Interaction{{Method: "POST", Path: "/rooms", Status: 200, RequestBody: []byte(`{"owner_id":"o1"}`)}}, "ownerid: o1, roomownerid: o1; ",
		},
		"a POST that may create nothing": {
			[]scenario.Interaction{{Method: "POST", Path: "/rooms", Status: 200, RequestBody: []byte(`{"owner_id":"o1"}`), Body: []byte(`{}`)}}, "; ",
		},
		"a name that is given twice": {[]scenario.Interaction{{Method: "GET", Path: "/rooms/r1", Status: 200, Body: []byte(`{"id":"r1","id":"r2"}`)}}, "/rooms/{}: r1, roomid: r2; "},
		"too long a response": {
			[]scenario.Interaction{{Method: "GET", Path: "/rooms/r1", Status: 200, Body: []byte(`{"id":"r1"}` + strings.Repeat(" ", 1<<20))}}, "; ",
		},
	} {
		w := New(read, set)
		for _, x := range c.all {
			w.Learn(x)
		}
		lines := strings.Join(everything(&w.seen), ", ")
		paths := strings.Join(slices.Sorted(maps.Keys(w.Created())), " ")
		if got := lines + "; " + paths; got != c.want {
			t.Errorf("%s: there is %q, want %q", name, got, c.want)
		}
	}
}

// Another user finds what the first one has, and has created nothing of it.
func TestOfUser(t *testing.T) {
	t.Parallel()
	w := New(nil, nil)
	w.seen.add("a", Entry{Value: "1"})
	w.created["/a/1"] = &scenario.Thing{}
	other := w.OfUser()
	if got, ok := other.Find([]string{"a"}, func(Entry) bool { return true }); !ok || got.Value != "1" || len(other.Created()) > 0 {
		t.Errorf("another user finds %v, %v", got.Value, ok)
	}
}

// What a GET has found is not never found, and nothing else is.
func TestFound(t *testing.T) {
	t.Parallel()
	read, err := document.Parse([]byte(roomsDocument))
	must.NoError(t, err)
	set := resources.Find(read, values.New(values.Settings{}), resources.Declarations{})
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/rooms/r1", ""}, {"PATCH", "/rooms/r1", "createRoom"}, {"GET", "/rooms/r2", "createRoom"},
	} {
		w := New(read, set)
		w.Learn(scenario.Interaction{Method: "POST", Path: "/rooms", Status: 201, Body: []byte(`{"id":"r1"}`)})
		w.Learn(scenario.Interaction{Method: c.method, Path: c.path, Status: 200})
		if got := w.NeverFound("/rooms/r1"); got != c.want {
			t.Errorf("after %s %s it is %q, want %q", c.method, c.path, got, c.want)
		}
	}
}

// Of several operations that have created what was never found, the uppermost one is the reason, each time.
func TestNeverFound(t *testing.T) {
	t.Parallel()
	for range 20 {
		w := New(nil, nil)
		for path, creator := range map[string]string{"/pots/7": "createPot", "/pots/7/parts/1": "createPart", "/pots/70": "other"} {
			w.created[path] = &scenario.Thing{Creator: creator}
		}
		if got := w.NeverFound("/pots/7/parts/1"); got != "createPot" {
			t.Errorf("it is %q", got)
		}
		if got := w.NeverFound("/pots/70"); got != "other" {
			t.Errorf("of another pot it is %q", got)
		}
	}
}
