package lessons

import (
	_ "embed"
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/internal/world"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// ordersDocument has orders, whose bodies name customers, owners, products and tags, and notes, which name nothing.
//
//go:embed testdata/orders.yaml
var ordersDocument string

// ordersRead is what is known of ordersDocument before there is a response. The options give a tenant.
func ordersRead(t *testing.T) *taught {
	t.Helper()
	read, err := document.Parse([]byte(ordersDocument))
	must.NoError(t, err)
	return taughtOf(read, values.Settings{Values: map[string]string{"tenant_id": "given"}})
}

// taught are lessons with what teaches them.
type taught struct {
	*Lessons
	*world.World
	document *document.Document
}

// taughtOf are the lessons of a document before there is a response.
func taughtOf(read *document.Document, settings values.Settings) *taught {
	generator := values.New(settings)
	known := world.New(read, resources.Find(read, generator, resources.Declarations{}))
	return &taught{New(known, generator), known, read}
}

// filledBody is a case of TestBody.
type filledBody struct {
	name      string
	learned   string // a response of GET /customers
	operation string // createOrder, if it is empty
	lesson    Lesson
	keeps     string
	body      string
	want      string
	needs     string
}

// filledBodies are bodies, with what is put into them.
var filledBodies = []filledBody{
	{name: "a reference", learned: `{"customer_id":"c1"}`, body: `{"customer_id":"Ficus"}`, want: `{"customer_id":"c1"}`, needs: "customer_id"},
	{name: "a number", learned: `{"unit_id":7}`, body: `{"unit_id":1}`, want: `{"unit_id":7}`, needs: "unit_id"},
	{name: "what it was in the response", learned: `{"mixed_id":7}`, body: `{"mixed_id":1}`, want: `{"mixed_id":7}`, needs: "mixed_id"},
	{name: "an inner name", learned: `{"owner_name":"ann"}`, body: `{"owner":{"id":1,"name":"Ficus"}}`, want: `{"owner":{"id":1,"name":"Ficus"}}`},
	{name: "a text, whatever its name is", learned: `{"note":{"id":"n1"}}`, body: `{"note":"Ficus"}`, want: `{"note":"Ficus"}`},
	{name: "a value of the test", learned: `{"customer_id":"c1"}`, body: `{"customer_id":"own"}`, want: `{"customer_id":"own"}`, needs: "customer_id"},
	{name: "an unknown reference", learned: `{}`, body: `{"customer_id":"Ficus"}`, want: `{"customer_id":"Ficus"}`, needs: "customer_id"},
	{name: "a number, whatever its name is", learned: `{"customer_number":{"id":7}}`, body: `{"customer_number":1}`, want: `{"customer_number":7}`, needs: "customer_number"},
	{name: "what does not fit", learned: `{"customer_number":{"id":"x"}}`, body: `{"customer_number":1}`, want: `{"customer_number":1}`},
	{name: "an inner id", learned: `{"owner":{"id":7}}`, body: `{"owner":{"id":1,"name":"Ficus"}}`, want: `{"owner":{"id":7,"name":"Ficus"}}`, needs: "id"},
	{name: "an inner ID", learned: `{"owner":{"id":7}}`, body: `{"owner":{"ID":"Ficus"}}`, want: `{"owner":{"ID":"7"}}`, needs: "ID"},
	{name: "an inner uuid", learned: `{"owner_uuid":"u7"}`, body: `{"owner":{"id":1,"uuid":"Ficus"}}`, want: `{"owner":{"id":1,"uuid":"u7"}}`, needs: "uuid"},
	{name: "a reference in an array", learned: `[{"product_id":"p1"}]`, body: `{"lines":[{"product_id":"Ficus"}]}`, want: `{"lines":[{"product_id":"p1"}]}`, needs: "product_id"},
	{name: "an array of references", learned: `{"tag_id":"t1"}`, body: `{"tag_ids":["Ficus"]}`, want: `{"tag_ids":["t1"]}`, needs: "tag_ids"},
	{
		name: "a format of identities", learned: `{"place":{"id":"00000000-0000-4000-8000-000000000001"}}`,
		body: `{"place":"01935a7e-8d3c-7c1e-9a55-0c4d6a1f2b3e"}`, want: `{"place":"00000000-0000-4000-8000-000000000001"}`, needs: "place",
	},
	{name: "its own identity", learned: `{"order_id":"o1"}`, body: `{"order_id":"Ficus"}`, want: `{"order_id":"Ficus"}`, needs: "order_id"},
	{name: "the id of an item", learned: `{"lines_id":"l1"}`, body: `{"lines":[{"id":"Ficus"}]}`, want: `{"lines":[{"id":"l1"}]}`, needs: "id"},
	{name: "its own name", learned: `{"order_name":"o1"}`, body: `{"order_name":"Ficus"}`, want: `{"order_name":"Ficus"}`, needs: "order_name"},
	{name: "its own slug", learned: `{"order_slug":"o1"}`, body: `{"order_slug":"Ficus"}`, want: `{"order_slug":"Ficus"}`, needs: "order_slug"},
	{name: "its own key", learned: `{"order_key":"o1"}`, body: `{"order_key":"Ficus"}`, want: `{"order_key":"Ficus"}`, needs: "order_key"},
	{name: "a given value", learned: `{"tenant_id":"t1"}`, body: `{"tenant_id":"Ficus"}`, want: `{"tenant_id":"Ficus"}`},
	{name: "what the document does not name", learned: `{"more_id":"m1"}`, body: `{"more_id":"Ficus"}`, want: `{"more_id":"Ficus"}`},
	{name: "left out", lesson: Lesson{LeftOut: map[string]bool{"/note": true}}, body: `{"id":"a","note":"b"}`, want: `{"id":"a"}`},
	{name: "left out where nothing is named", operation: "createNote", lesson: Lesson{LeftOut: map[string]bool{"/mood": true}}, body: `{"mood":"good","text":"a"}`, want: `{"text":"a"}`},
	{name: "left out inside", lesson: Lesson{LeftOut: map[string]bool{"/owner/name": true}}, body: `{"owner":{"name":"a"}}`, want: `{"owner":{}}`},
	{name: "left out of items", lesson: Lesson{LeftOut: map[string]bool{"/lines/*/text": true}}, body: `{"lines":[{"text":"a"},{"text":"b"}]}`, want: `{"lines":[{},{}]}`},
	{name: "with a slash", lesson: Lesson{LeftOut: map[string]bool{"/a~1b": true}}, body: `{"a/b":"a"}`, want: `{}`},
	{name: "kept", lesson: Lesson{LeftOut: map[string]bool{"/note": true}}, keeps: "/note", body: `{"note":"b"}`, want: `{"note":"b"}`},
	{name: "kept for what is in it", lesson: Lesson{LeftOut: map[string]bool{"/owner": true}}, keeps: "/owner/name", body: `{"owner":{"name":"b"}}`, want: `{"owner":{"name":"b"}}`},
	{name: "not kept for an inner name", lesson: Lesson{LeftOut: map[string]bool{"/note": true}}, keeps: "/owner/note", body: `{"note":"b"}`, want: `{}`},
	{name: "not kept for another name", lesson: Lesson{LeftOut: map[string]bool{"/note": true}}, keeps: "/notes", body: `{"note":"b"}`, want: `{}`},
	{name: "given, and left out", lesson: Lesson{LeftOut: map[string]bool{"/tenant_id": true}}, body: `{"tenant_id":"b"}`, want: `{"tenant_id":"b"}`},
	{name: "new texts", lesson: Lesson{NeedsFresh: true}, body: `{"note":"Ficus"}`, want: `{"note":"value1000001"}`},
	{name: "a new text of its own", operation: "createNote", lesson: Lesson{NeedsFresh: true}, body: `{"mood":"good","text":"Ficus 7"}`, want: `{"mood":"good","text":"value1000001"}`},
	{name: "no new text of a test", lesson: Lesson{NeedsFresh: true}, body: `{"note":"own"}`, want: `{"note":"own"}`},
	{name: "no new reference", lesson: Lesson{NeedsFresh: true}, body: `{"customer_id":"Ficus"}`, want: `{"customer_id":"Ficus"}`, needs: "customer_id"},
	{name: "its own new name", lesson: Lesson{NeedsFresh: true}, body: `{"order_name":"Ficus"}`, want: `{"order_name":"value1000001"}`, needs: "order_name"},
	{name: "no new text where anything may be", lesson: Lesson{NeedsFresh: true}, body: `{"free":"Ficus"}`, want: `{"free":"Ficus"}`},
	{name: "no new number", lesson: Lesson{NeedsFresh: true}, body: `{"note":1}`, want: `{"note":1}`},
	{name: "no number where a text is empty", lesson: Lesson{NeedsFresh: true}, body: `{"empty":1}`, want: `{"empty":1}`},
	{name: "nothing to learn", operation: "createNote", body: `{ "text": "Ficus" }`, want: `{ "text": "Ficus" }`},
	{name: "no JSON", body: `{ "note":`, want: `{ "note":`},
	{name: "no body"},
	{name: "no object", body: ` 7`, want: `7`},
	{name: "null", body: `{"owner":null}`, want: `{"owner":null}`},
}

// A request is filled with what responses have shown, and with nothing that a test is about.
func TestBody(t *testing.T) {
	t.Parallel()
	for _, c := range filledBodies {
		l := ordersRead(t)
		operation := l.document.Operation(c.operation)
		if operation == nil {
			operation = l.document.Operation("createOrder")
		}
		l.Learn(scenario.Interaction{Method: http.MethodGet, Path: "/customers", Status: 200, Body: []byte(c.learned)})
		l.Teach(operation, func(lesson *Lesson) {
			lesson.LeftOut = c.lesson.LeftOut
			lesson.NeedsFresh = c.lesson.NeedsFresh
		})
		body, needs := l.Body(operation, []byte(c.body), c.keeps)
		if string(body) != c.want || strings.Join(needs, " ") != c.needs {
			t.Errorf("%s: %s needs %q, want %s and %q", c.name, body, needs, c.want, c.needs)
		}
	}
}

// What has more levels than are looked through stays as it is.
func TestDeepBody(t *testing.T) {
	t.Parallel()
	l := ordersRead(t)
	operation := l.document.Operation("createNote")
	body := operation.BodySchema()
	whole := *body
	for range 3 {
		inner := whole
		whole.Properties = map[string]*schema.Schema{"text": body.Properties["text"], "mood": body.Properties["mood"], "inner": &inner}
		whole.Required = []string{"text", "inner"}
	}
	*body = whole
	const sent = `{"inner":{"inner":{"inner":{"mood":"good","text":"Ficus"},"mood":"good","text":"Ficus"},"text":"Ficus"},"mood":"good","text":"Ficus"}`
	const want = `{"inner":{"inner":{"inner":{"mood":"good","text":"Ficus"},"mood":"good","text":"value1000001"},"text":"value1000002"},"mood":"good","text":"value1000003"}`
	value, err := jsonvalue.Decode([]byte(sent))
	must.NoError(t, err)
	if got := string(jsonvalue.Encode(l.ValueBy(operation, Lesson{NeedsFresh: true}, value))); got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
	if got := strings.Join(l.OptionalPlaces(operation, value), " "); got != "/inner/inner/mood /mood" {
		t.Errorf("optional are %s", got)
	}
}

// What must be there, and has no schema, has nothing that may be left out.
func TestOptionalWithoutSchema(t *testing.T) {
	t.Parallel()
	l := ordersRead(t)
	operation := l.document.Operation("createNote")
	operation.BodySchema().Required = []string{"text", "more"}
	value := map[string]any{"text": "a", "mood": "good", "more": map[string]any{"a": 1}}
	if got := strings.Join(l.OptionalPlaces(operation, value), " "); got != "/mood" {
		t.Errorf("optional are %s", got)
	}
}

// A value of Go is filled as what a service reads, with what is known of the operation.
func TestValue(t *testing.T) {
	t.Parallel()
	l := ordersRead(t)
	operation := l.document.Operation("createNote")
	l.Teach(operation, func(lesson *Lesson) { lesson.LeftOut = map[string]bool{"/mood": true} })
	if got := string(jsonvalue.Encode(l.Value(operation, map[string]any{"text": "a", "mood": "good"}))); got != `{"text":"a"}` {
		t.Errorf("it is %s", got)
	}
	text := l.document.Operation("createText")
	if got := l.Value(text, "Ficus"); got != "Ficus" {
		t.Errorf("it is %v", got)
	}
	if got := l.Value(l.document.Operation("getCustomer"), map[string]any{"text": "a"}); string(jsonvalue.Encode(got)) != `{"text":"a"}` {
		t.Errorf("it is %v", got)
	}
}

// What is optional may be left out, wherever it is.
func TestOptionalPlaces(t *testing.T) {
	t.Parallel()
	l := ordersRead(t)
	operation := l.document.Operation("createOrder")
	for body, want := range map[string]string{
		`{"customer_id":"a","note":"b","a/b":"c"}`:        "/a~1b /note",
		`{"customer_id":"a","owner":{"id":1,"name":"a"}}`: "/owner/name",
		`{"owner":{"id":1}}`:                              "",
		`{"lines":[{"product_id":"a","text":"b"}]}`:       "/lines",
		`[{"note":"a"}]`:                                  "/*/note",
		`[]`:                                              "",
		`7`:                                               "",
		`{"owner":{"id":{"deep":{"deep":{}}}}}`:           "/owner/id/deep",
	} {
		value, err := jsonvalue.Decode([]byte(body))
		must.NoError(t, err)
		if got := strings.Join(l.OptionalPlaces(operation, value), " "); got != want {
			t.Errorf("of %s optional are %q, want %q", body, got, want)
		}
	}
}

// What identifies the thing that is created is new, and names nothing else.
func TestOwnIdentity(t *testing.T) {
	t.Parallel()
	l := ordersRead(t)
	operation := l.document.Operation("createOrder")
	l.values.MarkIdentity(operation.BodySchema().Properties["customer_id"])
	l.Learn(scenario.Interaction{Method: http.MethodGet, Path: "/customers", Status: 200, Body: []byte(`{"customer_id":"c1"}`)})
	body, _ := l.Body(operation, []byte(`{"customer_id":"id7"}`), "")
	if string(body) != `{"customer_id":"id7"}` {
		t.Errorf("the body is %s", body)
	}
	l.values.MarkIdentity(operation.BodySchema().Properties["customer_number"])
	l.Learn(scenario.Interaction{Method: http.MethodGet, Path: "/customers", Status: 200, Body: []byte(`{"customer_number":{"id":7}}`)})
	if body, needs := l.Body(operation, []byte(`{"customer_number":8}`), ""); string(body) != `{"customer_number":8}` || needs != nil {
		t.Errorf("the body is %s, and needs %q", body, needs)
	}
	createNote := l.document.Operation("createNote")
	l.values.MarkIdentity(createNote.BodySchema().Properties["text"])
	if got := l.ValueBy(createNote, Lesson{NeedsFresh: true}, map[string]any{"text": "Ficus"}); string(jsonvalue.Encode(got)) != `{"text":"Ficus"}` {
		t.Errorf("the body is %v", got)
	}
}
