package contracttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/toy"
)

// toyService is a right service of some collections of testdata/toy.yaml. kin-openapi judges its requests, and a garden
// stores what they have.
type toyService struct {
	paths   string   // the beginnings of its paths
	edits   []string // texts of the document, each with what replaces it
	options Options
	habits  toy.Habits
	begins  func(g *toy.Garden) // plants what is there before the first request
	// wants is what the service wants beside what is written in the document: a response, or nil.
	wants   func(g *toy.Garden, q call) *toy.Response
	vain    string // the operations that never succeed
	isWhole bool   // no promise is not tested
}

// toyServices are the right services, by name.
var toyServices = map[string]toyService{
	"desks":   {paths: "/desks", isWhole: true, habits: toy.Habits{Assigns: true}, options: Options{Header: http.Header{"Cookie": {"key=secret"}}}},
	"crews":   {paths: "/crews /shifts", habits: naming("crew"), wants: wantsCrew},
	"lots":    {paths: "/lots", habits: naming("lot")},
	"jobs":    {paths: "/jobs", habits: toy.Habits{Assigns: true, NewID: text("job"), Defaults: map[string]any{"retries": 3, "labels": []any{}}}},
	"pens":    {paths: "/pens", habits: toy.Habits{Assigns: true}, wants: wantsHexColour},
	"books":   {paths: "/books", habits: toy.Habits{Assigns: true}},
	"parcels": {paths: "/parcels", habits: toy.Habits{Assigns: true}},
	"forms":   {paths: "/members /photos /lines", wants: wantsNoQuotes},
	"machines": {
		paths: "/tenants", habits: naming("m"), wants: wantsNorth,
		begins:  func(g *toy.Garden) { g.Beds["/tenants"] = []*toy.Planted{{ID: "acme"}} },
		options: Options{Values: map[string]string{"tenant": "acme", "X-Version": "7", "region": "north"}},
	},
	"memos":       {paths: "/memos", habits: toy.Habits{Assigns: true}},
	"shelves":     {paths: "/shelves", habits: toy.Habits{Puts: true}},
	"refusing":    {paths: "/recording /receivers /labels /events /buckets", wants: refusesAll, vain: "stopRecording deleteReceivers deleteLabel nextEvents readBucket"},
	"herbs":       {paths: "/tree /bush /herb", wants: storesNothing},
	"texts":       {paths: "/texts", habits: toy.Habits{Assigns: true}},
	"orders":      {paths: "/orders", habits: toy.Habits{Assigns: true, Links: true, Limit: 2}, begins: oldOrders, options: declaredOrders},
	"text orders": {paths: "/orders", edits: []string{"&orderID {type: integer, format: int64}", "&orderID {type: string, maxLength: 20}"}, habits: toy.Habits{Assigns: true, Links: true, Limit: 2, NewID: mixed}, begins: oldOrders, options: declaredOrders},
}

// toyFault makes a wrong service: it serves another document than the tests have read, or has a fault of its garden, or
// wants something else.
type toyFault struct {
	of    string
	name  string
	edits []string // texts of the document of the service, each with what replaces it
	toy.Fault
	wants func(g *toy.Garden, q call) *toy.Response
	want  []string // causes
}

// right is no fault.
var right toyFault

// toyFaults are the wrong services.
var toyFaults = []toyFault{
	// Credentials, and what is under another resource.
	{
		of: "desks", name: "anybody writes a note", edits: []string{"operationId: createNote\n      security: *key", "operationId: createNote"},
		want: []string{"requests without credentials are not refused"},
	},
	{
		of: "desks", name: "a note is written for a desk that does not exist", Fault: toy.Fault{At: "^POST /desks/[0-9]+/notes$", Before: plantsDesk},
		want: []string{"createNote: parameter deskId does not have its effect"},
	},
	{
		of: "desks", name: "a note is read below any desk", Fault: toy.Fault{At: "^GET /desks/[0-9]+/notes/[0-9]+$", Before: toy.Anywhere},
		want: []string{"createNote: what is under another parent is found"},
	},
	{
		of: "desks", name: "a note is deleted below any desk", Fault: toy.Fault{At: "^DELETE /desks/[0-9]+/notes/[0-9]+$", Before: toy.Anywhere},
		want: []string{"createNote: what is under another parent is found"},
	},
	{
		of: "desks", name: "any note is pinned", Fault: toy.Fault{At: "/pin$", After: toy.Responds(http.StatusNoContent)},
		want: []string{"pinNote: parameter noteId does not have its effect"},
	},
	{
		of: "desks", name: "a list has the notes of all desks", Fault: toy.Fault{At: "^GET /desks/[0-9]+/notes$", Before: toy.Together},
		want: []string{"createNote: what is under another parent is found"},
	},

	// A document that says less than the service wants hides nothing that is wrong.
	{
		of: "crews", name: "takes any name", edits: []string{", pattern: '^[a-z]{2,8}-[0-9]{3}$'", ""},
		want: []string{"createCrew in requests: a value that breaks pattern is accepted as /name"},
	},
	{
		of: "crews", name: "takes a long note", edits: []string{"note: {type: string, maxLength: 40}", "note: {type: string}"},
		want: []string{"createShift in requests: a value that breaks maxLength is accepted as /note"},
	},
	{
		of: "machines", name: "takes any size", edits: []string{"maximum: 8", "maximum: 800"},
		want: []string{"createMachine in requests: a value that breaks maximum is accepted as /size"},
	},
	{
		of: "texts", name: "cannot store a place, and reads another text", Fault: toy.Fault{At: "^GET", After: toy.Member("text", "another")}, wants: failsOnPlace,
		want: []string{"addText responds with 500", "addText: a read does not show what was created"},
	},
	{
		of: "herbs", name: "refuses what no schema names", wants: refusesMembers(func(o map[string]any) bool { return o["unknown-member"] != nil }),
		want: []string{"members that no schema names are refused with 400"},
	},
	{
		of: "herbs", name: "refuses a note of 20 characters", wants: refusesMembers(func(o map[string]any) bool { return len(fmt.Sprint(o["note"])) > 19 }),
		want: []string{"requests: a valid /note is refused with 400"},
	},

	// What is stored.
	{
		of: "jobs", name: "has another default", Fault: toy.Fault{Before: func(g *toy.Garden, _ *http.Request) { g.Defaults["retries"] = 0 }},
		want: []string{"createJob: what is left out does not have its default"},
	},
	{
		of: "books", name: "ignores a filter that may be null", Fault: toy.Fault{At: "^GET /books[?]", Before: toy.Without("year")},
		want: []string{"listBooks: parameter year does not have its effect"},
	},
	{
		of: "memos", name: "all creates lead to one memo", Fault: toy.Fault{At: "^POST", After: toy.Header("Location", "/memos/1001")},
		want: []string{"createMemo: two resources have one identity", "createMemo: Location does not lead to what it creates", "createMemo: a read does not show what was created"},
	},
	{
		of: "shelves", name: "stores what it refuses", edits: []string{"room: {type: string, maxLength: 30}", "room: {type: string}"}, wants: storesRefused,
		want: []string{"Shelf in responses: /room breaks maxLength", "putShelf, body /room maxLength, refused"},
	},
	{
		of: "shelves", name: "takes the version that was deleted", Fault: toy.Fault{Before: takesDeleted},
		want: []string{"putShelf succeeds although the precondition does not hold"},
	},
	{
		of: "shelves", name: "400 for 412", Fault: toy.Fault{At: "^PUT", After: insteadOf(http.StatusPreconditionFailed, http.StatusBadRequest)},
		want: []string{"putShelf: precondition failed refused with 400"},
	},

	// Types, and bodies that are no JSON.
	{
		of: "parcels", name: "takes any owner", edits: []string{`{owner: {type: "null"}}`, "{owner: {}}"}, Fault: toy.Fault{After: toy.Member("owner", nil)},
		want: []string{"Parcel in requests: a value of another type is accepted as /owner"},
	},
	{
		of: "parcels", name: "responds with an owner", Fault: toy.Fault{After: toy.Member("owner", "me")},
		want: []string{"Parcel in responses: /owner has another type"},
	},
	{
		of: "forms", name: "takes short names", edits: []string{"name: {type: string, minLength: 3}", "name: {type: string, minLength: 1}"},
		want: []string{"addMember in requests: a value that breaks minLength is accepted as /name"},
	},
	{
		of: "forms", name: "takes children", edits: []string{"minimum: 18", "minimum: 0"},
		want: []string{"addMember in requests: a value that breaks minimum is accepted as /age"},
	},
	{
		of: "forms", name: "needs no photo", edits: []string{"required: [title, photo]", "required: [title]"},
		want: []string{"addPhoto in requests: /photo is required, and may be missing"},
	},

	// Lists.
	{
		of: "orders", name: "ignores after", Fault: toy.Fault{At: "^GET /orders[?]", Before: toy.Without("after")},
		want: []string{"listOrders: pages have a resource twice"},
	},
	{
		of: "text orders", name: "ignores after", Fault: toy.Fault{At: "^GET /orders[?]", Before: toy.Without("after")},
		want: []string{"listOrders: pages have a resource twice"},
	},
	{
		of: "text orders", name: "skips an order of a page", Fault: toy.Fault{At: "^GET /orders([?]|$)", After: toy.Items(butFirst)},
		want: []string{"listOrders: without parameter limit it is not as with its default", "listOrders: parameter limit does not have its effect", "listOrders: pages lack what exists"},
	},
	{
		of: "text orders", name: "reads what was never created", Fault: toy.Fault{At: "^GET /orders/", After: insteadOf(http.StatusNotFound, http.StatusOK)},
		want: []string{"readOrder succeeds for what does not exist", "createOrder: its link does not lead to readOrder of what it creates"},
	},
}

// A right service is accused of nothing, and all of its operations are tried. A wrong one is accused of what is wrong.
func TestToys(t *testing.T) {
	t.Parallel()
	for name, service := range toyServices {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, report := service.run(t, right)
			if causes := plainCauseTexts(report); len(causes) > 0 {
				t.Errorf("the causes are %q", causes)
			}
			for _, promise := range report.Promises {
				if service.isWhole && promise.IsNotTested() {
					t.Errorf("not tested: %s: %s", promise.Name, promise.Why)
				}
			}
			for _, operation := range c.document.Operations {
				isSuccess := func(status int) bool { return status < http.StatusMultipleChoices }
				succeeds := slices.ContainsFunc(c.ledger.Statuses(operation.ID), isSuccess)
				if isVain := strings.Contains(service.vain, operation.ID); succeeds == isVain {
					t.Errorf("%s succeeds: %v", operation.ID, succeeds)
				}
			}
		})
	}
	for _, fault := range toyFaults {
		t.Run(fault.of+" "+fault.name, func(t *testing.T) {
			t.Parallel()
			wrong := toyServices[fault.of]
			_, report := wrong.run(t, fault)
			want := slices.Sorted(slices.Values(fault.want))
			if causes := plainCauseTexts(report); !slices.Equal(causes, want) {
				t.Errorf("the causes are %q, want %q", causes, want)
			}
		})
	}
}

// plainCauseTexts are causes as sentences that tests without chance see: what random bodies find is drawn.
func plainCauseTexts(report Report) []string {
	isPlain := func(test string) bool { return !strings.Contains(test, ", random body: ") }
	return causeTexts(slices.DeleteFunc(report.Causes, func(c Cause) bool { return !slices.ContainsFunc(c.Tests, isPlain) }))
}

// run runs the tests of the document on the service with a fault.
func (s toyService) run(t *testing.T, fault toyFault) (*Contract, Report) {
	t.Helper()
	s.options.Seed = 1
	if fault.wants != nil {
		s.wants = fault.wants
	}
	c, err := New(toyDocument(t, s.paths, s.edits...), s.options)
	must.NoError(t, err)
	served, err := New(toyDocument(t, s.paths, slices.Concat(s.edits, fault.edits)...), s.options)
	must.NoError(t, err)
	report := ran(t, c, inProcess{s.serve(served, fault.Fault)})
	return c, report
}

// serve is the service, with a fault.
func (s toyService) serve(c *Contract, fault toy.Fault) *service {
	s.habits.Defaults = maps.Clone(s.habits.Defaults)
	garden := toy.New(s.habits)
	if s.begins != nil {
		s.begins(garden)
	}
	serves := &service{
		contract: c, credentials: Credentials{"key": "secret"}, respond: map[string]func(call) *reply{},
		failure: func(status int) *reply { return newReply(status, nil) },
	}
	serves.store(func(q call) *toy.Response {
		if s.wants != nil {
			if wanted := s.wants(garden, q); wanted != nil {
				return wanted
			}
		}
		return garden.RespondWith(fault, q.Request)
	})
	return serves
}

// toyDocument is testdata/toy.yaml with edits, of which only some paths are left.
func toyDocument(t *testing.T, paths string, edits ...string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/toy.yaml")
	must.NoError(t, err)
	for pair := range slices.Chunk(edits, 2) {
		if !bytes.Contains(text, []byte(pair[0])) {
			t.Fatalf("toy.yaml has no %q", pair[0])
		}
		text = bytes.ReplaceAll(text, []byte(pair[0]), []byte(pair[1]))
	}
	root, err := document.Decode(text, t.Errorf)
	must.NoError(t, err)
	maps.DeleteFunc(root["paths"].(map[string]any), func(path string, _ any) bool {
		return !slices.ContainsFunc(strings.Fields(paths), func(of string) bool { return strings.HasPrefix(path, of) })
	})
	left, err := json.Marshal(root)
	must.NoError(t, err)
	if !bytes.Contains(left, []byte(`"security":`)) {
		delete(root["components"].(map[string]any), "securitySchemes")
		left, err = json.Marshal(root)
		must.NoError(t, err)
	}
	return left
}

// What services want beside what their document says.
