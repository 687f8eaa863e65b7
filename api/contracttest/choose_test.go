package contracttest

import (
	_ "embed"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
)

//go:embed testdata/choose.yaml
var chooseDocument string

// The options choose operations in several ways. What ends the service or drops its data must be named.
func TestChoose(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		Options
		want string
	}{
		"all":                   {Options{}, "addThing getResetDate getThing"},
		"an id":                 {Options{Include: []string{"getThing"}}, "getThing"},
		"a method":              {Options{Include: []string{"GET"}}, "getResetDate getThing"},
		"a tag":                 {Options{Include: []string{"things"}}, "addThing getThing"},
		"a path":                {Options{Include: []string{"/things"}}, "addThing clearThings"},
		"some paths":            {Options{Include: []string{"/things*"}}, "addThing getThing"},
		"all but":               {Options{Exclude: []string{"/admin*", "addThing"}}, "getThing"},
		"a dangerous operation": {Options{Include: []string{"*", "clearThings"}}, "addThing clearThings getResetDate getThing"},
		"a logout":              {Options{Include: []string{"/logout"}}, "endSession"},
		"one without an id":     {Options{Include: []string{"POST /admin/shutdown"}}, "POST /admin/shutdown"},
		"both":                  {Options{Include: []string{"POST /admin/shutdown"}, Exclude: []string{"POST"}}, ""},
		"left out and included": {Options{Include: []string{"things"}, Exclude: []string{"addThing"}}, "getThing"},
	} {
		contract := contractFrom(t, chooseDocument, c.Options)
		var tested []string
		for _, operation := range contract.document.Operations {
			if _, isTested := contract.plan.PlainTest(operation); isTested {
				tested = append(tested, operation.ID)
			}
		}
		slices.Sort(tested)
		if got := strings.Join(tested, " "); got != c.want {
			t.Errorf("%s: tested are %q, want %q", name, got, c.want)
		}
	}
	for name, wrong := range map[string]Options{"getPot": {Include: []string{"getPot"}}, "/pots*": {Exclude: []string{"/pots*"}}, "tennant": {Values: map[string]string{"tennant": "acme"}}} {
		if _, err := New([]byte(chooseDocument), wrong); err == nil || !strings.Contains(err.Error(), strconv.Quote(name)) {
			t.Errorf("the document has no %q, and the error is %v", name, err)
		}
	}
}

// Words of the names of what is left out.
func TestDangerous(t *testing.T) {
	t.Parallel()
	for words, isWanted := range map[string]bool{
		"post: shutdown terminate restart reboot halt drop reset clear wipe purge maintenance logout signout": false,
		"get: shutdown restart reboot halt logout signout":                                                    false,
		"get: drop reset clear wipe purge maintenance":                                                        true,
	} {
		method, words, _ := strings.Cut(words, ": ")
		for word := range strings.FieldsSeq(words) {
			text := strings.Replace(chooseDocument, "/admin/shutdown:\n    post:", "/admin/"+word+":\n    "+method+":", 1)
			contract := contractFrom(t, text, Options{})
			named := slices.IndexFunc(contract.document.Operations, func(o *document.Operation) bool { return o.Template == "/admin/"+word })
			if _, isTested := contract.plan.PlainTest(contract.document.Operations[named]); isTested != isWanted {
				t.Errorf("%s /admin/%s is tested: %t, want %t", method, word, isTested, isWanted)
			}
		}
	}
}

// What is not included is sent only to create what other tests need, what is excluded never. Both are not tested.
func TestIncluded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		Options
		isCreated bool
	}{
		"addThing is not included": {Options{Include: []string{"getThing"}}, true},
		"addThing is excluded":     {Options{Exclude: []string{"addThing"}}, false},
	} {
		contract := contractFrom(t, chooseDocument, c.Options)
		recorded := &recording{}
		report := ran(t, contract, recorded)
		isCreated := false
		for i, method := range recorded.methods {
			isPost := method == http.MethodPost
			isCreated = isCreated || isPost && recorded.paths[i] == "/things"
			if isPost && recorded.paths[i] == "/admin/shutdown" {
				t.Errorf("%s: the service is ended", name)
			}
		}
		if isCreated != c.isCreated {
			t.Errorf("%s: something is created: %t", name, isCreated)
		}
		isNamed := func(p Promise) bool {
			return p.State == NotTested && p.Why == dangerous && strings.HasPrefix(p.Name, "clearThings")
		}
		isNotTested := func(p Promise) bool { return p.State == NotTested && p.Name == "addThing, 201" && p.Why != "" }
		if !slices.ContainsFunc(report.Promises, isNamed) || !slices.ContainsFunc(report.Promises, isNotTested) {
			t.Errorf("%s: the promises are %v", name, report.Promises)
		}
	}
}
