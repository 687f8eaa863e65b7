package draft

import (
	_ "embed"
	"net/http"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// cratesDocument has crates: a create returns what it takes, a change something of its own.
//
//go:embed testdata/crates.yaml
var cratesDocument string

// A response has what was sent, unless a right service may have changed it.
func TestShows(t *testing.T) {
	t.Parallel()
	read, err := document.Parse([]byte(cratesDocument))
	must.NoError(t, err)
	declared := scenario.Resource{Create: "createCrate", ID: "id", Read: "getCrate", Change: "changeCrate"}
	find := func(declared ...scenario.Resource) *Drafts {
		generator := values.New(values.Settings{})
		return &Drafts{Document: read, Resources: resources.Find(read, generator, resources.Declarations{Resources: declared})}
	}
	byKind := map[bool]*Drafts{false: find(declared), true: find()}
	for _, c := range []struct {
		name       string
		isInferred bool
		operation  string // createCrate, if it is empty
		sent, got  string
		want       string
	}{
		{name: "the same", sent: `{"name":"a"}`, got: `{"name":"a","id":"7"}`},
		{name: "another value", sent: `{"name":"a"}`, got: `{"name":"b"}`, want: `was sent name = "a", but has "b"`},
		{name: "a value that is missing", sent: `{"name":"a"}`, got: `{}`, want: `was sent name = "a", but has null`},
		{name: "null is missing", sent: `{"name":null}`, got: `{}`},
		{name: "the first of several", sent: `{"parts":[],"name":"a"}`, got: `{}`, want: `was sent name = "a", but has null`},
		{name: "no object", sent: `{"name":"a"}`, got: `["b"]`},
		{name: "what has no place in the response", sent: `{"more":1}`, got: `{}`},
		{name: "what has none, and is null", sent: `{"more":1}`, got: `{"more":null}`},
		{name: "what has none, and is another", sent: `{"more":1}`, got: `{"more":2}`, want: `was sent more = 1, but has 2`},
		{name: "a secret", sent: `{"secret":"a"}`, got: `{}`},
		{name: "another secret", sent: `{"secret":"a"}`, got: `{"secret":"b"}`, want: `was sent secret = "a", but has "b"`},
		{name: "inner members", sent: `{"owner":{"name":"a","secret":"b"}}`, got: `{"owner":{"name":"a"}}`},
		{name: "another inner member", sent: `{"owner":{"name":"a"}}`, got: `{"owner":{"name":"b"}}`, want: `was sent owner = {"name":"a"}, but has {"name":"b"}`},
		{name: "an inner member of a part that is missing", sent: `{"box":{"name":"a"}}`, got: `{"box":{}}`, want: `was sent box = {"name":"a"}, but has {}`},
		{name: "no inner members", sent: `{"owner":{}}`, got: `{"owner":[]}`, want: `was sent owner = {}, but has []`},
		{name: "items", sent: `{"parts":[{"name":"a","secret":"s"},{"name":"b"}]}`, got: `{"parts":[{"name":"a"},{"name":"b"}]}`},
		{name: "sorted items", sent: `{"parts":[1,2]}`, got: `{"parts":[2,1]}`, want: `was sent parts = [1,2], but has [2,1]`},
		{name: "no items", sent: `{"parts":[]}`, got: `{"parts":{}}`, want: `was sent parts = [], but has {}`},
		{name: "a trimmed text", sent: `{"name":" a"}`, got: `{"name":"a"}`, want: `was sent name = " a", but has "a"`},
		{name: "a managed member", sent: `{"status":"a"}`, got: `{"status":"b"}`},
		{name: "a managed member, then another one", sent: `{"created":1,"name":"a"}`, got: `{"created":2,"name":"b"}`, want: `was sent name = "a", but has "b"`},
		{name: "a managed member of a read", operation: "getCrate", sent: `{"status":"a"}`, got: `{"status":"b"}`},
		{name: "a managed member with a schema of its own", operation: "changeCrate", sent: `{"status":"a"}`, got: `{"status":"b"}`, want: `was sent status = "a", but has "b"`},
		{name: "a managed member where neither has a schema", operation: "changeBox", sent: `{"status":"a"}`, got: `{"status":"b"}`, want: `was sent status = "a", but has "b"`},
		{name: "the identity", sent: `{"id":"a"}`, got: `{"id":"b"}`, want: `was sent id = "a", but has "b"`},
		{name: "a managed member of no resource", operation: "load", sent: `{"status":"a"}`, got: `{"status":"b"}`},
		{name: "a trimmed text of no resource", operation: "load", sent: `{"name":" a"}`, got: `{"name":"a"}`},
		{name: "another text of no resource", operation: "load", sent: `{"name":"a"}`, got: `{"name":"b"}`, want: `was sent name = "a", but has "b"`},
		{name: "a member that is also a parameter", operation: "loadInto", sent: `{"box":{"name":"a"}}`, got: `{"box":{"name":"b"}}`},
		{name: "an inferred resource", isInferred: true, sent: `{"name":" a"}`, got: `{"name":"A"}`},
		{name: "another value of it", isInferred: true, sent: `{"name":"a"}`, got: `{"name":"b"}`, want: `was sent name = "a", but has "b"`},
	} {
		operation := read.Operation(c.operation)
		status := http.StatusOK
		if operation == nil {
			operation = read.Operation("createCrate")
			status = http.StatusCreated
		}
		sent, err := jsonvalue.Decode([]byte(c.sent))
		must.NoError(t, err)
		got := byKind[c.isInferred].Shows(scenario.Interaction{Status: status, Body: []byte(c.got)}, jsonvalue.Object(sent), operation)
		if message(got) != c.want {
			t.Errorf("%s: %q, want %q", c.name, message(got), c.want)
		}
	}
}

// A service sets these members itself.
func TestManaged(t *testing.T) {
	t.Parallel()
	for want, names := range map[bool][]string{
		true: {
			"id", "_id", "ID", "uuid", "tag", "etag", "version", "revision", "href", "url", "self", "links", "_links", "state", "status",
			"created", "updated", "modified", "deleted", "createdTime", "updatedAt", "modified_on", "deletedBy", "finished_at", "seen_on", "seen_by", "finishedAt", "seenOn", "seenBy",
		},
		false: {"name", "identity", "description", "flat", "common", "nearby", "At", "source_url", "stated", "my_version"},
	} {
		for _, name := range names {
			if got := managed.MatchString(name); got != want {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
}

// What a service may make of a value of an inferred resource is no loss of data.
func TestKeepsLeniently(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sent, have string
		want       bool
	}{
		{`"a"`, `" A\n"`, true},
		{`"a"`, `"b"`, false},
		{`"a"`, `null`, false},
		{`"1"`, `1`, false},
		{`"a\u0000b"`, `"x"`, true}, // cannot be printed
		{`"a\u0000b"`, `1`, false},
		{`"e\u0301"`, `"é"`, true}, // the same letter
		{`"a"`, `"\u0000"`, false}, // was not sent so
		{`"2024-01-02T03:04:05Z"`, `"2024-01-02T04:04:05+01:00"`, true},
		{`"2024-01-02T03:04:05Z"`, `"2024-01-02T03:04:06Z"`, false},
		{`"2024-01-02T03:04:05Z"`, `"0001-01-01"`, false},
		{`"0001-01-01"`, `"0001-01-01T00:00:00Z"`, false},
		{`"0001-01-01"`, `"0001-01-02"`, false},
		{`1.234`, `1.23`, true},
		{`1.234`, `1.22`, false},
		{`1.5`, `2`, false},
		{`1`, `2`, false},
		{`10000000`, `10000001`, false},
		{`0`, `0.01`, true},
		{`0.001`, `"x"`, false},
		{`1`, `1.005`, true},
		{`1e1`, `10`, true},
		{`1E1`, `10`, true},
		{`1000000.5`, `1000001`, true},
		{`1000000.5`, `1000002`, false},
		{`-1000000.5`, `-1000001`, true},
		{`1e999`, `1e998`, false},
		{`1e999`, `5`, false},
		{`1.5`, `"1.5"`, false},
		{`true`, `true`, true},
		{`true`, `false`, false},
		{`null`, `""`, true},
		{`""`, `[]`, true},
		{`[]`, `{}`, true},
		{`{}`, `0`, true},
		{`0`, `false`, true},
		{`false`, `null`, true},
		{`null`, `1`, false},
		{`[]`, `{"a":1}`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `[1]`, false},
		{`[1,2]`, `[3,2,1]`, true},
		{`[1,2]`, `[1,1]`, false},
		{`[1]`, `{"a":1}`, false},
		{`[[" a"]]`, `[["a"]]`, true},
	} {
		sent, err := jsonvalue.Decode([]byte(c.sent))
		must.NoError(t, err)
		have, err := jsonvalue.Decode([]byte(c.have))
		must.NoError(t, err)
		if got := KeepsLeniently(sent, have); got != c.want {
			t.Errorf("%s kept as %s: %v, want %v", c.sent, c.have, got, c.want)
		}
	}
}
