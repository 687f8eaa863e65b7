package contracttest

import (
	_ "embed"
	"net/http"
	"strings"
	"testing"
)

//go:embed testdata/habits.yaml
var habitsDocument string

// A service that needs no credentials has one cause, whatever it responds to. A create that
// conflicts with an earlier one is not refused, and what lists show is seen once something was created.
func TestHabits(t *testing.T) {
	t.Parallel()
	c := contractFrom(t, habitsDocument, Options{Seed: 1})
	names := map[string]bool{}
	s := &service{contract: c, failure: func(status int) *reply { return newReply(status, nil) }, respond: map[string]func(call) *reply{
		"addName": func(q call) *reply {
			name := q.body["name"].(string)
			if names[name] {
				return newReply(409, nil)
			}
			names[name] = true
			return newReply(201, nil)
		},
		"listNames": func(call) *reply {
			all := []any{}
			for name := range names {
				all = append(all, map[string]any{"name": name}) // is not what the document says
			}
			return newReply(200, all)
		},
	}}
	open := inProcess{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Key", "any")
		s.ServeHTTP(w, r)
	})}
	s.credentials = Credentials{"key": "any"}
	try(c, Target{URL: "http://names.example", Transport: open, Credentials: s.credentials})
	var causes []string
	for _, cause := range c.Causes() {
		causes = append(causes, cause.Cause)
	}
	const want = "requests without credentials are not refused; listNames, 200: body /* has another type"
	if got := strings.Join(causes, "; "); got != want {
		t.Errorf("the causes are %s; want %s", got, want)
	}
}

// Members that are optional by a oneOf with null, in one another, do not double the tests each time.
func TestNestedChoices(t *testing.T) {
	t.Parallel()
	schema := "{type: integer}"
	for range 8 {
		schema = "{oneOf: [{type: object, nullable: true, enum: [null]}, {type: object, required: [a], additionalProperties: {type: boolean}, properties: {a: " + schema + "}}]}"
	}
	document := strings.Replace(habitsDocument, "{type: object, required: [name], properties: {name: {type: string, maxLength: 9}}}", schema, 1)
	c := contractFrom(t, document, Options{Seed: 1})
	sent := map[string]int{}
	for _, r := range c.Requests() {
		sent[string(r.Body)]++
	}
	for body, times := range sent {
		if times > 30 {
			t.Errorf("%d requests have the body %s", times, body)
		}
	}
	if len(sent) < 100 {
		t.Errorf("only %d bodies", len(sent))
	}
}
