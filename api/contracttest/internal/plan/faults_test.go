package plan_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/internal/testing/golden"
	"github.com/plantstore/plantstore/internal/testing/toy"
)

// fault is what is wrong with a garden.
type fault struct {
	of    string // the transcript whose tests run
	tests string // a pattern of those that may see it; empty: all
	toy.Fault
}

// faulty is a garden with a fault.
type faulty struct {
	*toy.Garden
	toy.Fault
}

func (f faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.RespondWith(f.Fault, r).Write(w) }

// TestFaults compares what tests say of services that have one fault each with testdata/faults.txt: all tests that do
// not hold, and no others.
func TestFaults(t *testing.T) {
	t.Parallel()
	sections := make([]string, len(faults))
	names := slices.Sorted(maps.Keys(faults))
	t.Run("all", func(t *testing.T) {
		for i, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				sections[i] = name + "\n" + said(t, faults[name])
			})
		}
	})
	golden.Compare(t, "testdata/faults.txt", strings.Join(sections, ""))
}

// said is what tests say of a fault.
func said(t *testing.T, of fault) string {
	t.Helper()
	c, isKnown := all(transcripts, edges)[of.of]
	if !isKnown {
		t.Fatalf("there is no transcript %q", of.of)
	}
	right := c.service
	c.tests = cmp.Or(of.tests, c.tests)
	c.service = func() http.Handler { return faulty{right().(*toy.Garden), of.Fault} }
	return grouped(c.run(t))
}

// The tests that look at something.
const (
	ofLocation = "Location"
	ofVersions = "ETag|If-"
	ofHead     = "HEAD"
	ofLists    = "^sequence, (list|a walk)|(list|count).*(effect|default) of"
)

const (
	onePot  = `/pots/\d+$`
	allPots = `^GET /pots(\?|$)`
	below   = "below each other"
)

var faults = map[string]fault{
	// What is stored.
	"a create stores another color":             {of: "pots declared", Fault: toy.Fault{At: "^POST", Before: toy.Body(func(text string) string { return strings.Replace(text, `"color":"`, `"color":"x`, 1) })}},
	"a create responds with another color":      {of: "pots inferred", Fault: toy.Fault{At: "^POST", After: toy.Member("color", "x")}},
	"a read shows another color":                {of: "pots declared", Fault: toy.Fault{At: "^GET " + onePot, After: toy.Member("color", "x")}},
	"a read finds nothing":                      {of: "pots declared", Fault: toy.Fault{At: "^GET " + onePot, After: toy.Responds(404)}},
	"a read finds everything":                   {of: "pots declared", Fault: toy.Fault{At: "^GET " + onePot, After: toy.FindAll}},
	"a replacement does nothing":                {of: "pots declared", Fault: toy.Fault{At: "^PUT", Before: toy.Method("GET")}},
	"a replacement keeps what it does not have": {of: "pots inferred", Fault: toy.Fault{At: "^PUT", Before: toy.Method("PATCH")}},
	"a replacement changes all":                 {of: "pots declared", Fault: toy.Fault{At: "^PUT", Before: toy.Everything(toy.Recolor)}},
	"a change replaces":                         {of: "pots declared", Fault: toy.Fault{At: "^PATCH", Before: toy.Method("PUT")}},
	"a change of nothing succeeds":              {of: "pots declared", Fault: toy.Fault{At: "^PATCH", After: toy.FindAll}},
	"a deletion does nothing":                   {of: "pots declared", Fault: toy.Fault{At: "^DELETE", Before: toy.Method("GET"), After: toy.Responds(204)}},
	"a deletion of nothing succeeds":            {of: "pots declared", Fault: toy.Fault{At: "^DELETE", After: toy.Responds(204)}},
	"a deletion is refused":                     {of: "pots inferred", Fault: toy.Fault{At: "^DELETE", Before: toy.Method("GET"), After: toy.Responds(400)}},
	"a deletion changes all":                    {of: "pots inferred", Fault: toy.Fault{At: "^DELETE", Before: toy.Everything(toy.Recolor)}},
	"a deletion deletes all":                    {of: "pots declared", Fault: toy.Fault{At: "^DELETE", Before: func(g *toy.Garden, _ *http.Request) { g.Beds["/pots"] = g.Beds["/pots"][:min(1, len(g.Beds["/pots"]))] }}},
	"a create replaces":                         {of: "pots inferred", Fault: toy.Fault{At: "^POST", Before: toy.Replacing}},
	"a refused create replaces":                 {of: "pots inferred", Fault: toy.Fault{At: "^POST", Before: toy.Overwriting}},
	"a create assigns one identity":             {of: below, Fault: toy.Fault{At: "^POST /pots$", Before: func(g *toy.Garden, _ *http.Request) { g.Last = 5000; delete(g.Beds, "/pots") }}},
	"a create counts what exists": {of: below, Fault: toy.Fault{At: "^POST /pots$", Before: func(g *toy.Garden, _ *http.Request) {
		g.Last = 5000 + len(g.Beds["/pots"])
		delete(g.Beds, "/pots/5001")
	}}},
	"a create stores no size above 8000": {of: "pots of bounded sizes", Fault: toy.Fault{At: "^POST", Before: toy.Body(func(text string) string { return strings.Replace(text, `"size":9000`, `"size":8000`, 1) })}},
	"a create loses false":               {of: "pots that may be lit", Fault: toy.Fault{At: "^POST", Before: toy.Body(func(text string) string { return strings.Replace(text, `,"lit":false`, "", 1) })}},
	"false is never shown": {of: "pots that may be lit", Fault: toy.Fault{After: func(_ *http.Request, a *toy.Response) {
		if pot, is := a.Body.(map[string]any); is && pot["lit"] == false {
			a.Body = maps.Clone(pot)
			delete(a.Body.(map[string]any), "lit")
		}
	}}},
	"a default is another one":       {of: "pots declared", Fault: toy.Fault{Before: func(g *toy.Garden, _ *http.Request) { g.Defaults = map[string]any{"size": 4000} }}},
	"there is no default":            {of: "pots inferred", Fault: toy.Fault{Before: func(g *toy.Garden, _ *http.Request) { g.Defaults = nil }}},
	"what has a default is required": {of: "pots declared", Fault: toy.Fault{At: "^POST", Before: toy.Body(func(text string) string { return strings.Repeat(text, strings.Count(text, "size")) })}},
	"everything fails":               {of: "pots declared", Fault: toy.Fault{After: toy.Responds(500)}},
	"nothing is allowed":             {of: "pots inferred", Fault: toy.Fault{After: toy.Responds(403)}},

	// Where it is.
	"there is no Location":                             {of: "pots inferred", tests: ofLocation, Fault: toy.Fault{At: "^POST", After: toy.Header("Location", "")}},
	"there is no Location, which must be":              {of: "pots declared", tests: ofLocation, Fault: toy.Fault{At: "^POST", After: toy.Header("Location", "")}},
	"Location leads to another host":                   {of: "pots inferred", tests: ofLocation, Fault: toy.Fault{At: "^POST", After: toy.Header("Location", "https://elsewhere.example/pots/7")}},
	"Location leads to another host, told":             {of: "pots declared", tests: ofLocation, Fault: toy.Fault{At: "^POST", After: toy.Header("Location", "https://elsewhere.example/pots/7")}},
	"Location leads nowhere":                           {of: "pots inferred", tests: ofLocation, Fault: toy.Fault{At: "^POST", After: toy.Header("Location", "/nowhere/7")}},
	"Location leads to another host, without a scheme": {of: "pots at a base path", tests: ofLocation, Fault: toy.Fault{At: "^POST", After: toy.Header("Location", "//elsewhere.example/pots/7")}},
	"Location leads to a path of the document there":   {of: "pots at a base path", tests: ofLocation, Fault: toy.Fault{At: "^POST", After: toy.Header("Location", "/api/pots/7")}},
	"Location leads to nothing":                        {of: "pots declared", tests: ofLocation, Fault: toy.Fault{At: "^POST", After: toy.Header("Location", "/pots/7")}},
	"Location leads to another pot":                    {of: "pots declared", tests: ofLocation, Fault: toy.Fault{At: "^POST", Before: func(g *toy.Garden, _ *http.Request) { toy.PlantPot(g, 7) }, After: toy.Header("Location", "/pots/7")}},
	"Location leads to another one":                    {of: "below each other with Location", tests: ofLocation, Fault: toy.Fault{At: "^POST", Before: func(g *toy.Garden, _ *http.Request) { toy.PlantPot(g, 7) }, After: toy.Header("Location", "/pots/7")}},

	// Which version it is.
	"there is no ETag":                {of: "pots inferred", tests: ofVersions, Fault: toy.Fault{At: "^GET", After: toy.Header("ETag", "")}},
	"there is no ETag, which must be": {of: "pots declared", tests: ofVersions, Fault: toy.Fault{At: "^GET", After: toy.Header("ETag", "")}},
	"the ETag is always the same":     {of: "pots declared", tests: ofVersions, Fault: toy.Fault{After: toy.Header("ETag", `"v000001"`)}},
	"the ETag is weak":                {of: "pots declared", tests: ofVersions, Fault: toy.Fault{After: toy.Header("ETag", "W/%s")}},
	"the ETag changes by itself": {of: "pots declared", tests: ofVersions, Fault: toy.Fault{At: "^GET " + onePot, Before: func(g *toy.Garden, r *http.Request) {
		g.Versions++
		toy.Everything(func(p *toy.Planted) { p.Version = g.Versions })(g, r)
	}}},
	"a replacement leaves the ETag":  {of: "pots declared", tests: ofVersions, Fault: toy.Fault{At: "^PUT", Before: func(g *toy.Garden, _ *http.Request) { g.Versions-- }}},
	"a change leaves the ETag":       {of: "pots inferred", tests: ofVersions, Fault: toy.Fault{At: "^PATCH", Before: func(g *toy.Garden, _ *http.Request) { g.Versions-- }}},
	"If-Match is ignored":            {of: "pots declared", tests: ofVersions, Fault: toy.Fault{Before: toy.Without("If-Match")}},
	"If-Match is never true":         {of: "pots declared", tests: ofVersions, Fault: toy.Fault{Before: toy.Value("If-Match", toy.Is("any", `"x"`))}},
	"If-Match: * is never true":      {of: "pots declared", tests: ofVersions, Fault: toy.Fault{Before: toy.Value("If-Match", toy.Is("*", `"x"`))}},
	"If-Match takes no list":         {of: "pots inferred", tests: ofVersions, Fault: toy.Fault{Before: toy.Value("If-Match", func(text string) string { return strings.ReplaceAll(text, ", ", ",") })}},
	"If-None-Match is ignored":       {of: "pots declared", tests: ofVersions, Fault: toy.Fault{Before: toy.Without("If-None-Match")}},
	"If-None-Match is always true":   {of: "pots inferred", tests: ofVersions, Fault: toy.Fault{Before: toy.Value("If-None-Match", toy.Is("any", "*"))}},
	"If-None-Match: * is ignored":    {of: "pots declared", tests: ofVersions, Fault: toy.Fault{Before: toy.Value("If-None-Match", toy.Is("*", ""))}},
	"a write is done and refused":    {of: "pots declared", tests: ofVersions, Fault: toy.Fault{At: "^(PUT|PATCH|DELETE)", Before: toy.Writes, After: toy.WriteRefused}},
	"a PUT with a condition creates": {of: "pots declared", tests: ofVersions, Fault: toy.Fault{At: "^PUT", Before: toy.Creates}},
	"a PUT creates and is refused":   {of: "pots declared", tests: ofVersions, Fault: toy.Fault{At: "^PUT", Before: toy.Creates, After: toy.WriteRefused}},
	"HEAD finds nothing":             {of: "pots declared", tests: ofHead, Fault: toy.Fault{At: "^HEAD", After: toy.Responds(404)}},
	"HEAD has another ETag":          {of: "pots declared", tests: ofHead, Fault: toy.Fault{At: "^HEAD", After: toy.Header("ETag", `"x"`)}},
	"HEAD has no Content-Type":       {of: "pots declared", tests: ofHead, Fault: toy.Fault{At: "^HEAD", After: func(_ *http.Request, a *toy.Response) { a.Body = nil }}},
	"HEAD has another age":           {of: "pots declared", tests: ofHead, Fault: toy.Fault{At: "^HEAD", After: toy.Header("Cache-Control", "no-store")}},
	"HEAD has another day":           {of: "pots declared", tests: ofHead, Fault: toy.Fault{At: "^HEAD", After: toy.Header("Last-Modified", "yesterday")}},

	// What a list has.
	"a list ignores its limit":              {of: "pots declared", tests: ofLists, Fault: toy.Fault{At: allPots, Before: toy.Without("limit")}},
	"a page has one item less":              {of: "pots declared", tests: ofLists, Fault: toy.Fault{At: allPots, After: toy.Items(toy.ButLast)}},
	"a page has one item less, inferred":    {of: "pots inferred", tests: ofLists, Fault: toy.Fault{At: allPots, After: toy.Items(toy.ButLast)}},
	"a list is empty":                       {of: "pots inferred", tests: ofLists, Fault: toy.Fault{At: allPots, After: toy.Items(toy.None)}},
	"a list is empty, which it must not be": {of: "pots declared", tests: ofLists, Fault: toy.Fault{At: allPots, After: toy.Items(toy.None)}},
	"a list has things twice":               {of: "pots declared", tests: ofLists, Fault: toy.Fault{At: allPots, After: toy.Items(toy.Twice)}},
	"a list has things twice, inferred":     {of: "pots inferred", tests: ofLists, Fault: toy.Fault{At: allPots, After: toy.Items(toy.Twice)}},
	"a list is in another order":            {of: "pots declared", tests: ofLists, Fault: toy.Fault{At: allPots, After: toy.Items(func(all []any) []any { slices.Reverse(all); return all })}},
	"a list ignores after":                  {of: "pots declared", tests: ofLists, Fault: toy.Fault{At: allPots, Before: toy.Without("after")}},
	"a list ignores after, inferred":        {of: "pots inferred", tests: ofLists, Fault: toy.Fault{At: allPots, Before: toy.Without("after")}},
	"a list begins with what it is after":   {of: "pots declared", tests: ofLists, Fault: toy.Fault{At: allPots, Before: toy.Value("after", func(text string) string { return fmt.Sprint(toy.Number(text) - 1) })}},
	"a list has no objects":                 {of: "pots declared", tests: ofLists, Fault: toy.Fault{At: allPots, After: toy.Items(func([]any) []any { return []any{7} })}},
	"a list is no list":                     {of: "pots inferred", tests: ofLists, Fault: toy.Fault{At: allPots, After: func(_ *http.Request, a *toy.Response) { a.Body = map[string]any{} }}},
	"a list ignores its filter":             {of: "pots declared", tests: ofLists, Fault: toy.Fault{At: allPots, Before: toy.Without("color")}},
	"a list ignores its filter, inferred":   {of: "pots inferred", tests: ofLists, Fault: toy.Fault{At: allPots, Before: toy.Without("color")}},
	"a filter finds nothing":                {of: "pots declared", tests: ofLists, Fault: toy.Fault{At: allPots, Before: toy.Value("color", toy.Is("any", "x"))}},
	"a filter finds nothing, inferred":      {of: "pots inferred", tests: ofLists, Fault: toy.Fault{At: allPots, Before: toy.Value("color", toy.Is("any", "x"))}},
	"a filter lacks the last one":           {of: "pots inferred", tests: ofLists, Fault: toy.Fault{At: allPots + ".*color", After: toy.Items(toy.ButLast)}},
	"the default of the limit is smaller":   {of: "pots declared", tests: ofLists, Fault: toy.Fault{At: allPots, Before: toy.Given("limit=5")}},
	"the default of the limit is larger":    {of: "pots inferred", tests: ofLists, Fault: toy.Fault{At: allPots, Before: toy.Given("limit=20")}},
	"a list shows what was":                 {of: "pots declared", tests: ofLists, Fault: toy.Fault{Before: toy.Cached}},
	"a list shows another color": {of: "pots inferred", tests: ofLists, Fault: toy.Fault{At: allPots, After: toy.Items(func(all []any) []any {
		for _, item := range all {
			item.(map[string]any)["color"] = "x"
		}
		return all
	})}},

	// How a list goes on.
	"Link leads from nothing on":     {of: "lists by link", Fault: toy.Fault{At: "^GET", Before: toy.Given("limit=1"), After: toy.EmptyPage}},
	"Link leads to the same page":    {of: "lists by link", Fault: toy.Fault{At: "^GET", Before: toy.Without("cursor")}},
	"Link leads to another host":     {of: "lists by link", Fault: toy.Fault{At: "^GET", After: toy.Header("Link", `<https://elsewhere.example/links>; rel="next"`)}},
	"there is no Link":               {of: "lists by link", Fault: toy.Fault{At: "^GET", After: toy.Header("Link", "")}},
	"Link leaves one out":            {of: "lists by link", Fault: toy.Fault{At: "^GET", Before: toy.Value("cursor", toy.Is("c2", "c3"))}},
	"a count is one more":            {of: "lists by link", Fault: toy.Fault{At: "/count", After: toy.Member("count", 3)}},
	"a count is a text":              {of: "lists by link", Fault: toy.Fault{At: "/count", After: toy.Member("count", "many")}},
	"a count ignores its filter":     {of: below, Fault: toy.Fault{At: "/count", Before: toy.Without("note")}},
	"an offset is ignored":           {of: "lists by offset", Fault: toy.Fault{At: "^GET", Before: toy.Without("offset")}},
	"an offset is one more":          {of: "lists by offset", Fault: toy.Fault{At: "^GET", Before: toy.Value("offset", toy.Is("2", "3"))}},
	"the default of the offset is 1": {of: "lists by offset", Fault: toy.Fault{At: "^GET", Before: toy.Given("offset=1")}},
	"the first page is 0":            {of: "lists by page", Fault: toy.Fault{At: "^GET", Before: toy.Value("page", toy.Is("2", "3"))}},
	"a page is ignored":              {of: "lists by page", Fault: toy.Fault{At: "^GET", Before: toy.Without("page")}},
	"a cursor is ignored":            {of: "lists by cursor", Fault: toy.Fault{At: "^GET", Before: toy.Without("cursor")}},
	"there is no cursor":             {of: "lists by cursor", Fault: toy.Fault{At: "^GET", After: toy.Member("next", "")}},
	"a cursor is null":               {of: "lists by cursor", Fault: toy.Fault{At: "^GET", After: toy.Member("next", nil)}},
	"a list on a page ends early":    {of: "lists on a page", Fault: toy.Fault{At: "^GET", After: toy.Items(func(all []any) []any { return all[:min(len(all), 2)] })}},
	"a list is bare":                 {of: "lists by cursor", Fault: toy.Fault{At: "^GET /cursors(\\?|$)", After: toy.Bare}},
	"a filter by tags is ignored":    {of: "lists by link", Fault: toy.Fault{At: "^GET /links", Before: toy.Without("tags")}},

	"a list by cursor is empty":        {of: "lists by cursor", Fault: toy.Fault{At: "^GET /cursors", After: toy.Member("items", []any{})}},
	"a list by cursor shows another":   {of: "lists by cursor", Fault: toy.Fault{At: "^GET /cursors(\\?|$)", After: toy.Renamed}},
	"a list shows what was deleted":    {of: "lists on a page", Fault: toy.Fault{At: "^(DELETE|GET) /plains/", Before: toy.MarksDeleted, After: toy.Deleted}},
	"a list shows what is not deleted": {of: "lists on a page", Fault: toy.Fault{At: "^DELETE", Before: toy.Method("GET"), After: toy.Responds(204)}},
	"a summary has other notes, or none": {of: "lists of summaries", Fault: toy.Fault{At: `^GET /plains$`, After: toy.Noted(func(i int, all []any) any {
		if i == len(all)-1 {
			return nil
		}
		return fmt.Sprint(len(all))
	})}},
	"a summary has one note": {of: "lists of summaries", Fault: toy.Fault{At: `^GET /plains$`, After: toy.Noted(func(int, []any) any { return "n" })}},
	"a filter finds five others": {of: "pots on one page", Fault: toy.Fault{At: `^GET /pots\?color=`, After: func(r *http.Request, a *toy.Response) {
		a.Body = []any{}
		for i := range 5 {
			a.Body = append(a.Body.([]any), map[string]any{"id": 8000001 + i, "color": r.URL.Query().Get("color"), "size": 3000})
		}
	}}},
	"a list lacks the tags":                 {of: "lists on a page", Fault: toy.Fault{At: `^GET /plains$`, After: toy.Items(toy.Untagged)}},
	"a read lacks the tags":                 {of: "lists on a page", Fault: toy.Fault{At: `^GET /plains/`, After: func(_ *http.Request, a *toy.Response) { delete(jsonvalue.Object(a.Body), "tags") }}},
	"a list leads to whole URLs":            {of: "lists by url", Fault: toy.Fault{At: "^GET /cursors", After: toy.Absolute}},
	"a declared list is empty":              {of: "lists declared, by cursor", Fault: toy.Fault{At: "^GET /cursors", After: toy.Member("items", []any{})}},
	"the default of a declared offset is 1": {of: "lists declared", Fault: toy.Fault{At: "^GET /offsets", Before: toy.Given("offset=1")}},
	"a list of some ends early":             {of: "lists of some", Fault: toy.Fault{At: "^GET", After: toy.Items(toy.ButLast)}},
	"a list of some is empty":               {of: "lists of some", Fault: toy.Fault{At: "^GET", After: toy.Items(toy.None)}},
	"an identity is assigned again":         {of: "identities that are never used again", Fault: toy.Fault{At: "^POST", Before: func(g *toy.Garden, _ *http.Request) { g.Last = 5000 + len(g.Beds["/pots"]) }}},
	"the service stores one note":           {of: below, tests: "note$", Fault: toy.Fault{At: "^POST", Before: toy.Body(func(string) string { return `{"note":"n"}` })}},
	"a page has no end":                     {of: "lists by limit alone", Fault: toy.Fault{At: "^GET", Before: toy.Given("limit=2")}},

	// What is below another thing.
	"a plant is found below any pot":   {of: below, Fault: toy.Fault{At: `^(GET|PATCH|DELETE) /pots/\d+/plants/\d+`, Before: toy.Anywhere}},
	"any deletion of a plant succeeds": {of: "below each other, only deleted", tests: "gone", Fault: toy.Fault{At: `^DELETE /pots/\d+/plants/\d+`, After: toy.Responds(204)}},
	"a plant that nothing reads stays": {of: "below each other, only deleted", Fault: toy.Fault{At: `^DELETE /pots/\d+/plants/\d+`, Before: toy.Method("GET"), After: func(_ *http.Request, a *toy.Response) {
		if a.Status == http.StatusOK {
			*a = *toy.Status(http.StatusNoContent)
		}
	}}},
	"a plant is watered below any pot": {of: below, Fault: toy.Fault{At: `plants/\d+/water`, Before: toy.Anywhere}},
	"a list has what is below others":  {of: below, Fault: toy.Fault{At: `^GET /pots/\d+/plants$`, Before: toy.Together}},
	"a pot is watered where none is":   {of: below, Fault: toy.Fault{At: `^POST /pots/\d+/water`, After: toy.Responds(204)}},
	"no pot can be watered":            {of: below, Fault: toy.Fault{At: `^POST /pots/\d+/water`, After: toy.Responds(409)}},
	"a plant is put where no pot is":   {of: below, Fault: toy.Fault{At: `^POST /pots/\d+/plants`, Before: func(g *toy.Garden, r *http.Request) { toy.PlantPot(g, toy.Number(strings.Split(r.URL.Path, "/")[2])) }}},
}
