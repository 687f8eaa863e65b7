package draft

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/lessons"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A test says what it does with a thing; the draft knows the operation, the path and the body.
func TestCalls(t *testing.T) {
	t.Parallel()
	shelf := &scenario.Thing{Creator: "createShelf", ID: "a"}
	book := &scenario.Thing{Creator: "createBook", ID: int64(7), Parent: shelf}
	note := &scenario.Thing{Creator: "createNote", ID: ".."} // no path can have it
	list := &scenario.Thing{Creator: "createList", ID: "l"}
	label := &scenario.Thing{Creator: "putLabel", ID: "red"}
	for name, c := range map[string]struct {
		test func(*Trial)
		want []string
	}{
		"a call": {func(t *Trial) {
			t.Call(http.MethodPatch, book, map[string]any{"title": "b"})
		}, []string{`PATCH /shelves/a/books/7 {"title":"b"}`}},
		"the identity of a body is that of the path": {func(t *Trial) {
			t.Call(http.MethodPatch, book, map[string]any{"id": 1})
		}, []string{`PATCH /shelves/a/books/7 {"id":7}`}},
		"an accepted call": {func(t *Trial) { t.Accepted(http.MethodPatch, book, nil) }, []string{"PATCH /shelves/a/books/7"}},
		"a refused call": {func(t *Trial) {
			t.Refused(http.MethodPatch, book, map[string]any{"title": 1}, scenario.InvalidBody)
		}, []string{`PATCH /shelves/a/books/7 {"title":1}`}},
		"a created thing": {func(t *Trial) { t.CreateOf(t.Resources.CreatedBy("createNote")) }, []string{"POST /notes"}},
		"a drawn thing": {func(t *Trial) {
			drawn := &scenario.Thing{Creator: "createShelf"}
			t.Draw(drawn)
			t.Read(drawn)
		}, []string{"GET /shelves/id#1"}},
		"a call with a query": {func(t *Trial) {
			t.Do(scenario.Call{Operation: "listLoans", Query: url.Values{"from": {"3"}}}, scenario.Expectation{})
		}, []string{"GET /loans?from=3"}},
		"a read":                   {func(t *Trial) { t.Read(book) }, []string{"GET /shelves/a/books/7"}},
		"a read of a label":        {func(t *Trial) { t.Read(label) }, []string{"GET /labels/red"}},
		"a removal":                {func(t *Trial) { t.Remove(shelf) }, []string{"DELETE /shelves/a"}},
		"a removal below":          {func(t *Trial) { t.Remove(book) }, []string{"DELETE /shelves/a/books/7"}},
		"a removal of a label":     {func(t *Trial) { t.Remove(label) }, []string{"DELETE /labels/red"}},
		"a removal without DELETE": {func(t *Trial) { t.Remove(list) }, nil},
		"a removal without a path": {func(t *Trial) { t.Remove(note) }, nil},
		"a removal of what a query alone can have": {func(t *Trial) {
			t.Remove(&scenario.Thing{Creator: "putLabel", ID: ".."})
		}, nil},
		"an operation that is none": {calling("noOperation", nil), nil},
		"a body below a thing is its own": {func(t *Trial) {
			t.Do(scenario.Call{Operation: "createBook", Of: shelf, Body: map[string]any{"code": "own"}}, scenario.Expectation{})
		}, []string{`POST /shelves/a/books {"code":"own"}`}},
	} {
		p := &player{draft: library(t).Draft(name)}
		_ = p.play(c.test)
		t.Run(name, func(t *testing.T) { checkSent(t, p.sent, c.want...) })
	}
}

// calling is a test that calls an operation.
func calling(operation string, of *scenario.Thing) func(*Trial) {
	return func(t *Trial) { t.Do(scenario.Call{Operation: operation, Of: of}, scenario.Expectation{}) }
}

// A read remembers what it has seen. A resource without GET is not read.
func TestRead(t *testing.T) {
	t.Parallel()
	d := library(t, scenario.Resource{Create: "createNote", ID: "id", Delete: "deleteNote"}).Draft("a test")
	shelf := &scenario.Thing{Creator: "createShelf", ID: "a"}
	p := &player{draft: d, responses: []response{{status: 200, body: `{"code":"a"}`}}}
	must.NoError(t, p.play(func(trial *Trial) {
		got, isRead := trial.Read(shelf)
		if !isRead || string(got.Body) != `{"code":"a"}` || string(shelf.Seen.Body) != string(got.Body) {
			t.Errorf("it is read: %v, %s; seen is %s", isRead, got.Body, shelf.Seen.Body)
		}
		note := &scenario.Thing{Creator: "createNote", ID: "n"}
		trial.ReadShows(note, map[string]any{"room": "a"})
		trial.Unchanged(note, "a test")
		if _, isRead := trial.Read(note); isRead || len(p.sent) != 1 {
			t.Errorf("what has no GET is read: %q", p.sent)
		}
	}))
}

// A thing has changed if a read differs from what was seen, but for members that change by themselves.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	const changed = "a test has changed a from "
	for _, c := range []struct {
		first, second, third response
		want                 string
	}{
		{first: response{body: `{"a":1}`}, second: response{body: `{"a":1}`}, third: response{body: `{"a":2}`}},
		{first: response{body: `{"a":1}`}, second: response{body: `{"a":2}`}, third: response{body: `{"a":3}`}},
		{first: response{body: `{"a":1}`}, second: response{body: `{"a":2}`}, third: response{body: `{"a":2}`}, want: changed + `{"a":1} to {"a":2}`},
		{first: response{body: `{"a":1}`}, second: response{body: `{"a":2}`, status: 404}, third: response{body: `{"a":3}`, status: 404}, want: changed + `{"a":1} to {"a":3}`},
		{first: response{body: `{"a":1}`}, second: response{body: `{"a":2}`}, third: response{body: `{"a":3}`, status: 404}, want: changed + `{"a":1} to {"a":3}`},
		{first: response{body: "1"}, second: response{body: "2"}, third: response{body: "three"}, want: changed + "1 to three"},
	} {
		p := &player{draft: library(t).Draft("a test"), responses: []response{c.first, c.second, c.third}}
		err := p.play(func(t *Trial) {
			shelf := &scenario.Thing{Creator: "createShelf", ID: "a"}
			t.Read(shelf)
			t.Unchanged(shelf, "a %s", "test")
		})
		if message(err) != c.want {
			t.Errorf("after %+v: %q, want %q", c, message(err), c.want)
		}
	}
}

// A read must have what is known of a thing.
func TestReadShows(t *testing.T) {
	t.Parallel()
	declared := scenario.Resource{Create: "createShelf", ID: "code", Read: "getShelf"}
	p := &player{draft: library(t, declared).Draft("a test"), responses: []response{{status: 200, body: `{"room":"b"}`}}}
	err := p.play(func(t *Trial) {
		t.ReadShows(&scenario.Thing{Creator: "createShelf", ID: "a"}, map[string]any{"room": "a"})
	})
	if want := `was sent room = "a", but has "b"`; message(err) != want {
		t.Errorf("%q, want %q", message(err), want)
	}
}

// The plainest body has what the service needs, or is none.
func TestPlainBody(t *testing.T) {
	t.Parallel()
	drafts := library(t)
	create := drafts.Document.Operation("createShelf")
	drafts.Lessons.Teach(create, func(l *lessons.Lesson) { l.LeftOut = map[string]bool{"/width": true} })
	d := drafts.Draft("a test")
	body, _ := d.PlainBody(create).(map[string]any)
	if len(body) != 2 || body["room"] != "Ficus" {
		t.Errorf("the body of a shelf is %v", body)
	}
	if body := d.PlainBody(drafts.Document.Operation("createNote")); body != nil {
		t.Errorf("the body of a note is %v", body)
	}
}

// Things are drawn identities that differ; without a request.
func TestDraw(t *testing.T) {
	t.Parallel()
	d := library(t).Draft("a test")
	one := &scenario.Thing{Creator: "createShelf"}
	other := &scenario.Thing{Creator: "createShelf"}
	unknown := &scenario.Thing{Creator: "listLoans"}
	d.Draw(one, unknown, other)
	if one.ID == nil || other.ID == nil || one.ID == other.ID || unknown.ID != nil {
		t.Errorf("the identities are %v, %v and %v", one.ID, other.ID, unknown.ID)
	}
}
