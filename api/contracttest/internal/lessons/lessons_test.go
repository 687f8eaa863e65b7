package lessons

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/schematest"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/internal/world"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// customer is what is known of a customer, under the names of its path, or nothing.
func customer(l *taught) string {
	getCustomer := l.document.Operation("getCustomer")
	text, _ := l.Text(getCustomer.Parameters[0], world.InPath(getCustomer.Template, "customer"))
	return text
}

// Responses, and what was sent to create something, say what exists.
func TestLearn(t *testing.T) {
	t.Parallel()
	const ann = `{"name":"ann"}`
	for _, c := range []struct {
		name         string
		method, path string
		status       int
		sent, body   string
		want         string
	}{
		{name: "a response", method: "GET", path: "/customers", status: 200, body: `[{"id":"c1"}]`, want: "c1"},
		{name: "the last success", method: "GET", path: "/customers", status: 299, body: `[{"id":"c1"}]`, want: "c1"},
		{name: "no success", method: "GET", path: "/customers", status: 300, body: `[{"id":"c1"}]`},
		{name: "less than a success", method: "GET", path: "/customers", status: 199, body: `[{"id":"c1"}]`},
		{name: "a failure", method: "GET", path: "/customers", status: 404, body: `[{"id":"c1"}]`},
		{name: "more than one value", method: "GET", path: "/customers", status: 200, body: `{"id":"c1"} and more`, want: "c1"},
		{name: "no JSON", method: "GET", path: "/customers", status: 200, body: `c1`},
		{name: "outside the document", method: "GET", path: "/clients", status: 200, body: `[{"id":"c1"}]`},
		{name: "what was created", method: "POST", path: "/customers", status: 201, sent: ann, body: `{}`, want: "ann"},
		{name: "what was created without a response", method: "POST", path: "/customers", status: 204, sent: ann, want: "ann"},
		{name: "what was only asked", method: "POST", path: "/customers", status: 200, sent: ann, body: `{}`},
		{name: "what was put", method: "PUT", path: "/customers", status: 200, sent: ann, body: `{}`, want: "ann"},
		{name: "what a read sends", method: "GET", path: "/customers", status: 201, sent: ann, body: `{}`},
		{name: "the response before what was sent", method: "PUT", path: "/customers", status: 200, sent: ann, body: `{"name":"bob"}`, want: "bob"},
		{name: "a response that is long", method: "GET", path: "/customers", status: 200, body: `{"id":"c1"}` + strings.Repeat(" ", 1<<20-11), want: "c1"},
		{name: "one that is too long", method: "GET", path: "/customers", status: 200, body: `{"id":"c1"}` + strings.Repeat(" ", 1<<20-10)},
	} {
		l := ordersRead(t)
		l.Learn(scenario.Interaction{Method: c.method, Path: c.path, Status: c.status, RequestBody: []byte(c.sent), Body: []byte(c.body)})
		if got := customer(l); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if (l.Added() > 0) != (c.want != "") {
			t.Errorf("%s: %d values were added", c.name, l.Added())
		}
	}
}

// What a response shows depends on its status.
func TestLearnByStatus(t *testing.T) {
	t.Parallel()
	l := ordersRead(t)
	for _, status := range []int{200, 203} {
		l.Learn(scenario.Interaction{Method: http.MethodGet, Path: "/papers", Status: status, Body: fmt.Appendf(nil, `{"id":"p%d"}`, status)})
	}
	parameter := l.document.Operation("getCustomer").Parameters[0]
	for name, want := range map[string]string{"orderid": "p200", "billid": "p203", "paperid": "p203"} {
		if got, _ := l.Text(parameter, []string{name}); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// pathOf is a path with what is known of its parameters.
func pathOf(l *taught, id string, isOpen func(*document.Parameter) bool) string {
	operation := l.document.Operation(id)
	path := operation.Template
	for name, text := range l.Path(operation, isOpen) {
		path = strings.ReplaceAll(path, "{"+name+"}", text)
	}
	return path
}

// What was read at a path exists there, until it is deleted, or not found.
func TestPath(t *testing.T) {
	t.Parallel()
	always := func(p *document.Parameter) bool { return p.In == "path" }
	never := func(*document.Parameter) bool { return false }
	const unfilled = "/customers/{customer}"
	for _, c := range []struct {
		name   string
		learns string // method, path and status of each response
		id     string // of the operation whose path is filled; getCustomer, if it is empty
		isOpen func(*document.Parameter) bool
		want   string
	}{
		{name: "nothing", want: unfilled},
		{name: "a read", learns: "GET /customers/c%201 200", want: "/customers/c%201"},
		{name: "a parameter that is not described", learns: "GET /doors/d1 200", id: "getDoor", want: "/doors/{door}"},
		{name: "a path that is settled", learns: "GET /customers/c1 200", isOpen: never, want: unfilled},
		{name: "a read that fails", learns: "GET /customers/c1 500", want: unfilled},
		{name: "a change", learns: "PUT /customers/c1 200", want: unfilled},
		{name: "a deletion", learns: "GET /customers/c1 200, DELETE /customers/c1 204", want: unfilled},
		{name: "a deletion of another one", learns: "GET /customers/c1 200, DELETE /customers/c2 204", want: "/customers/c1"},
		{name: "a deletion below it", learns: "GET /customers/c1 200, DELETE /customers/c1/close 204", want: "/customers/c1"},
		{name: "not found", learns: "GET /customers/c1 200, GET /customers/c1 404", want: unfilled},
		{name: "gone", learns: "GET /customers/c1 200, GET /customers/c1 410", want: unfilled},
		{name: "not found, the one before is", learns: "GET /customers/c1 200, GET /customers/c2 200, GET /customers/c2 404", want: "/customers/c1"},
		{name: "not found by another one", learns: "GET /customers/c1 200, DELETE /customers/c1 404", want: "/customers/c1"},
		// It may be what the body names.
		{name: "not found by one with references", learns: "GET /customers/c1 200, PUT /customers/c1 404", id: "putCustomer", want: "/customers/c1"},
		{name: "not found below", learns: "GET /customers/c1 200, DELETE /customers/c1/close 404", id: "closeCustomer", want: "/customers/{customer}/close"},
	} {
		l := ordersRead(t)
		for step := range strings.SplitSeq(c.learns, ", ") {
			x := scenario.Interaction{}
			_, _ = fmt.Sscan(step, &x.Method, &x.Path, &x.Status)
			l.Learn(x)
		}
		if c.id == "" {
			c.id = "getCustomer"
		}
		if c.isOpen == nil {
			c.isOpen = always
		}
		if got := pathOf(l, c.id, c.isOpen); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A value has the form that the schema wants, whatever that of the response was.
func TestFitting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ learned, wanted, want string }{
		{`{"id":7}`, "integer", "7"},
		{`{"id":7}`, "string", "7"},
		{`{"id":"7"}`, "integer", "7"},
		{`{"id":"x"}`, "integer", ""},
		{`{"id":"x"}`, "number", ""},
		{`{"id":"x"}`, "string", "x"},
		{`{"id":"a/b"}`, "string", ""}, // no path can have it
	} {
		l := ordersRead(t)
		l.Learn(scenario.Interaction{Method: http.MethodGet, Path: "/customers", Status: 200, Body: []byte(c.learned)})
		parameter := l.document.Operation("getCustomer").Parameters[0]
		parameter.Schema = schematest.Of(t, "{type: "+c.wanted+"}")
		text, ok := l.Text(parameter, []string{"customerid"})
		if text != c.want || ok != (c.want != "") {
			t.Errorf("%s as %s is %q, %v", c.learned, c.wanted, text, ok)
		}
		if got := l.Path(l.document.Operation("getCustomer"), func(*document.Parameter) bool { return true })["customer"]; got != c.want {
			t.Errorf("%s as %s is %q in a path", c.learned, c.wanted, got)
		}
	}
}

// A path that cannot be read has no value.
func TestOddPath(t *testing.T) {
	t.Parallel()
	l := ordersRead(t)
	l.Learn(scenario.Interaction{Method: http.MethodGet, Path: "/customers/%zz", Status: 200})
	if l.Added() != 0 {
		t.Error("a value was added")
	}
}

// What is taught of an operation is known in all tests, and a copy of it stays as it was.
func TestTeach(t *testing.T) {
	t.Parallel()
	l := ordersRead(t)
	createNote := l.document.Operation("createNote")
	before := l.Of(createNote)
	other := l.For(l.values.ForTest("a test"), l.world)
	other.Teach(createNote, func(lesson *Lesson) { lesson.IsRehearsed = true })
	other.Teach(createNote, func(lesson *Lesson) { lesson.NeedsFresh = true })
	after := l.Of(createNote)
	if before.IsRehearsed || !after.IsRehearsed || !after.NeedsFresh {
		t.Errorf("before it was %+v, after it %+v", before, after)
	}
	if l.Of(l.document.Operation("createText")).IsRehearsed {
		t.Error("another operation is rehearsed, too")
	}
	if l.values == other.values {
		t.Error("a test draws with the generator of all")
	}
}

// A body may name something else by a name, by a format, or further inside.
func TestRefers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		schema string
		want   bool
	}{
		{"{type: object, properties: {name: {type: string}}}", false},
		{"{type: object, properties: {id: {type: string}}}", false},
		{"{type: object, properties: {tag_id: {type: string}}}", true},
		{"{type: object, properties: {name: {type: string}, tag_id: {type: string}}}", true},
		{"{type: object, properties: {size: {type: integer}}}", true},
		{"{type: object, properties: {mark: {type: string, format: uuid}}}", true},
		{"{type: object, properties: {mark: {type: string, format: date}}}", false},
		{"{type: array, items: {type: object, properties: {tag_id: {type: string}}}}", true},
		{"{type: array, items: {type: object, properties: {name: {type: string}}}}", false},
		{"{oneOf: [{type: object, properties: {name: {type: string}}}, {type: object, properties: {tag_id: {type: string}}}]}", true},
		{"{type: object, properties: {a: {type: object, properties: {b: {type: object, properties: {tag_id: {type: string}}}}}}}", true},
		{"{type: object, properties: {a: {type: object, properties: {b: {type: object, properties: {c: {type: object, properties: {tag_id: {type: string}}}}}}}}}", false},
	} {
		const before = "schema: {type: object, required: [text]"
		text := strings.Replace(ordersDocument, before+", properties: {text: {type: string}, mood: {type: string, enum: [good]}}}", "schema: "+c.schema, 1)
		read, err := document.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := taughtOf(read, values.Settings{}).Of(read.Operation("createNote")).hasReferences; got != c.want {
			t.Errorf("%s refers to something: %v", c.schema, got)
		}
	}
}
