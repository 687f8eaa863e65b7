package resources

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A path names a thing, and what it is below.
func TestFill(t *testing.T) {
	t.Parallel()
	s := found(t, plainTool+belowTools, Declarations{})
	tool := &scenario.Thing{Creator: "createTool", ID: "a b"}
	part := &scenario.Thing{Creator: "createPart", ID: int64(7), Parent: tool}
	for _, c := range []struct {
		operation string
		thing     *scenario.Thing
		want      string
	}{
		{"getTool", tool, "/tools/a%20b"},
		{"getPart", part, "/tools/a%20b/parts/7"},
		{"turnPart", part, "/tools/a%20b/parts/7/turn"},
		{"createPart", tool, "/tools/a%20b/parts"},
		{"sell", tool, "/tools/a%20b/shop/{shop}"},
		{"getPart", &scenario.Thing{ID: int64(7)}, "/tools/{tool}/parts/7"},
		{"getTool", &scenario.Thing{ID: "a/b"}, "/tools/"},
		{"getTool", nil, "/tools/{id}"},
		{"getTool", &scenario.Thing{ID: "a", Parent: tool}, "/tools/a"},
	} {
		operation := s.document.Operation(c.operation)
		if got := s.UseOf(operation).Fill(operation, operation.Template, c.thing); got != c.want {
			t.Errorf("%s: %s, want %s", c.operation, got, c.want)
		}
	}
}

// A parameter that the document does not describe stays in the path.
func TestFillUndescribed(t *testing.T) {
	t.Parallel()
	s := found(t, plainTool+belowTools, Declarations{})
	getPart := s.document.Operation("getPart")
	getPart.Parameters = getPart.Parameters[1:] // those of the path come in its order
	thing := &scenario.Thing{ID: int64(7), Parent: &scenario.Thing{ID: "a"}}
	if got := s.UseOf(getPart).Fill(getPart, getPart.Template, thing); got != "/tools/{tool}/parts/7" {
		t.Errorf("the path is %s", got)
	}
}

// The parameters of a path name a resource, what it is below, or something else.
func TestNames(t *testing.T) {
	t.Parallel()
	s := found(t, plainTool+belowTools, Declarations{})
	for _, c := range []struct {
		operation, named, namedOrAbove string // parameters
		isOn                           bool
	}{
		{"getTool", "id", "id", true},
		{"getPart", "partId", "tool partId", true},
		{"turnPart", "partId", "tool partId", false},
		{"createPart", "tool", "tool", false},
		{"sell", "tool", "tool", false},
		{"getShop", "", "", false},
	} {
		operation := s.document.Operation(c.operation)
		use := s.UseOf(operation)
		var named, namedOrAbove []string
		for _, name := range append(slices.Clone(operation.PathNames), "other") {
			if use.IsNamed(name) {
				named = append(named, name)
			}
			if use.IsNamedBy(operation, name) {
				namedOrAbove = append(namedOrAbove, name)
			}
		}
		got := strings.Join(named, " ") + "; " + strings.Join(namedOrAbove, " ")
		if want := c.named + "; " + c.namedOrAbove; got != want || use.IsOn(operation) != c.isOn {
			t.Errorf("%s names %s, want %s; and is on it: %v", c.operation, got, want, use.IsOn(operation))
		}
	}
	given := found(t, belowTools, Declarations{}, "tool")
	getPart := given.document.Operation("getPart")
	if given.UseOf(getPart).IsNamedBy(getPart, "tool") {
		t.Error("what is given names a resource")
	}
	twice := found(t, plainTool+strings.NewReplacer("{tool}", "{id}", "{partId}", "{id}", "name: tool", "name: id", "name: partId", "name: id").Replace(belowTools), Declarations{})
	getPart = twice.document.Operation("getPart")
	if twice.UseOf(getPart).IsNamedBy(getPart, "other") {
		t.Error("a name that the path does not have names a resource")
	}
	use := s.UseOf(s.document.Operation("getPart"))
	if use.Named() != s.CreatedBy("createPart") || (*Use)(nil).Named() != nil {
		t.Errorf("named is %v", use.Named())
	}
}

// The identity in a body is that of the path. A body without one stays as it is.
func TestWithIdentity(t *testing.T) {
	t.Parallel()
	s := found(t, plainTool, Declarations{})
	use := s.UseOf(s.document.Operation("putTool"))
	for body, want := range map[string]string{
		`{"id":"b","name":"x"}`: `{"id":"a","name":"x"}`,
		`{"name":"x"}`:          `{"name":"x"}`,
		`{"id":null}`:           `{"id":null}`,
		`["id"]`:                `["id"]`,
	} {
		value, _ := jsonvalue.Decode([]byte(body))
		if got := string(jsonvalue.Encode(use.WithIdentity(s.document.Operation("putTool"), value, "a"))); got != want {
			t.Errorf("%s becomes %s, want %s", body, got, want)
		}
		if kept := string(jsonvalue.Encode(value)); kept != body {
			t.Errorf("%s has changed to %s", body, kept)
		}
	}
}

// What the body and the path of a create have of the identity depends on the method, and on whether the client or the
// service chooses it.
func TestCreates(t *testing.T) {
	t.Parallel()
	chosen := strings.NewReplacer("REQUIRED", "id", "SENT", "string", "RECEIVED", "string", "IDENTITY", "string").Replace(createTool + getTool)
	put := strings.Replace(jarsDocument[strings.Index(jarsDocument, "  /jars"):], "RESPONSES", `"200": {description: A jar.}`, 1)
	tag := strings.ReplaceAll(strings.ReplaceAll(put, "/jars/{label}", "/tools/{tool}/tags/{label}"), "[{name: label", "[{name: tool, in: path, required: true, schema: {type: string}}, {name: label")
	isAssigned := Declarations{Resources: []scenario.Resource{{Create: "putJar", ID: "id", Assigned: true, Read: "getJar"}}}
	above := &scenario.Thing{ID: "above"}
	for _, c := range []struct {
		paths, create string
		identified    string // of {"name": "x"}
		target        string
		assigns       bool
		declared      Declarations
	}{
		{plainTool, "createTool", `{"name":"x"}`, "own", true, Declarations{}},
		{chosen, "createTool", `{"id":"own","name":"x"}`, "own", false, Declarations{}},
		{put, "putJar", `{"name":"x"}`, "own", false, Declarations{}},
		{put, "putJar", `{"name":"x"}`, "own", false, isAssigned},
		{plainTool + belowTools, "createPart", `{"name":"x"}`, "above", true, Declarations{}},
		{plainTool + tag, "putJar", `{"name":"x"}`, "own", false, Declarations{}},
	} {
		x := found(t, c.paths, c.declared).CreatedBy(c.create)
		thing := x.Thing("own")
		if thing.Creator != c.create || thing.ID != "own" {
			t.Errorf("%s has the thing %v", c.create, thing)
		}
		thing.Parent = above
		if got := string(jsonvalue.Encode(x.Identified(map[string]any{"name": "x"}, thing))); got != c.identified {
			t.Errorf("%s has the body %s, want %s", c.create, got, c.identified)
		}
		if x.Identified(nil, thing) != nil {
			t.Errorf("%s has a body", c.create)
		}
		if got := x.Target(thing); fmt.Sprint(got.ID) != c.target {
			t.Errorf("%s has the path of %v, want %s", c.create, got.ID, c.target)
		}
		if x.AssignsIdentity() != c.assigns {
			t.Errorf("%s assigns: %v", c.create, x.AssignsIdentity())
		}
	}
}

// A read shows a thing as its response has it. Without a read nothing is shown.
func TestShown(t *testing.T) {
	t.Parallel()
	x := found(t, plainTool, Declarations{}).CreatedBy("createTool")
	read := scenario.Interaction{Body: []byte(`{"id":"a"}`)}
	if got := x.Shown(read); got["id"] != "a" {
		t.Errorf("a read shows %v", got)
	}
	delete(x.Operations, http.MethodGet)
	if got := x.Shown(read); got != nil {
		t.Errorf("without a read %v is shown", got)
	}
}

// An operation is left out if it needs what is not in the document, or a body that no test can make.
func TestIsLeftOut(t *testing.T) {
	t.Parallel()
	s := found(t, plainTool, Declarations{LeaveOut: map[string]string{"getTool": "a reason"}})
	s.document.Operation("putTool").LacksBody = true
	s.document.Operation("changeTool").NeedsUnread = true
	for id, want := range map[string]bool{"getTool": true, "putTool": true, "changeTool": true, "deleteTool": false} {
		if got := s.IsLeftOut(s.document.Operation(id)); got != want {
			t.Errorf("%s is left out: %v", id, got)
		}
	}
}

// Any operation on a thing reads the identity in a path.
func TestInPath(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		x := found(t, plainTool, Declarations{}).CreatedBy("createTool")
		if got := x.Methods(); !slices.Equal(got, []string{"DELETE", "GET", "PATCH", "PUT"}) {
			t.Errorf("the methods are %v", got)
		}
		for other := range x.Operations {
			if other != method {
				delete(x.Operations, other)
			}
		}
		if got := x.InPath("/tools/a%20b"); got != "a b" {
			t.Errorf("by %s it is %v", method, got)
		}
		if got := x.InPath("/tools"); got != nil {
			t.Errorf("by %s it is %v", method, got)
		}
	}
}
