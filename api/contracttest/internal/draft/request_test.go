package draft

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// called is a case of TestRequest.
type called struct {
	call   scenario.Call
	sent   []string
	header http.Header // of the last request
}

// calls are calls of tests, with the requests that are sent for them.
var calls = map[string]called{
	"what is required": {
		call:   scenario.Call{Operation: "listLoans"},
		sent:   []string{"GET /loans?from=1"},
		header: http.Header{"X-Desk": {"Ficus"}, "X-Note": {"given"}},
	},
	"what a test says": {
		call: scenario.Call{
			Operation: "listLoans", Query: url.Values{"to": {"5"}, "from": {"4"}}, Header: http.Header{"X-Desk": {"a"}},
		},
		sent:   []string{"GET /loans?from=4&to=5"},
		header: http.Header{"X-Desk": {"a"}, "X-Note": {"given"}},
	},
	"a query beside what is required": {
		call:   scenario.Call{Operation: "listLoans", Query: url.Values{"to": {"5"}}},
		sent:   []string{"GET /loans?from=1&to=5"},
		header: http.Header{"X-Desk": {"Ficus"}, "X-Note": {"given"}},
	},
	"a form": {
		call:   scenario.Call{Operation: "lend", Body: map[string]any{"book": "a b"}},
		sent:   []string{"POST /loans?from=1 book=a+b"},
		header: http.Header{"X-Desk": {"Ficus"}, "X-Note": {"given"}, "Content-Type": {"application/x-www-form-urlencoded"}},
	},
	"JSON": {
		call:   scenario.Call{Operation: "createShelf", Body: map[string]any{"room": "a"}},
		sent:   []string{`POST /shelves {"room":"a"}`},
		header: http.Header{"Content-Type": {"application/json"}},
	},
	"a body that the document does not have": {
		call: scenario.Call{Operation: "createNote", Body: map[string]any{"room": "a"}},
		sent: []string{"POST /notes"},
	},
	"no body": {
		call: scenario.Call{Operation: "createShelf"},
		sent: []string{"POST /shelves"},
	},
	"the plainest path": {
		call: scenario.Call{Operation: "getSeat"},
		sent: []string{"GET /desks/Ficus/seats/1"},
	},
	"the ETag is read before": {
		call:   scenario.Call{Operation: "putShelf", Of: shelfA, Body: map[string]any{"room": "a"}},
		sent:   []string{"GET /shelves/a", `PUT /shelves/a {"room":"a"}`},
		header: http.Header{"If-Match": {`"1"`}, "Content-Type": {"application/json"}},
	},
	"an ETag of the test": {
		call: scenario.Call{
			Operation: "putShelf", Of: shelfA, Body: map[string]any{"code": "b"}, Header: http.Header{"If-Match": {`"2"`}},
		},
		sent:   []string{`PUT /shelves/a {"code":"a"}`},
		header: http.Header{"If-Match": {`"2"`}, "Content-Type": {"application/json"}},
	},
	"what is of no resource has none": {
		call:   scenario.Call{Operation: "lock", Of: shelfA},
		sent:   []string{"PUT /locks"},
		header: http.Header{"If-Match": {"Ficus"}},
	},
	"no thing has an ETag": {
		call:   scenario.Call{Operation: "putShelf"},
		sent:   []string{"PUT /shelves/Ficus"},
		header: http.Header{"If-Match": {"Ficus"}},
	},
}

// A request has what its operation requires, and what the options give, beside what a test says.
func TestRequest(t *testing.T) {
	t.Parallel()
	for name, c := range calls {
		d := library(t).Draft("a test")
		p := &player{draft: d, responses: []response{{status: 200, etag: `"1"`}}}
		before := len(c.call.Header)
		must.NoError(t, p.play(func(t *Trial) { t.Do(c.call, scenario.Expectation{}) }))
		t.Run(name, func(t *testing.T) {
			checkSent(t, p.sent, c.sent...)
			header := p.requests[len(p.requests)-1].Header
			if c.header == nil {
				c.header = http.Header{}
			}
			if !jsonvalue.Same(header, c.header) {
				t.Errorf("the header is %v, want %v", header, c.header)
			}
			if len(c.call.Header) != before {
				t.Errorf("the header of the test has become %v", c.call.Header)
			}
		})
	}
}

// Where a read has no ETag, and where nothing reads the thing, the condition is the plainest one.
func TestNoETag(t *testing.T) {
	t.Parallel()
	unread := scenario.Resource{Create: "createShelf", ID: "code", Replace: "putShelf"}
	for _, c := range []struct {
		declared []scenario.Resource
		sent     []string
	}{
		{nil, []string{"GET /shelves/a", "PUT /shelves/a"}},
		{[]scenario.Resource{unread}, []string{"PUT /shelves/a"}},
	} {
		p := &player{draft: library(t, c.declared...).Draft("a test")}
		must.NoError(t, p.play(calling("putShelf", &scenario.Thing{Creator: "createShelf", ID: "a"})))
		checkSent(t, p.sent, c.sent...)
		if got := p.requests[len(p.requests)-1].Header.Get("If-Match"); got != "Ficus" {
			t.Errorf("the condition is %q", got)
		}
	}
}

// An operation that the document does not have ends a test.
func TestNoOperation(t *testing.T) {
	t.Parallel()
	walk := func(t *Trial) {
		for range t.Pages("noOperation", nil) {
			return
		}
	}
	for _, test := range []func(*Trial){calling("noOperation", nil), walk} {
		p := &player{draft: library(t).Draft("a test")}
		if got := message(p.play(test)); got != "the document has no operation noOperation" {
			t.Errorf("it ends with %q", got)
		}
	}
}

// What is left of a path is a known value, or else the plainest one. The rest stays as it is.
func TestFilledPath(t *testing.T) {
	t.Parallel()
	drafts := library(t)
	drafts.Lessons.Learn(scenario.Interaction{Method: http.MethodGet, Path: "/shelves/s9", Status: 200})
	d := drafts.Draft("a test")
	for _, c := range []struct{ operation, path, want string }{
		{"getSeat", "/desks/{desk}/seats/{seat}", "/desks/Ficus/seats/1"},
		{"getSeat", "/desks/d/seats/{seat}", "/desks/d/seats/1"},
		{"getSeat", "/desks/{desk}/seats/4", "/desks/Ficus/seats/4"},
		{"getSeat", "/desks/d/seats/4", "/desks/d/seats/4"},
		{"getSeat", "/desks/{desk}/{desk}/seats/4", "/desks/Ficus/Ficus/seats/4"},
		{"createBook", "/shelves/{code}/books", "/shelves/s9/books"},
		{"createBook", "/shelves/{other}/books", "/shelves/{other}/books"},
	} {
		if got := d.FilledPath(d.Document.Operation(c.operation), c.path); got != c.want {
			t.Errorf("%s with %s is %s, want %s", c.operation, c.path, got, c.want)
		}
	}
}

// What is filled already draws no value.
func TestFilledPathDraws(t *testing.T) {
	t.Parallel()
	drafts := library(t)
	seat := drafts.Document.Operation("getSeat")
	drafts.Values.MarkIdentity(seat.Parameter("path", "desk").Schema.Value)
	d := drafts.Draft("a test")
	var numbers []int
	for _, path := range []string{"/desks/{desk}/seats/4", "/desks/d/seats/4", "/desks/d/seats/{seat}", "/desks/{desk}/seats/4"} {
		var number int
		if _, err := fmt.Sscanf(d.FilledPath(seat, path), "/desks/id%d/", &number); err == nil {
			numbers = append(numbers, number)
		}
	}
	if len(numbers) != 2 || numbers[1] != numbers[0]+1 {
		t.Errorf("the desks have the numbers %v", numbers)
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
