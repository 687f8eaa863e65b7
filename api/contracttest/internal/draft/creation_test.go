package draft

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/lessons"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// creation is a case of TestCreate.
type creation struct {
	declared  []scenario.Resource
	thing     scenario.Thing
	responses []response
	sent      []string
	id        string // of the thing, after it
	known     string // what was sent, as the thing has it; empty: not looked at
	ends      string
}

// creations are what is sent to create a thing, what is remembered of it, and how the creation ends.
var creations = map[string]creation{
	"a given identity stays": {
		thing:     scenario.Thing{Creator: "createShelf", ID: "own", Sent: map[string]any{"room": "a", "width": 7}},
		responses: []response{{status: 201, body: `{"code":"own","room":"a","width":7}`}},
		sent:      []string{`POST /shelves {"code":"own","room":"a","width":%}`},
		id:        "own",
		known:     `{"code":"own","room":"a","width":7}`,
	},
	"a body is tried without what is optional": {
		thing:     scenario.Thing{Creator: "createShelf", ID: "own"},
		responses: []response{{status: 400}, {status: 201}},
		sent:      []string{`POST /shelves {"code":"own","room":"Ficus #1","width":%}`, `POST /shelves {"code":"own","room":"Ficus #1"}`},
		id:        "own",
		known:     `{"code":"own","room":"Ficus #1"}`,
	},
	"a member is lost": {
		thing:     scenario.Thing{Creator: "createShelf", ID: "own", Sent: map[string]any{"room": "a", "width": 1}},
		responses: []response{{status: 201, body: `{"code":"own","room":"b","width":1}`}},
		sent:      []string{`POST /shelves {"code":"own","room":"a","width":%}`},
		known:     `{"code":"own","width":1}`,
		ends:      `was sent room = "a", but has "b"`,
	},
	"a proposed identity is replaced": {
		thing:     scenario.Thing{Creator: "createPaper", Sent: map[string]any{"id": 1, "title": "a"}},
		responses: []response{{status: 201, body: `{"id":7,"title":"a"}`}},
		sent:      []string{`POST /papers {"id":1,"title":"a"}`},
		id:        "7",
		known:     `{"title":"a"}`,
	},
	"Location has the identity": {
		thing:     scenario.Thing{Creator: "createNote"},
		responses: []response{{status: 201, location: "/api/notes/n1"}},
		sent:      []string{"POST /notes"},
		id:        "n1",
		known:     "{}",
	},
	"a given body is not tried without what is optional": {
		thing:     scenario.Thing{Creator: "createShelf", ID: "own", Sent: map[string]any{"room": "a", "width": 1}},
		responses: []response{{status: 400}, {status: 201}},
		sent:      []string{`POST /shelves {"code":"own","room":"a","width":%}`},
		id:        "own",
		ends:      "refused",
	},
	"nothing is optional": {
		thing:     scenario.Thing{Creator: "createNote"},
		responses: []response{{status: 400}, {status: 201}},
		sent:      []string{"POST /notes"},
		ends:      "refused",
	},
	"a PUT is not tried again": {
		thing:     scenario.Thing{Creator: "putLabel", ID: "red"},
		responses: []response{{status: 400}, {status: 201}},
		sent:      []string{`PUT /labels/red {"name":"Ficus #1","size":%}`},
		id:        "red",
		ends:      "refused",
	},
	"Location leads to another service": {
		thing:     scenario.Thing{Creator: "createNote"},
		responses: []response{{status: 201, location: "http://other.example/notes/n1"}},
		sent:      []string{"POST /notes"},
		ends:      "leads to http://other.example/notes/n1, which is not below http://library.example/api",
	},
	"Location leads to something else": {
		thing:     scenario.Thing{Creator: "createNote"},
		responses: []response{{status: 201, location: "/api/loans"}},
		sent:      []string{"POST /notes"},
		ends:      "the response to a create does not say what it has created",
	},
	"nothing has the identity": {
		thing: scenario.Thing{Creator: "createNote"},
		sent:  []string{"POST /notes"},
		ends:  "the response to a create does not say what it has created",
	},
	"a declared identity is not there": {
		declared:  []scenario.Resource{{Create: "createNote", ID: "id", Assigned: true, Read: "getNote"}},
		thing:     scenario.Thing{Creator: "createNote"},
		responses: []response{{status: 201, body: `{}`, location: "/api/notes/n1"}},
		sent:      []string{"POST /notes"},
		ends:      "the response to a create has no id: {}",
	},
	"a declared body is no object": {
		declared: []scenario.Resource{{Create: "createList", ID: "id", Assigned: true, Read: "getList"}},
		thing:    scenario.Thing{Creator: "createList"},
		ends:     "the body of createList is not an object",
	},
}

// What is sent to create a thing, what is remembered of it, and how the creation ends.
func TestCreate(t *testing.T) {
	t.Parallel()
	for name, c := range creations {
		thing := c.thing
		p := &player{draft: library(t, c.declared...).Draft("a test"), responses: c.responses}
		err := p.play(func(t *Trial) { t.Create(&thing) })
		t.Run(name, func(t *testing.T) {
			checkSent(t, withoutSizes(p.sent), c.sent...)
			// In the order of the requests, which have the same numbers.
			after := numbered(append(p.sent, text(thing.ID), string(jsonvalue.Encode(thing.Sent))))[len(p.sent):]
			if c.ends != message(err) {
				t.Errorf("it ends with %q, want %q", message(err), c.ends)
			}
			if c.id != "" && after[0] != c.id {
				t.Errorf("the identity is %s, want %s", after[0], c.id)
			}
			if c.known != "" && after[1] != c.known {
				t.Errorf("the thing has %s, want %s", after[1], c.known)
			}
		})
	}
}

// A resource that the options declare wrongly is a failure. One that was inferred wrongly is none.
func TestNoObject(t *testing.T) {
	t.Parallel()
	declared := scenario.Resource{Create: "createList", ID: "id", Assigned: true, Read: "getList"}
	for _, c := range []struct {
		declared  []scenario.Resource
		isFailure bool
	}{{nil, false}, {[]scenario.Resource{declared}, true}} {
		p := &player{draft: library(t, c.declared...).Draft("a test")}
		err := p.play(func(t *Trial) { t.Create(&scenario.Thing{Creator: "createList"}) })
		if _, isFailure := errors.AsType[scenario.Broken](err); isFailure != c.isFailure {
			t.Errorf("with %v it ends with %#v", c.declared, err)
		}
	}
}

// All things of a test are below the same one.
func TestParents(t *testing.T) {
	t.Parallel()
	d := library(t).Draft("a test")
	p := &player{draft: d, responses: []response{{status: 201}, {status: 201, body: `{"id":7,"title":"b"}`}}}
	sent := map[string]any{"title": "b"}
	one := &scenario.Thing{Creator: "createBook", Sent: maps.Clone(sent)}
	other := &scenario.Thing{Creator: "createBook", Sent: maps.Clone(sent)}
	must.NoError(t, p.play(func(t *Trial) {
		t.Create(one)
		t.Create(other)
	}))
	checkSent(t, p.sent[1:], `POST /shelves/id#1/books {"title":"b"}`, `POST /shelves/id#1/books {"title":"b"}`)
	if one.Parent != other.Parent {
		t.Errorf("the parents are %v and %v", one.Parent, other.Parent)
	}
	x := d.Resources.CreatedBy("createBook")
	third := x.Thing(nil)
	if parent := d.Parent(x, third); parent != nil || third.Parent != one.Parent {
		t.Errorf("%v is to be created, and the parent is %v", parent, third.Parent)
	}
	if parent := d.Parent(x.Parent, x.Parent.Thing(nil)); parent != nil {
		t.Errorf("a shelf is below %v", parent)
	}
	own := &scenario.Thing{Creator: "createShelf", ID: "own"}
	fifth := x.Thing(nil)
	fifth.Parent = own
	if parent := d.Parent(x, fifth); parent != nil || fifth.Parent != own {
		t.Errorf("%v is to be created, and the parent is %v", parent, fifth.Parent)
	}
	another := library(t).Draft("a test")
	fourth := x.Thing(nil)
	if parent := another.Parent(another.Resources.CreatedBy("createBook"), fourth); parent == nil || parent != fourth.Parent {
		t.Errorf("%v is to be created, and the parent is %v", parent, fourth.Parent)
	}
}

// A failure that depends on an inferred create counts only if the service responds in different ways to creates of
// different things.
func TestConfirmations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		one, other string
		areAlike   bool
	}{
		"a mock":        {`{"code":"a"}`, `{"code":"a"}`, true},
		"a short mock":  {"7", "7", true},
		"a service":     {`{"code":"a"}`, `{"code":"b"}`, false},
		"empty bodies":  {"", "", false},
		"one empty one": {"", `{}`, false},
	} {
		err := AreAlike(scenario.Interaction{Body: []byte(c.one)}, scenario.Interaction{Body: []byte(c.other)})
		if (err != nil) != c.areAlike {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The creates that confirm have different values, and are below what the test has created.
func TestConfirmBelow(t *testing.T) {
	t.Parallel()
	p := &player{draft: library(t).Draft("a test"), responses: []response{{status: 201}, {status: 201, body: `{"id":7,"title":"b"}`}}}
	must.NoError(t, p.play(func(t *Trial) {
		t.Create(&scenario.Thing{Creator: "createBook", Sent: map[string]any{"title": "b"}})
		one, other := t.Confirmations(t.Resources.CreatedBy("createBook"))
		t.Do(one, scenario.Expectation{})
		t.Do(other, scenario.Expectation{})
	}))
	below, _, _ := strings.Cut(p.sent[1], " {")
	areBelow := len(p.sent) == 4 && strings.HasPrefix(p.sent[2], below+" {") && strings.HasPrefix(p.sent[3], below+" {")
	if !areBelow || p.sent[2] == p.sent[3] {
		t.Errorf("sent %q", p.sent)
	}
}

// What a create has created is read where the create was sent.
func TestReadOf(t *testing.T) {
	t.Parallel()
	lamps := scenario.Resource{Create: "createLamp", ID: "id", Assigned: true, Read: "getLamp"}
	d := library(t, lamps).Draft("a test")
	shelf := &scenario.Thing{Creator: "createShelf", ID: "a"}
	created := scenario.Interaction{Status: http.StatusCreated, Body: []byte(`{"id":7}`)}
	for creator, want := range map[string]string{"createBook": "/shelves/a/books/7", "createPaper": "/papers/7", "createLamp": "/desks/Ficus/lamps/7"} {
		x := d.Resources.CreatedBy(creator)
		thing := x.Thing(nil)
		if x.Parent != nil {
			thing.Parent = shelf
		}
		read := d.ReadOf(x, d.CreationOf(x, thing), created)
		request, err := d.Request(read, "")
		if err != nil || request.Path != want {
			t.Errorf("what %s creates is read at %s, %v, want %s", creator, request.Path, err, want)
		}
	}
}

// The body of a create leaves out what the service refuses, and is none where the document has none.
func TestVaried(t *testing.T) {
	t.Parallel()
	drafts := library(t)
	drafts.Lessons.Teach(drafts.Document.Operation("createShelf"), func(l *lessons.Lesson) { l.LeftOut = map[string]bool{"/width": true} })
	d := drafts.Draft("a test")
	if list := d.VariedThing(drafts.Document.Operation("createList")); string(jsonvalue.Encode(list)) != `["Ficus"]` {
		t.Errorf("a list is %v", list)
	}
	for creator, want := range map[string]string{
		"createShelf": `{"code":"own","room":"Ficus #1"}`,
		"createNote":  "null",
		"createList":  "null",
	} {
		x := d.Resources.CreatedBy(creator)
		call := d.CreationOf(x, x.Thing("own"))
		hasBody := call.Body != nil
		if got := numbered([]string{string(jsonvalue.Encode(call.Body))})[0]; got != want || hasBody != (want != "null") || call.Operation != creator {
			t.Errorf("%s is created by %s of %s, want %s", creator, call.Operation, got, want)
		}
	}
}

// What a response says was created is removed where it was created.
func TestCreated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, path string
		sent         string
		status       int
		body         string
		location     string
		id           any
		want         string // path
	}{
		"by its body":             {method: "POST", path: "/shelves", sent: `{"code":"a"}`, status: 201, id: "a", want: "/shelves/a"},
		"of a body that goes on":  {method: "POST", path: "/shelves", sent: `{"code":"a"} and more`, status: 201, id: "a", want: "/shelves/a"},
		"by Location":             {method: "POST", path: "/notes", status: 201, location: "/api/notes/n%201", id: "n 1", want: "/notes/n%201"},
		"elsewhere":               {method: "POST", path: "/notes", status: 201, location: "http://other.example/notes/n"},
		"by its response":         {method: "POST", path: "/papers", sent: `{"id":3}`, status: 201, body: `{"id":7}`, location: "/api/papers/8", id: "7", want: "/papers/7"},
		"by Location beside null": {method: "POST", path: "/papers", status: 201, body: `{"id":null}`, location: "/api/papers/8", id: "8", want: "/papers/8"},
		"by the last status":      {method: "POST", path: "/shelves", sent: `{"code":"a"}`, status: 299, id: "a", want: "/shelves/a"},
		"without an identity":     {method: "POST", path: "/shelves", sent: `{}`, status: 201},
		"not at all":              {method: "POST", path: "/shelves", sent: `{"code":"a"}`, status: 300},
		"by PUT":                  {method: "PUT", path: "/labels/red", sent: `{"name":"a"}`, status: 201, id: "red", want: "/labels/red"},
		"by PUT of a resource":    {method: "PUT", path: "/shelves/a", sent: `{"code":"b"}`, status: 201, id: "a", want: "/shelves/a"},
		"replaced":                {method: "PUT", path: "/labels/red", sent: `{"name":"a"}`, status: 200},
		"read":                    {method: "GET", path: "/papers/7", status: 200, body: `{"id":7}`},
		"changed":                 {method: "PATCH", path: "/shelves/a/books/7", status: 201},
		"of no resource":          {method: "POST", path: "/loans", status: 201},
		"without DELETE":          {method: "POST", path: "/lists", status: 201, location: "/api/lists/l"},
		// It is not known on which shelf.
		"below another one": {method: "POST", path: "/shelves/a/books", status: 201, body: `{"id":7}`},
	} {
		header := http.Header{}
		if c.location != "" {
			header.Set("Location", c.location)
		}
		drafts := library(t)
		thing, path := drafts.Resources.Created(drafts.Document.Find(c.method, c.path), scenario.Interaction{
			Method: c.method, URL: "http://library.example/api" + c.path, Path: c.path, RequestBody: []byte(c.sent),
			Status: c.status, Header: header, Body: []byte(c.body),
		})
		var id any
		if thing != nil {
			id = thing.ID
		}
		if text(id) != text(c.id) || path != c.want {
			t.Errorf("%s: it has created %v at %q, want %v at %q", name, id, path, c.id, c.want)
		}
	}
}
