package draft

import (
	"errors"
	"net/http"
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
		steps func(*Draft) []scenario.Step
		want  []string
	}{
		"a call": {func(d *Draft) []scenario.Step {
			return []scenario.Step{d.Call(http.MethodPatch, book, map[string]any{"title": "b"}, nil)}
		}, []string{`PATCH /shelves/a/books/7 {"title":"b"}`}},
		"the identity of a body is that of the path": {func(d *Draft) []scenario.Step {
			return []scenario.Step{d.Call(http.MethodPatch, book, map[string]any{"id": 1}, nil)}
		}, []string{`PATCH /shelves/a/books/7 {"id":7}`}},
		"a read":                    {func(d *Draft) []scenario.Step { return d.Read(book) }, []string{"GET /shelves/a/books/7"}},
		"a read of a label":         {func(d *Draft) []scenario.Step { return d.Read(label) }, []string{"GET /labels/red"}},
		"a removal":                 {func(d *Draft) []scenario.Step { return d.Remove(shelf) }, []string{"DELETE /shelves/a"}},
		"a removal below":           {func(d *Draft) []scenario.Step { return d.Remove(book) }, []string{"DELETE /shelves/a/books/7"}},
		"a removal of a label":      {func(d *Draft) []scenario.Step { return d.Remove(label) }, []string{"DELETE /labels/red"}},
		"a removal without DELETE":  {func(d *Draft) []scenario.Step { return d.Remove(list) }, nil},
		"a removal without a path":  {func(d *Draft) []scenario.Step { return d.Remove(note) }, nil},
		"an operation that is none": {func(*Draft) []scenario.Step { return []scenario.Step{callOf("noOperation", nil)} }, nil},
		"a body below a thing is its own": {func(*Draft) []scenario.Step {
			step := callOf("createBook", shelf)
			call := step.Call()
			call.Body = map[string]any{"code": "own"}
			return []scenario.Step{{Call: func() scenario.Call { return call }}}
		}, []string{`POST /shelves/a/books {"code":"own"}`}},
	} {
		d := library(t).Draft(name)
		p := &player{draft: d}
		_ = p.play(c.steps(d))
		t.Run(name, func(t *testing.T) { checkSent(t, p.sent, c.want...) })
	}
}

// callOf is a step that calls an operation.
func callOf(operation string, of *scenario.Thing) scenario.Step {
	return scenario.Step{Call: func() scenario.Call { return scenario.Call{Operation: operation, Of: of} }}
}

// A read remembers what it has seen, and ends with the first check that fails. A resource without GET is not read.
func TestRead(t *testing.T) {
	t.Parallel()
	d := library(t, scenario.Resource{Create: "createNote", ID: "id", Delete: "deleteNote"}).Draft("a test")
	shelf := &scenario.Thing{Creator: "createShelf", ID: "a"}
	p := &player{draft: d, responses: []response{{status: 200, body: `{"code":"a"}`}}}
	isWrong := errors.New("wrong")
	passes := func(scenario.Interaction) error { return nil }
	fails := func(scenario.Interaction) error { return isWrong }
	if err := p.play(d.Read(shelf, passes, fails, passes)); !errors.Is(err, isWrong) {
		t.Errorf("the read ends with %v", err)
	}
	if string(shelf.Seen.Body) != `{"code":"a"}` {
		t.Errorf("seen is %s", shelf.Seen.Body)
	}
	if err := p.play(d.Read(shelf, passes)); err != nil {
		t.Errorf("the read ends with %v", err)
	}
	noRead := &scenario.Thing{Creator: "createNote", ID: "n"}
	if steps := d.Read(noRead); steps != nil {
		t.Errorf("there are steps to read what has no GET: %v", steps)
	}
}

// What nothing has changed must be read again byte by byte as it was.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	for again, want := range map[string]string{
		`{"code":"a"}`:  "",
		`{"code": "a"}`: `a create of b has changed a from {"code":"a"} to {"code": "a"}`,
	} {
		d := library(t).Draft("a test")
		shelf := &scenario.Thing{Creator: "createShelf", ID: "a"}
		p := &player{draft: d, responses: []response{{status: 200, body: `{"code":"a"}`}, {status: 200, body: again}}}
		must.NoError(t, p.play(d.Read(shelf)))
		if got := message(p.play(d.Unchanged(shelf, "a create of %s", "b"))); got != want {
			t.Errorf("after %s it is %q, want %q", again, got, want)
		}
	}
}

// CallAccepted must succeed, Call need not, and what a Call checks is its own.
func TestCallAccepted(t *testing.T) {
	t.Parallel()
	shelf := &scenario.Thing{Creator: "createShelf", ID: "a"}
	d := library(t).Draft("a test")
	p := &player{draft: d, responses: []response{{status: 404}}}
	if err := p.play([]scenario.Step{d.CallAccepted(http.MethodDelete, shelf, nil)}); err == nil {
		t.Error("a call that must be accepted may be refused")
	}
	must.NoError(t, p.play([]scenario.Step{d.Call(http.MethodDelete, shelf, nil, nil)}))
	err := p.play([]scenario.Step{d.Call(http.MethodDelete, shelf, nil, func(got scenario.Interaction) error {
		return scenario.Brokenf("got %d", got.Status)
	})})
	if message(err) != "got 404" {
		t.Errorf("the check says %v", err)
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
	if steps := d.Expand(scenario.Step{Draw: []*scenario.Thing{one, unknown, other}}); steps != nil {
		t.Errorf("there are steps: %v", steps)
	}
	if one.ID == nil || other.ID == nil || one.ID == other.ID || unknown.ID != nil {
		t.Errorf("the identities are %v, %v and %v", one.ID, other.ID, unknown.ID)
	}
}

// A test draws the same values again, also after other tests have drawn.
func TestSameDraws(t *testing.T) {
	t.Parallel()
	drafts := library(t)
	one := drafts.Draft("a test")
	other := drafts.Draft("another test")
	again := drafts.Draft("a test")
	const most = 1 << 30
	drawn := one.Values.Below(most)
	if drawn == other.Values.Below(most) || drawn != again.Values.Below(most) {
		t.Error("what is drawn does not depend on the name of the test alone")
	}
}

// What is no create, no walk and no call is executed as it is.
func TestExpandOther(t *testing.T) {
	t.Parallel()
	step := scenario.Verify(func() error { return errors.New("as it is") })
	steps := library(t).Draft("a test").Expand(step)
	if len(steps) != 1 || message(steps[0].Check(scenario.Interaction{})) != "as it is" {
		t.Errorf("the steps are %v", steps)
	}
}

// A valid request must succeed. Of an inferred resource a condition may be refused, because nothing says that it has
// ETags.
func TestAccepted(t *testing.T) {
	t.Parallel()
	isDeclared := scenario.Resource{Create: "createShelf", ID: "code", Read: "getShelf", Replace: "putShelf"}
	const refused = "the request is valid, but was refused"
	const untried = "the header has no ETag of the service"
	for name, c := range map[string]struct {
		declared []scenario.Resource
		path     string
		header   string
		status   int
		want     string
	}{
		"a success":               {path: "/shelves/a", header: "If-Match", status: 200},
		"a condition":             {path: "/shelves/a", header: "If-Match", status: 400, want: untried},
		"another condition":       {path: "/shelves/a", header: "If-None-Match", status: 400, want: untried},
		"no condition":            {path: "/shelves/a", header: "X-Desk", status: 400, want: refused},
		"another status":          {path: "/shelves/a", header: "If-Match", status: 404, want: refused},
		"a declared resource":     {declared: []scenario.Resource{isDeclared}, path: "/shelves/a", header: "If-Match", status: 400, want: refused},
		"no resource":             {path: "/loans", header: "If-Match", status: 400, want: refused},
		"nothing of the document": {path: "/nothing", header: "If-Match", status: 400, want: refused},
	} {
		got := library(t, c.declared...).Accepted(scenario.Interaction{
			Method: http.MethodGet, URL: "http://library.example" + c.path, Path: c.path,
			RequestHeader: http.Header{c.header: {"x"}}, Status: c.status,
		}, scenario.Promise{})
		if message(got) != c.want {
			t.Errorf("%s: %q, want %q", name, message(got), c.want)
		}
	}
}
