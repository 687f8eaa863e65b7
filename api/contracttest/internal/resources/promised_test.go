package resources

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// nailsDocument promises as much as a test has in it.
const nailsDocument = `
  /nails:
    post:
      operationId: createNail
      summary: SUMMARY
      description: DESCRIPTION
      requestBody: {content: {application/json: {schema: {type: object, required: [REQUIRED], properties: {id: {type: string}, x: {type: string}}}}}}
      responses: {"201": {description: A nail., headers: {CREATED: {schema: {type: string}}}, content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}}, CONFLICT}
  /nails/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string, description: IDENTITY}}]
    get: {operationId: getNail, responses: {"200": {description: A nail., headers: {READ: {schema: {type: string}}}}, GET}}
    patch: {operationId: changeNail, responses: {"200": {description: A nail.}, PATCH}}
    delete: {operationId: deleteNail, responses: {"204": {description: It is gone.}, DELETE}}
`

// nail is the resource of nailsDocument with some words in place of others, inferred or declared.
func nail(t *testing.T, isInferred bool, words ...string) *Resource {
	t.Helper()
	const none = `"299": {description: Nothing.}`
	words = append(words, "REQUIRED", "x", "CONFLICT", none, "GET", none, "PATCH", none, "DELETE", none, "SUMMARY", "s", "DESCRIPTION", "d")
	words = append(words, "IDENTITY", "i", "CREATED", "X-A", "READ", "X-B")
	replaced := nailsDocument
	for i := 0; i < len(words); i += 2 {
		replaced = strings.Replace(replaced, words[i], words[i+1], 1)
	}
	declared := Declarations{}
	if !isInferred {
		isAssigned := !strings.Contains(replaced, "required: [id]")
		declared.Resources = []scenario.Resource{{
			Create: "createNail", ID: "id", Assigned: isAssigned, Read: "getNail", Change: "changeNail", Delete: "deleteNail",
		}}
	}
	return found(t, replaced, declared).CreatedBy("createNail")
}

// The headers of responses, and words of the document, are promises.
func TestPromises(t *testing.T) {
	t.Parallel()
	conflict := []string{"REQUIRED", "id", "CONFLICT", `"409": {description: It is there.}`}
	for name, c := range map[string]struct {
		words []string
		asked func(*Resource) bool
		want  bool
	}{
		"an ETag":                      {[]string{"READ", "etag"}, (*Resource).HasETag, true},
		"no ETag":                      {nil, (*Resource).HasETag, false},
		"Location":                     {[]string{"CREATED", "Location"}, (*Resource).HasLocation, true},
		"no Location":                  {nil, (*Resource).HasLocation, false},
		"once, as the summary says":    {[]string{"SUMMARY", "An id is never used again."}, (*Resource).AssignsOnce, true},
		"once, as the text says":       {[]string{"DESCRIPTION", "An id is not reused."}, (*Resource).AssignsOnce, true},
		"once, as the identity says":   {[]string{"IDENTITY", "It is never reassigned."}, (*Resource).AssignsOnce, true},
		"as often as the service does": {nil, (*Resource).AssignsOnce, false},
		"once, but chosen":             {[]string{"REQUIRED", "id", "DESCRIPTION", "An id is not reused."}, (*Resource).AssignsOnce, false},
		"a conflict":                   {conflict, (*Resource).RefusesConflicts, true},
		"no conflict":                  {conflict[:2], (*Resource).RefusesConflicts, false},
		"a conflict of something else": {conflict[2:], (*Resource).RefusesConflicts, false},
	} {
		if got := c.asked(nail(t, false, c.words...)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Documents have several ways to promise that no identity is assigned twice.
func TestNeverAgain(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"assigned", "used", "given", "issued"} {
		for _, how := range []string{"twice", "again"} {
			if says := "It is never " + verb + " " + how + "."; !neverAgain.MatchString(says) {
				t.Errorf("%s promises nothing", says)
			}
		}
	}
	for _, verb := range []string{"reused", "reassigned", "recycled"} {
		for _, how := range []string{"not", "not be", "never", "never be"} {
			if says := "It is " + how + " " + verb + "."; !neverAgain.MatchString(says) {
				t.Errorf("%s promises nothing", says)
			}
		}
	}
	if !neverAgain.MatchString("NEVER USED TWICE") {
		t.Error("capital letters promise nothing")
	}
	if neverAgain.MatchString("It is never used. It is not given again.") {
		t.Error("other words promise it, too")
	}
}

// Location of any success counts where something reads what it leads to.
func TestHasLocation(t *testing.T) {
	t.Parallel()
	const jars = `
  /jars/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    put: {operationId: putJar, responses: {"201": {description: A jar., headers: {Location: {schema: {type: string}}}}}}
    get: {operationId: getJar, responses: {"200": {description: A jar.}}}
`
	if found(t, jars, Declarations{}).CreatedBy("putJar").HasLocation() {
		t.Error("Location of a PUT counts")
	}
	x := nail(t, false, "CREATED", "Location")
	delete(x.Operations, http.MethodGet)
	if x.HasLocation() {
		t.Error("Location counts where nothing reads it")
	}
	inSuccess := strings.Replace(jars, `"201"`, `"200"`, 1)
	if !found(t, inSuccess, Declarations{}).CreatedBy("putJar").HasLocation() {
		t.Error("Location of 200 does not count")
	}
}

// What does not exist is refused if the document says so. Of an inferred resource it must list the status itself.
func TestAbsence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status     string
		isInferred bool
		refuses    bool
		get, gone  bool // may be ignored by GET, and by DELETE
	}{
		{"404", false, true, false, false},
		{"410", false, true, false, true},
		{"4XX", false, true, false, false},
		{"default", false, true, false, false},
		{"400", false, false, false, true},
		{"404", true, true, false, false},
		{"410", true, true, true, true},
		{"4XX", true, false, true, true},
		{"default", true, false, true, true},
	} {
		response := fmt.Sprintf(`"%s": {description: It is not there.}`, c.status)
		x := nail(t, c.isInferred, "GET", response, "DELETE", response)
		get := x.Operations[http.MethodGet]
		remove := x.Operations[http.MethodDelete]
		if x.RefusesAbsent(get) != c.refuses || x.RefusesAbsent(remove) != c.refuses {
			t.Errorf("%+v: refuses %v and %v", c, x.RefusesAbsent(get), x.RefusesAbsent(remove))
		}
		if x.MayIgnoreAbsence(get) != c.get || x.MayIgnoreAbsence(remove) != c.gone {
			t.Errorf("%+v: may ignore %v and %v", c, x.MayIgnoreAbsence(get), x.MayIgnoreAbsence(remove))
		}
	}
}

// Those operations find a thing that refuse one that is absent, the deletion last.
func TestFindingOnes(t *testing.T) {
	t.Parallel()
	const response = `"404": {description: It is not there.}`
	for want, words := range map[string][]string{
		"GET DELETE":       {"GET", response, "DELETE", response},
		"GET PATCH DELETE": {"GET", response, "DELETE", response, "PATCH", response},
		"":                 nil,
	} {
		var methods []string
		for _, operation := range nail(t, false, words...).FindingOnes() {
			methods = append(methods, operation.Method)
		}
		if got := strings.Join(methods, " "); got != want {
			t.Errorf("finding are %q, want %q", got, want)
		}
	}
	x := nail(t, false, "GET", response)
	delete(x.Operations, http.MethodPatch)
	if got := x.FindingOnes(); !slices.Equal(got, []*document.Operation{x.Operations[http.MethodGet]}) {
		t.Errorf("finding are %v", got)
	}
}

// What is below something else, and can only be deleted, shows its deletion if the service gives it an identity of its own.
func TestOnlyDeletesBelow(t *testing.T) {
	t.Parallel()
	const document = `
  /jars:
    post: {operationId: createJar, responses: {"201": {description: A jar., content: {application/json: {schema: {type: object, properties: {id: {type: integer}}}}}}}}
  /jars/{jarId}:
    get: {operationId: getJar, parameters: [{name: jarId, in: path, required: true, schema: {type: integer}}], responses: {"200": {description: A jar.}}}
  /jars/{jarId}/nails:
    parameters: [{name: jarId, in: path, required: true, schema: {type: integer}}]
    post:
      operationId: createNail
      requestBody: {content: {application/json: {schema: {type: object, properties: {TAKEN: {type: integer}}}}}}
      responses: {"201": {description: A nail., content: {application/json: {schema: {type: object, properties: {id: {type: integer}}}}}}}
  /jars/{jarId}/nails/{id}:
    parameters: [{name: jarId, in: path, required: true, schema: {type: integer}}, {name: id, in: path, required: true, schema: {type: integer}}]
    delete: {operationId: deleteNail, responses: {"204": {description: It is gone.}, "ABSENT": {description: It is not there.}}}
    METHOD: {operationId: onNail, responses: {"200": {description: A nail.}, "ABSENT": {description: It is not there.}}}
`
	for _, c := range []struct {
		name, taken, absent, method string
		want, shows                 bool
	}{
		{"a nail", "size", "404", "put", true, true},
		{"it is gone", "size", "410", "put", true, true},
		{"no status", "size", "400", "put", false, false},
		{"it may be added by its id", "id", "404", "put", false, false},
		{"a read shows it", "size", "404", "get", false, true},
	} {
		words := strings.NewReplacer("TAKEN", c.taken, "ABSENT", c.absent, "METHOD", c.method)
		x := found(t, words.Replace(document), Declarations{}).CreatedBy("createNail")
		if x == nil || x.OnlyDeletesBelow() != c.want || x.ShowsDeletion() != c.shows {
			t.Errorf("%s: %+v", c.name, x)
		}
	}
	words := strings.NewReplacer("TAKEN", "size", "ABSENT", "404", "METHOD", "get")
	read := found(t, words.Replace(document), Declarations{}).CreatedBy("createNail")
	if read.MayIgnoreAbsence(read.Operations[http.MethodGet]) {
		t.Error("a read below something may ignore that nothing is there")
	}
	words = strings.NewReplacer("TAKEN", "size", "ABSENT", "404", "METHOD", "put", "/jars/{jarId}/nails", "/nails")
	alone := found(t, words.Replace(document), Declarations{}).CreatedBy("createNail")
	if alone.OnlyDeletesBelow() || !alone.ShowsDeletion() {
		t.Error("what is below nothing needs another DELETE")
	}
	words = strings.NewReplacer("TAKEN", "size", "ABSENT", "404", "METHOD", "put")
	put := Declarations{Resources: []scenario.Resource{{Create: "onNail", Delete: "deleteNail"}}}
	if found(t, words.Replace(document), put).CreatedBy("onNail").OnlyDeletesBelow() {
		t.Error("the service does not assign the identity in a path")
	}
}

// A list has pages of a size that its document allows.
func TestPageSize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit      string
		want, size int
		longest    int
	}{
		{"limit, in: query, schema: {type: integer, minimum: 5, maximum: 50}", 2, 5, 50},
		{"limit, in: query, schema: {type: integer, minimum: 5, maximum: 50}", 7, 7, 50},
		{"limit, in: query, schema: {type: integer, minimum: 5, maximum: 50}", 70, 50, 50},
		{"limit, in: query, schema: {type: integer}", 7, 7, 1000},
		{"other, in: query, schema: {type: integer}", 7, 7, 1000},
	} {
		l := found(t, cupsWith("{name: "+c.limit+"}", "CUPS"), Declarations{}).Lists[0]
		if l.PageSize(c.want) != c.size || l.LongestPage() != c.longest {
			t.Errorf("%s: %d of %d, and %d at most", c.limit, l.PageSize(c.want), c.want, l.LongestPage())
		}
	}
}

// A member of a response is named, or has a JSON Pointer.
func TestAt(t *testing.T) {
	t.Parallel()
	for named, want := range map[string]string{"": "", "items": "/items", "/data/items": "/data/items", "meta/next": "/meta/next"} {
		if got := At(named); got != want {
			t.Errorf("%q is at %q, want %q", named, got, want)
		}
	}
}

// Pages are connected by Link if there are pages, and Link.
func TestHasLink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit, header string
		want          bool
	}{{"limit", "Link", true}, {"other", "Link", false}, {"limit", "X-Link", false}} {
		paths := cupsWith(query(c.limit, "type: integer"), "CUPS")
		paths = strings.Replace(paths, "description: Cups.", "description: Cups., headers: {"+c.header+": {schema: {type: string}}}", 1)
		if got := found(t, paths, Declarations{}).Lists[0].HasLink(); got != c.want {
			t.Errorf("%v: %v", c, got)
		}
	}
}

// Only a list that follows identities which a test has chosen is known to be in their order.
func TestInOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		identity    string
		after, next string
		isAssigned  bool
		isInferred  bool
		want        string // the query from 7
	}{
		"by identity":   {identity: "integer", after: "after", want: "after=6"},
		"by cursor":     {identity: "integer", after: "after", next: "next"},
		"without after": {identity: "integer"},
		"assigned":      {identity: "integer", after: "after", isAssigned: true},
		"a text":        {identity: "string", after: "after"},
		"inferred":      {identity: "integer", after: "after", isInferred: true},
	} {
		paths := strings.NewReplacer("REQUIRED", "id", "SENT", c.identity, "RECEIVED", c.identity, "IDENTITY", c.identity).Replace(createTool + getTool)
		x := found(t, paths, Declarations{}).CreatedBy("createTool")
		x.IsAssigned = c.isAssigned
		l := &List{Resource: x, IsInferred: c.isInferred, List: scenario.List{After: c.after, Next: c.next}}
		if got := l.From(int64(7)).Encode(); got != c.want || l.InOrder() != (c.want != "") {
			t.Errorf("%s: the query is %q, and in order: %v", name, got, l.InOrder())
		}
		if got := l.From("7").Encode(); got != "" {
			t.Errorf("%s: the query from a text is %q", name, got)
		}
	}
}

// A list need not have all, if its document says that it selects.
func TestIsPartial(t *testing.T) {
	t.Parallel()
	const inMode = "{name: mode, in: query, schema: {type: string, default: few}}"
	for _, c := range []struct {
		parameters, summary string
		want                bool
	}{
		{"", "All cups.", false},
		{"", "The cups that are visible.", true},
		{"", "Your cups.", true},
		{"", "Cups which are owned.", true},
		{"", "Known cups.", false},
		{"", "The commonly used cups.", false},
		{inMode, "All cups.", true},
		{strings.Replace(inMode, "query", "header", 1), "All cups.", false},
		{query("mode", "type: string"), "All cups.", false},
		{query("limit", "type: integer, default: 5") + ", " + query("offset", "type: integer, default: 5") + ", " + query("page", "type: integer, default: 5"), "All cups.", false},
		{query("after", "type: string, default: a"), "All cups.", false},
	} {
		for _, place := range []string{"summary", "description"} {
			paths := strings.Replace(cupsWith(c.parameters, "CUPS"), "operationId: listCups", "operationId: listCups\n      "+place+": "+c.summary, 1)
			if got := found(t, paths, Declarations{}).Lists[0].IsPartial(); got != c.want {
				t.Errorf("%s with %s: %v", c.summary, c.parameters, got)
			}
		}
	}
}

// A list with one of these words need not have all.
func TestPartly(t *testing.T) {
	t.Parallel()
	const words = "only published active public visible available own owned your recent latest newest search matching popular"
	checkWords(t, partly, append(strings.Fields(words), "current user")...)
}

// checkWords fails unless a pattern finds each word in a sentence, in small and in capital letters.
func checkWords(t *testing.T, pattern *regexp.Regexp, words ...string) {
	t.Helper()
	for _, word := range words {
		says := "Cups, " + word + " this."
		if !pattern.MatchString(says) || !pattern.MatchString(strings.ToUpper(says)) {
			t.Errorf("%q is not found", says)
		}
	}
}

// Names are the same in each way to write them, and some parameters have values that only the service makes.
func TestPlainName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"page_size": "pagesize", "pageSize": "pagesize", "page[size]": "pagesize", "Größe-2": "größe2", "": ""} {
		if got := PlainName(name); got != want {
			t.Errorf("%s is %s", name, got)
		}
	}
	for name, want := range map[string]bool{"cursor": true, "pageToken": true, "token": true, "next-token": true, "continuationToken": true, "marker": true, "starting_after": true, "after": true, "limit": false, "startAfter": false} {
		if IsOpaque(name) != want {
			t.Errorf("%s is opaque: %v", name, IsOpaque(name))
		}
	}
}
