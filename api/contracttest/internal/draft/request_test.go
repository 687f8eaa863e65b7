package draft

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A condition that is required is the ETag that a read has, unless the test has one. Where a read has no ETag, where
// nothing reads the thing, and where there is no thing, it is the plainest one.
func TestRequiredCondition(t *testing.T) {
	t.Parallel()
	shelf := &scenario.Thing{Creator: "createShelf", ID: "a"}
	unread := scenario.Resource{Create: "createShelf", ID: "code", Replace: "putShelf"}
	for name, c := range map[string]struct {
		declared []scenario.Resource
		call     scenario.Call
		etag     string // that a read has
		sent     []string
		want     string
	}{
		"an ETag":         {nil, scenario.Call{Of: shelf}, `"1"`, []string{"GET /shelves/a", "PUT /shelves/a"}, `"1"`},
		"no ETag":         {nil, scenario.Call{Of: shelf}, "", []string{"GET /shelves/a", "PUT /shelves/a"}, "Ficus"},
		"one of the test": {nil, scenario.Call{Of: shelf, Header: http.Header{"If-Match": {`"2"`}}}, `"1"`, []string{"PUT /shelves/a"}, `"2"`},
		"no read":         {[]scenario.Resource{unread}, scenario.Call{Of: shelf}, `"1"`, []string{"PUT /shelves/a"}, "Ficus"},
		"no thing":        {nil, scenario.Call{}, `"1"`, []string{"PUT /shelves/Ficus"}, "Ficus"},
	} {
		p := &player{draft: library(t, c.declared...).Draft("a test"), responses: []response{{status: 200, etag: c.etag}}}
		c.call.Operation = "putShelf"
		must.NoError(t, p.play(func(t *Trial) { t.Do(c.call, scenario.Expectation{}) }))
		t.Run(name, func(t *testing.T) { checkSent(t, p.sent, c.sent...) })
		if got := p.requests[len(p.requests)-1].Header.Get("If-Match"); got != c.want {
			t.Errorf("%s: the condition is %q", name, got)
		}
	}
}

// What a call leaves open of a path is a known value, or else the plainest one.
func TestOpenPath(t *testing.T) {
	t.Parallel()
	drafts := library(t)
	drafts.World.Learn(scenario.Interaction{Method: http.MethodGet, Path: "/shelves/s9", Status: 200})
	d := drafts.Draft("a test")
	below := &scenario.Thing{Creator: "createBook", ID: int64(7)} // of an unknown shelf
	drafts.World.Learn(scenario.Interaction{Method: http.MethodGet, Path: "/shelves/s8/books/5", Status: 200})
	request, err := drafts.Draft("a test").Request(scenario.Call{Operation: "getBook", Of: below}, "")
	if err != nil || request.Path != "/shelves/s9/books/7" {
		t.Errorf("the path of a book is %s, %v", request.Path, err)
	}
	for operation, want := range map[string]string{"getSeat": "/desks/Ficus/seats/1", "createBook": "/shelves/s9/books"} {
		request, err := d.Request(scenario.Call{Operation: operation}, "")
		if err != nil || request.Path != want {
			t.Errorf("the path of %s is %s, %v, want %s", operation, request.Path, err, want)
		}
	}
}

// A slot is settled or free, and what was settled last counts. Others that have the same slots keep theirs.
func TestSlots(t *testing.T) {
	t.Parallel()
	drafts := library(t)
	seat := drafts.Document.Operation("getSeat")
	desk, number := seat.Parameter("path", "desk"), seat.Parameter("path", "seat")
	slots := Slots{Operation: seat}
	slots.Free(desk, drafts.Values)
	slots.Free(number, drafts.Values)
	settled := slots
	settled.Set(desk, "d")
	settled.Set(desk, "e")
	fresh := slots
	fresh.FreshenPath(drafts.Draft("a test"))
	without := settled
	without.Unset(number)
	settled.FreshenPath(drafts.Draft("a test"))
	for want, of := range map[string]*Slots{"/desks/Ficus/seats/1": &slots, "/desks/e/seats/1": &settled, "/desks/e/seats/{seat}": &without} {
		request := scenario.Request{Path: seat.Template, Header: http.Header{}}
		of.Write(&request)
		if request.Path != want {
			t.Errorf("the path is %s, want %s", request.Path, want)
		}
	}
	if fresh.IsFree(desk) || !fresh.IsFree(number) || !slots.IsFree(desk) || settled.IsFree(desk) || !settled.IsSettled(desk) || slots.IsSettled(desk) || without.IsSettled(number) {
		t.Error("a slot is free that is not, or the other way round")
	}
}

// What is no free text of a path is not made new.
func TestFreshenPath(t *testing.T) {
	t.Parallel()
	drafts := library(t)
	for operation, parameter := range map[string][2]string{"getFloor": {"path", "floor"}, "listLoans": {"header", "X-Desk"}} {
		slots := Slots{Operation: drafts.Document.Operation(operation)}
		free := slots.Operation.Parameter(parameter[0], parameter[1])
		slots.Free(free, drafts.Values)
		slots.FreshenPath(drafts.Draft("a test"))
		if !slots.IsFree(free) {
			t.Errorf("%s of %s is %s", free.Name, operation, slots.Text(free))
		}
	}
}

// A request has the headers that its parameters and its body need, and no others.
func TestHeaders(t *testing.T) {
	t.Parallel()
	d := library(t).Draft("a test")
	for operation, want := range map[string]http.Header{
		"getShelf":    {},
		"createShelf": {"Content-Type": {"application/json"}},
		"listLoans":   {"Cookie": {"seat=Ficus"}, "X-Desk": {"Ficus"}, "X-Note": {"given"}},
	} {
		request, err := d.Request(scenario.Call{Operation: operation, Body: map[string]any{}}, "")
		if err != nil || !maps.EqualFunc(request.Header, want, slices.Equal) {
			t.Errorf("%s has %v, %v, want %v", operation, request.Header, err, want)
		}
	}
}

// A thing is sent within what its operation takes around it.
func TestWrappedBody(t *testing.T) {
	t.Parallel()
	d := library(t).Draft("a test")
	create := d.Document.Operation("createShelf")
	create.Takes = document.Wrapping{Members: "/shelf"}
	request, err := d.Request(scenario.Call{Operation: create.ID, Body: map[string]any{"code": "a"}}, "")
	got := numbered([]string{string(request.Body)})[0]
	if want := `{"code":"id#1","room":"Ficus","shelf":{"code":"a"},"width":1}`; err != nil || got != want {
		t.Errorf("sent %s, %v, want %s", got, err, want)
	}
}

// Encoded keeps a body that is not of the media type of the document.
func TestEncoded(t *testing.T) {
	t.Parallel()
	const form = "application/x-www-form-urlencoded"
	lend := library(t).Document.Operation("lend")
	for sentType, want := range map[string]string{form: "book=a", "text/plain": `{"book":"a"}`, "": `{"book":"a"}`} {
		request := scenario.Request{Header: http.Header{}, Body: []byte(`{"book":"a"}`)}
		var types []string
		if sentType != "" {
			types = []string{sentType}
			request.Header.Set("Content-Type", sentType)
		}
		got := Encoded(lend, request)
		if string(got.Body) != want || !slices.Equal(got.Header["Content-Type"], types) {
			t.Errorf("of %q it is %s with %v, want %s", sentType, got.Body, got.Header, want)
		}
	}
	const parts = "multipart/form-data"
	request := scenario.Request{Header: http.Header{"Content-Type": {parts}}, Body: []byte(`{"page":"a"}`)}
	got := Encoded(library(t).Document.Operation("scan"), request).Header.Get("Content-Type")
	if !strings.HasPrefix(got, parts+"; boundary=") {
		t.Errorf("the media type of parts is %q", got)
	}
}
