package draft

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

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

// What is left of a path is a known value, or else the plainest one. The rest stays as it is.
func TestFilledPath(t *testing.T) {
	t.Parallel()
	drafts := library(t)
	drafts.World.Learn(scenario.Interaction{Method: http.MethodGet, Path: "/shelves/s9", Status: 200})
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
	drafts.Values.MarkIdentity(seat.Parameter("path", "desk").Schema)
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
