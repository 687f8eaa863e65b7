package paths_test

import (
	"slices"
	"testing"

	"github.com/plantstore/plantstore/api/internal/paths"
)

// templates of one document.
var templates = []string{
	"/", "/things", "/things/", "/things/{id}", "/things/{id}/", "/things/mine", "/things/{id}/parts/{part}",
	"/t/{id}", "/t/{id}:cancel", "/t/{id}.{format}", "/editions/edition-{edition}", "/a/{x}/c", "/a/b/{y}", "/a b/{x}",
}

// A path has the template with the most exact segments, from left to right, and the last slash counts.
func TestFind(t *testing.T) {
	var tree paths.Tree[string]
	for _, template := range templates {
		*tree.Add(template) = template
	}
	for _, c := range []struct {
		path, want string
		values     []string
	}{
		{"/", "/", nil},
		{"", "", nil},
		{"things", "", nil},
		{"/things", "/things", nil},
		{"/things/", "/things/", nil},
		{"/%74hings", "/things", nil},
		{"/a%20b/1", "/a b/{x}", []string{"1"}},
		{"/things/5", "/things/{id}", []string{"5"}},
		{"/things/5/", "/things/{id}/", []string{"5"}},
		{"/things//", "", nil},
		{"/things/mine", "/things/mine", nil},
		{"/things/mine/", "/things/{id}/", []string{"mine"}}, // no template has mine and a slash
		{"/things/a%2Fb", "/things/{id}", []string{"a%2Fb"}},
		{"/things/5/parts/7", "/things/{id}/parts/{part}", []string{"5", "7"}},
		{"/things/5/parts/", "", nil},
		{"/t/x", "/t/{id}", []string{"x"}},
		{"/t/x:cancel", "/t/{id}:cancel", []string{"x"}},
		{"/t/a:b:cancel", "/t/{id}:cancel", []string{"a:b"}},
		{"/t/:cancel", "/t/{id}", []string{":cancel"}}, // a parameter is not empty
		{"/t/a.b.c", "/t/{id}.{format}", []string{"a", "b.c"}},
		{"/t/.a", "/t/{id}", []string{".a"}},
		{"/editions/edition-3", "/editions/edition-{edition}", []string{"3"}},
		{"/editions/edition-", "", nil},
		{"/a/b/c", "/a/b/{y}", []string{"c"}},
		{"/a/d/c", "/a/{x}/c", []string{"d"}},
		{"/none", "", nil},
	} {
		found, values := tree.Find(c.path, nil)
		got := ""
		if found != nil {
			got = *found
		}
		if got != c.want || found != nil && !slices.Equal(values, c.values) {
			t.Errorf("%s: %q %q, want %q %q", c.path, got, values, c.want, c.values)
		}
	}
}

// Finding a template allocates nothing.
func TestAllocations(t *testing.T) {
	var tree paths.Tree[string]
	for _, template := range templates {
		tree.Add(template)
	}
	values := make([]string, 0, 4)
	if got := testing.AllocsPerRun(100, func() { tree.Find("/things/5/parts/7", values) }); got > 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

func TestSameShape(t *testing.T) {
	for pattern, want := range map[string]bool{
		"/things/{id}": true, "/things/{thing_id}": true, "/things/{id}/": true, "/things/{id}/{$}": true, "/things/{id...}": true,
		"/things": false, "/things/mine": false, "/things/{id}/parts": false, "/": false, "/things/{id}.json": false,
	} {
		if got := paths.SameShape("/things/{id}", pattern); got != want {
			t.Errorf("%s: %t, want %t", pattern, got, want)
		}
	}
	if names := paths.Names("/a/{x}.{y}/{z"); !slices.Equal(names, []string{"x", "y"}) {
		t.Errorf("the names are %q", names)
	}
}

// Templates that meet in fixed segments only are not ambiguous: every router takes the fixed text.
func TestAmbiguous(t *testing.T) {
	for _, c := range []struct {
		one, other string
		want       bool
	}{
		{"/things/{id}", "/things/mine", false},
		{"/things/{id}", "/things/{id}/", false},
		{"/things/{id}", "/plants/{id}", false},
		{"/things/{id}/a", "/things/{id}/b", false},
		{"/a/{x}/c", "/a/b/{y}", true},
		{"/a/{x}/c", "/a/b/c", false},
		{"/t/{id}", "/t/{id}:cancel", true},
		{"/t/{id}:cancel", "/t/{id}:start", false},
		{"/t/x{id}", "/t/{id}y", true},
		{"/t/{id}", "/t/{name}", true},
		{"/t/{id}.json", "/t/list", false},
		{"/t/{id}.json", "/t/list.json", false},
	} {
		if paths.Ambiguous(c.one, c.other) != c.want || paths.Ambiguous(c.other, c.one) != c.want {
			t.Errorf("%s and %s: %t, want %t", c.one, c.other, !c.want, c.want)
		}
	}
}
