package contracttest

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// flaws are those of workshop, each in one server. The report says which of them the document
// alone does not find, and which not even the options.
var flaws = []string{
	"what is created is lost", "a read shows another tool", "a create ignores a member", "an id is that of another tool",
	"no Location", "Location leads nowhere", "Location of another tool", "what does not exist is read", "what does not exist is deleted",
	"a read is stale", "PUT merges", "PUT ignores a member", "PUT changes all", "PUT ignores If-Match", "the ETag is the same after PUT",
	"PATCH resets members", "PATCH ignores null", "PATCH ignores a member", "PATCH is not stored", "PATCH ignores If-Match",
	"the ETag is the same after PATCH", "If-None-Match is ignored", "DELETE does nothing", "DELETE removes the tool before, too",
	"a list has what was deleted", "a list is stale", "a list shows other names", "the limit is ignored", "a page has one more",
	"the default of limit is not used", "the cursor is ignored", "a page skips a tool", "a tool comes twice", "the list ends after two pages",
	"the kind is ignored", "the kind is inverted", "the kind is ignored on the next page", "the label is ignored", "only the first label is found",
	"a create replaces", "a deleted code stays taken", "codes are the same in lower case", "the limit of shelves is ignored",
	"the offset is ignored", "the offset counts pages", "the room is ignored",
	"PUT of a note creates nothing", "PUT of a note changes nothing that exists", "a deleted note stays", "the page is ignored", "pages begin at 0",
}

// habits are those of right services that differ from workshop.
var habits = [][]string{
	{},
	{"trims and lowers names", "has a public address", "lists the newest first", "leaves next_cursor out", "never gives a code twice", "finds nothing by a room"},
	{"has values for what is absent", "writes numbers in another way", "has weak ETags", "has pages of at most three", "finds by the beginning"},
	{"keeps null", "finds what contains it in any case", "has a page of ten of all shelves", "finds what is at most"},
}

// workshopContract is of the document as it is, or changed.
func workshopContract(t *testing.T, o Options, changes ...string) *Contract {
	t.Helper()
	text, err := os.ReadFile("testdata/workshop.yaml")
	must.NoError(t, err)
	o.Seed = cmp.Or(o.Seed, 1)
	c := contractFrom(t, strings.NewReplacer(changes...).Replace(string(text)), o)
	return c
}

// quickest are the tests of a contract, those first that most likely find a flaw.
func quickest(c *Contract) []Case {
	tests := testsOf(c)
	slices.SortStableFunc(tests, func(a, b Case) int {
		late := func(c Case) int { return -strings.Count(c.Name, "sequence, ") - strings.Count(c.Name, ", effect of") }
		return cmp.Compare(late(a), late(b))
	})
	return tests
}

// The document alone finds nearly all wrong servers, corrections in the options find more, and
// right servers are accused of nothing.
func TestWrongServers(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	misses := func(o Options, among []string) (missed []string) {
		c := workshopContract(t, o)
		tests := quickest(c)
		for _, flaw := range among {
			fault, by := firstFault(tests, &service{}, newWorkshop(c, flaw))
			if fault == "" {
				missed = append(missed, flaw)
			}
			t.Logf("%s: %s: %.120s", flaw, by, fault)
		}
		return missed
	}
	alone := misses(Options{}, flaws)
	if want := []string{"a deleted code stays taken", "codes are the same in lower case"}; !slices.Equal(alone, want) {
		t.Errorf("the document alone misses %q, want %q", alone, want)
	}
	// That a code may be used again, the document does not say.
	corrected := misses(corrections, append([]string{""}, alone...))
	if want := []string{"", "codes are the same in lower case"}; !slices.Equal(corrected, want) {
		t.Errorf("with corrections %q are missed, want %q", corrected, want)
	}
	corrected = slices.DeleteFunc(corrected, func(flaw string) bool { return flaw == "" })
	t.Logf("of %d wrong servers the document alone finds %d, with corrections %d", len(flaws), len(flaws)-len(alone), len(flaws)-len(corrected))
	if len(flaws) != 51 {
		t.Errorf("there are %d wrong servers", len(flaws))
	}
}

var corrections = Options{Service: Service{Resources: []Resource{{Create: "createShelf", ID: "code", Read: "getShelf", Replace: "replaceShelf", Delete: "deleteShelf"}}}}

// A create that is wrong is told once, and not by each test that begins with it.
func TestWrongCreate(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	for flaw, want := range map[string][]string{
		"what is created is lost":        {"createTool: what it creates is not found", "listTools: pages lack what exists"},
		"a create ignores a member":      {"createTool: Location does not lead to what it creates", "createTool: note is not what was sent"},
		"the ETag is the same after PUT": {"replaceTool leaves the ETag as it was"},
		"the offset is ignored":          {"listShelves: pages have a resource twice"},
	} {
		c := workshopContract(t, Options{})
		report := ran(t, c, inProcess{newWorkshop(c, flaw)})
		if got := causeTexts(report.Causes); !slices.Equal(got, want) {
			t.Errorf("of %q the causes are %q, want %q", flaw, got, want)
		}
	}
}

// Right servers are accused of nothing, whatever the values are.
func TestRightServers(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	accused := func(c *Contract, s *service, name string) {
		for _, test := range testsOf(c) {
			if failures, _ := attempt(test, Target{URL: "http://service.invalid", Transport: inProcess{s}}); len(failures) > 0 {
				t.Errorf("%s: %s: %.1000s", name, test.Name, failures[0])
			}
		}
	}
	for i, habit := range habits {
		c := workshopContract(t, Options{Seed: uint64(i + 1)})
		accused(c, newWorkshop(c, "", habit...), fmt.Sprint(habit))
	}
	c := workshopContract(t, Options{}, "{name: If-Match, in: header,", "{name: If-Match, in: header, required: true,")
	accused(c, newWorkshop(c, "", "needs If-Match"), "If-Match is required")
}

// What is inferred is said in sentences; the options replace it, or switch it off.
func TestInferred(t *testing.T) {
	t.Parallel()
	const tools = "createTool creates what {toolId} names in getTool, replaceTool, changeTool, deleteTool: it is in the member id of its response, which the service assigns"
	all := workshopContract(t, Options{}).Report().Inferred
	want := []string{
		"putNote creates what {slug} names in getNote, deleteNote: it is in its path, which the client chooses",
		"createShelf creates what {code} names in getShelf, replaceShelf, deleteShelf: it is in the member code of its body, which the client chooses",
		tools,
		"listNotes lists what putNote creates in the member data; per_page is the most items of a page; page is the number of the page",
		"listShelves lists what createShelf creates; limit is the most items of a page; offset is how many items come before; room selects by the member room",
		"listTools lists what createTool creates in the member items; limit is the most items of a page; cursor is the next_cursor of the page before; kind selects by the member kind; label selects by the member labels",
	}
	if !slices.Equal(all, want) {
		t.Errorf("inferred is\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
	for name, c := range map[string]struct {
		options Options
		has     int // sentences
	}{
		"all but a list":      {Options{Service: Service{Lists: []List{{Operation: "listTools"}}}}, 5},
		"all but a create":    {Options{Service: Service{Lists: []List{{Operation: "createTool"}}}}, 4},
		"a declared list":     {Options{Service: Service{Lists: []List{{Operation: "listTools", Create: "createTool", ID: "id", Items: "items"}}}}, 5},
		"a declared resource": {corrections, 5},
	} {
		if got := workshopContract(t, c.options).Report().Inferred; len(got) != c.has {
			t.Errorf("with %s %q is inferred", name, got)
		}
	}
	declared := workshopContract(t, Options{Service: Service{Lists: []List{{Operation: "listTools", Create: "createTool", ID: "id", Items: "items"}}}})
	if slices.ContainsFunc(testsOf(declared), func(c Case) bool { return c.Name == "listTools, effect of parameter kind" }) {
		t.Error("a filter is inferred of a declared list")
	}
}
