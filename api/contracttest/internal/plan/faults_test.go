package plan_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/golden"
)

// fault is what is wrong with a garden: it changes requests before the garden sees them, or responses after.
type fault struct {
	of     string // the transcript whose tests run
	tests  string // a pattern of those that may see it; empty: all
	at     string // a pattern of what it changes, as in "GET /pots/"
	before func(g *garden, r *http.Request)
	after  func(r *http.Request, a *answer)
}

// faulty is a garden with a fault.
type faulty struct {
	*garden
	fault
}

func (f faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	isMeant := regexp.MustCompile(f.at).MatchString(r.Method + " " + r.URL.RequestURI())
	if isMeant && f.before != nil {
		f.garden.mu.Lock()
		f.before(f.garden, r)
		f.garden.mu.Unlock()
	}
	a := f.answer(r)
	if isMeant && f.after != nil {
		f.after(r, a)
	}
	a.write(w)
}

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
	c.service = func() http.Handler { return faulty{right().(*garden), of} }
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
	"a create stores another color":             {of: "pots declared", at: "^POST", before: body(func(text string) string { return strings.Replace(text, `"color":"`, `"color":"x`, 1) })},
	"a create responds with another color":      {of: "pots inferred", at: "^POST", after: member("color", "x")},
	"a read shows another color":                {of: "pots declared", at: "^GET " + onePot, after: member("color", "x")},
	"a read finds nothing":                      {of: "pots declared", at: "^GET " + onePot, after: answers(404)},
	"a read finds everything":                   {of: "pots declared", at: "^GET " + onePot, after: found},
	"a replacement does nothing":                {of: "pots declared", at: "^PUT", before: method("GET")},
	"a replacement keeps what it does not have": {of: "pots inferred", at: "^PUT", before: method("PATCH")},
	"a replacement changes all":                 {of: "pots declared", at: "^PUT", before: everything(recolor)},
	"a change replaces":                         {of: "pots declared", at: "^PATCH", before: method("PUT")},
	"a change of nothing succeeds":              {of: "pots declared", at: "^PATCH", after: found},
	"a deletion does nothing":                   {of: "pots declared", at: "^DELETE", before: method("GET"), after: answers(204)},
	"a deletion of nothing succeeds":            {of: "pots declared", at: "^DELETE", after: answers(204)},
	"a deletion is refused":                     {of: "pots inferred", at: "^DELETE", before: method("GET"), after: answers(400)},
	"a deletion changes all":                    {of: "pots inferred", at: "^DELETE", before: everything(recolor)},
	"a deletion deletes all":                    {of: "pots declared", at: "^DELETE", before: func(g *garden, _ *http.Request) { g.beds["/pots"] = g.beds["/pots"][:min(1, len(g.beds["/pots"]))] }},
	"a create replaces":                         {of: "pots inferred", at: "^POST", before: replacing},
	"a refused create replaces":                 {of: "pots inferred", at: "^POST", before: overwriting},
	"a create assigns one identity":             {of: below, at: "^POST /pots$", before: func(g *garden, _ *http.Request) { g.last = 5000; delete(g.beds, "/pots") }},
	"a create counts what exists":               {of: below, at: "^POST /pots$", before: func(g *garden, _ *http.Request) { g.last = 5000 + len(g.beds["/pots"]); delete(g.beds, "/pots/5001") }},
	"a default is another one":                  {of: "pots declared", before: func(g *garden, _ *http.Request) { g.defaults = map[string]any{"size": 4000} }},
	"there is no default":                       {of: "pots inferred", before: func(g *garden, _ *http.Request) { g.defaults = nil }},
	"what has a default is required":            {of: "pots declared", at: "^POST", before: body(func(text string) string { return strings.Repeat(text, strings.Count(text, "size")) })},
	"everything fails":                          {of: "pots declared", after: answers(500)},
	"nothing is allowed":                        {of: "pots inferred", after: answers(403)},

	// Where it is.
	"there is no Location":                             {of: "pots inferred", tests: ofLocation, at: "^POST", after: header("Location", "")},
	"there is no Location, which must be":              {of: "pots declared", tests: ofLocation, at: "^POST", after: header("Location", "")},
	"Location leads to another host":                   {of: "pots inferred", tests: ofLocation, at: "^POST", after: header("Location", "https://elsewhere.example/pots/7")},
	"Location leads to another host, told":             {of: "pots declared", tests: ofLocation, at: "^POST", after: header("Location", "https://elsewhere.example/pots/7")},
	"Location leads nowhere":                           {of: "pots inferred", tests: ofLocation, at: "^POST", after: header("Location", "/nowhere/7")},
	"Location leads to another host, without a scheme": {of: "pots at a base path", tests: ofLocation, at: "^POST", after: header("Location", "//elsewhere.example/pots/7")},
	"Location leads to a path of the document there":   {of: "pots at a base path", tests: ofLocation, at: "^POST", after: header("Location", "/api/pots/7")},
	"Location leads to nothing":                        {of: "pots declared", tests: ofLocation, at: "^POST", after: header("Location", "/pots/7")},
	"Location leads to another pot":                    {of: "pots declared", tests: ofLocation, at: "^POST", before: func(g *garden, _ *http.Request) { plant(g, 7) }, after: header("Location", "/pots/7")},
	"Location leads to another one":                    {of: "below each other with Location", tests: ofLocation, at: "^POST", before: func(g *garden, _ *http.Request) { plant(g, 7) }, after: header("Location", "/pots/7")},

	// Which version it is.
	"there is no ETag":                {of: "pots inferred", tests: ofVersions, at: "^GET", after: header("ETag", "")},
	"there is no ETag, which must be": {of: "pots declared", tests: ofVersions, at: "^GET", after: header("ETag", "")},
	"the ETag is always the same":     {of: "pots declared", tests: ofVersions, after: header("ETag", `"v000001"`)},
	"the ETag is weak":                {of: "pots declared", tests: ofVersions, after: header("ETag", "W/%s")},
	"the ETag changes by itself": {of: "pots declared", tests: ofVersions, at: "^GET " + onePot, before: func(g *garden, r *http.Request) {
		g.versions++
		everything(func(p *planted) { p.version = g.versions })(g, r)
	}},
	"a replacement leaves the ETag":  {of: "pots declared", tests: ofVersions, at: "^PUT", before: func(g *garden, _ *http.Request) { g.versions-- }},
	"a change leaves the ETag":       {of: "pots inferred", tests: ofVersions, at: "^PATCH", before: func(g *garden, _ *http.Request) { g.versions-- }},
	"If-Match is ignored":            {of: "pots declared", tests: ofVersions, before: without("If-Match")},
	"If-Match is never true":         {of: "pots declared", tests: ofVersions, before: value("If-Match", is("any", `"x"`))},
	"If-Match: * is never true":      {of: "pots declared", tests: ofVersions, before: value("If-Match", is("*", `"x"`))},
	"If-Match takes no list":         {of: "pots inferred", tests: ofVersions, before: value("If-Match", func(text string) string { return strings.ReplaceAll(text, ", ", ",") })},
	"If-None-Match is ignored":       {of: "pots declared", tests: ofVersions, before: without("If-None-Match")},
	"If-None-Match is always true":   {of: "pots inferred", tests: ofVersions, before: value("If-None-Match", is("any", "*"))},
	"If-None-Match: * is ignored":    {of: "pots declared", tests: ofVersions, before: value("If-None-Match", is("*", ""))},
	"a write is done and refused":    {of: "pots declared", tests: ofVersions, at: "^(PUT|PATCH|DELETE)", before: writes, after: writeRefused},
	"a PUT with a condition creates": {of: "pots declared", tests: ofVersions, at: "^PUT", before: creates},
	"a PUT creates and is refused":   {of: "pots declared", tests: ofVersions, at: "^PUT", before: creates, after: writeRefused},
	"HEAD finds nothing":             {of: "pots declared", tests: ofHead, at: "^HEAD", after: answers(404)},
	"HEAD has another ETag":          {of: "pots declared", tests: ofHead, at: "^HEAD", after: header("ETag", `"x"`)},
	"HEAD has no Content-Type":       {of: "pots declared", tests: ofHead, at: "^HEAD", after: func(_ *http.Request, a *answer) { a.body = nil }},
	"HEAD has another age":           {of: "pots declared", tests: ofHead, at: "^HEAD", after: header("Cache-Control", "no-store")},
	"HEAD has another day":           {of: "pots declared", tests: ofHead, at: "^HEAD", after: header("Last-Modified", "yesterday")},

	// What a list has.
	"a list ignores its limit":              {of: "pots declared", tests: ofLists, at: allPots, before: without("limit")},
	"a page has one item less":              {of: "pots declared", tests: ofLists, at: allPots, after: items(butLast)},
	"a page has one item less, inferred":    {of: "pots inferred", tests: ofLists, at: allPots, after: items(butLast)},
	"a list is empty":                       {of: "pots inferred", tests: ofLists, at: allPots, after: items(none)},
	"a list is empty, which it must not be": {of: "pots declared", tests: ofLists, at: allPots, after: items(none)},
	"a list has things twice":               {of: "pots declared", tests: ofLists, at: allPots, after: items(twice)},
	"a list has things twice, inferred":     {of: "pots inferred", tests: ofLists, at: allPots, after: items(twice)},
	"a list is in another order":            {of: "pots declared", tests: ofLists, at: allPots, after: items(func(all []any) []any { slices.Reverse(all); return all })},
	"a list ignores after":                  {of: "pots declared", tests: ofLists, at: allPots, before: without("after")},
	"a list ignores after, inferred":        {of: "pots inferred", tests: ofLists, at: allPots, before: without("after")},
	"a list begins with what it is after":   {of: "pots declared", tests: ofLists, at: allPots, before: value("after", func(text string) string { return fmt.Sprint(number(text) - 1) })},
	"a list has no objects":                 {of: "pots declared", tests: ofLists, at: allPots, after: items(func([]any) []any { return []any{7} })},
	"a list is no list":                     {of: "pots inferred", tests: ofLists, at: allPots, after: func(_ *http.Request, a *answer) { a.body = map[string]any{} }},
	"a list ignores its filter":             {of: "pots declared", tests: ofLists, at: allPots, before: without("color")},
	"a list ignores its filter, inferred":   {of: "pots inferred", tests: ofLists, at: allPots, before: without("color")},
	"a filter finds nothing":                {of: "pots declared", tests: ofLists, at: allPots, before: value("color", is("any", "x"))},
	"a filter finds nothing, inferred":      {of: "pots inferred", tests: ofLists, at: allPots, before: value("color", is("any", "x"))},
	"a filter lacks the last one":           {of: "pots inferred", tests: ofLists, at: allPots + ".*color", after: items(butLast)},
	"the default of the limit is smaller":   {of: "pots declared", tests: ofLists, at: allPots, before: given("limit=5")},
	"the default of the limit is larger":    {of: "pots inferred", tests: ofLists, at: allPots, before: given("limit=20")},
	"a list shows what was":                 {of: "pots declared", tests: ofLists, before: cached},
	"a list shows another color": {of: "pots inferred", tests: ofLists, at: allPots, after: items(func(all []any) []any {
		for _, item := range all {
			item.(map[string]any)["color"] = "x"
		}
		return all
	})},

	// How a list goes on.
	"Link leads from nothing on":     {of: "lists by link", at: "^GET", before: given("limit=1"), after: emptyPage},
	"Link leads to the same page":    {of: "lists by link", at: "^GET", before: without("cursor")},
	"Link leads to another host":     {of: "lists by link", at: "^GET", after: header("Link", `<https://elsewhere.example/links>; rel="next"`)},
	"there is no Link":               {of: "lists by link", at: "^GET", after: header("Link", "")},
	"Link leaves one out":            {of: "lists by link", at: "^GET", before: value("cursor", is("c2", "c3"))},
	"a count is one more":            {of: "lists by link", at: "/count", after: member("count", 3)},
	"a count is a text":              {of: "lists by link", at: "/count", after: member("count", "many")},
	"a count ignores its filter":     {of: below, at: "/count", before: without("note")},
	"an offset is ignored":           {of: "lists by offset", at: "^GET", before: without("offset")},
	"an offset is one more":          {of: "lists by offset", at: "^GET", before: value("offset", is("2", "3"))},
	"the default of the offset is 1": {of: "lists by offset", at: "^GET", before: given("offset=1")},
	"the first page is 0":            {of: "lists by page", at: "^GET", before: value("page", is("2", "3"))},
	"a page is ignored":              {of: "lists by page", at: "^GET", before: without("page")},
	"a cursor is ignored":            {of: "lists by cursor", at: "^GET", before: without("cursor")},
	"there is no cursor":             {of: "lists by cursor", at: "^GET", after: member("next", "")},
	"a cursor is null":               {of: "lists by cursor", at: "^GET", after: member("next", nil)},
	"a list on a page ends early":    {of: "lists on a page", at: "^GET", after: items(func(all []any) []any { return all[:min(len(all), 2)] })},
	"a list is bare":                 {of: "lists by cursor", at: "^GET /cursors(\\?|$)", after: bare},
	"a filter by tags is ignored":    {of: "lists by link", at: "^GET /links", before: without("tags")},

	"a list by cursor is empty":        {of: "lists by cursor", at: "^GET /cursors", after: member("items", []any{})},
	"a list by cursor shows another":   {of: "lists by cursor", at: "^GET /cursors(\\?|$)", after: renamed},
	"a list shows what was deleted":    {of: "lists on a page", at: "^(DELETE|GET) /plains/", before: marksDeleted, after: deleted},
	"a list shows what is not deleted": {of: "lists on a page", at: "^DELETE", before: method("GET"), after: answers(204)},
	"a summary has other notes, or none": {of: "lists of summaries", at: `^GET /plains$`, after: noted(func(i int, all []any) any {
		if i == len(all)-1 {
			return nil
		}
		return fmt.Sprint(len(all))
	})},
	"a summary has one note":                {of: "lists of summaries", at: `^GET /plains$`, after: noted(func(int, []any) any { return "n" })},
	"a list lacks the tags":                 {of: "lists on a page", at: `^GET /plains$`, after: items(untagged)},
	"a read lacks the tags":                 {of: "lists on a page", at: `^GET /plains/`, after: func(_ *http.Request, a *answer) { delete(a.body.(map[string]any), "tags") }},
	"a list leads to whole URLs":            {of: "lists by url", at: "^GET /cursors", after: absolute},
	"a declared list is empty":              {of: "lists declared, by cursor", at: "^GET /cursors", after: member("items", []any{})},
	"the default of a declared offset is 1": {of: "lists declared", at: "^GET /offsets", before: given("offset=1")},
	"a list of some ends early":             {of: "lists of some", at: "^GET", after: items(butLast)},
	"a list of some is empty":               {of: "lists of some", at: "^GET", after: items(none)},
	"an identity is assigned again":         {of: "identities that are never used again", at: "^POST", before: func(g *garden, _ *http.Request) { g.last = 5000 + len(g.beds["/pots"]) }},
	"the service stores one note":           {of: below, tests: "note$", at: "^POST", before: body(func(string) string { return `{"note":"n"}` })},
	"a page has no end":                     {of: "lists by limit alone", at: "^GET", before: given("limit=2")},

	// What is below another thing.
	"a plant is found below any pot":   {of: below, at: `^(GET|PATCH|DELETE) /pots/\d+/plants/\d+`, before: anywhere},
	"a plant is watered below any pot": {of: below, at: `plants/\d+/water`, before: anywhere},
	"a list has what is below others":  {of: below, at: `^GET /pots/\d+/plants$`, before: together},
	"a pot is watered where none is":   {of: below, at: `^POST /pots/\d+/water`, after: answers(204)},
	"no pot can be watered":            {of: below, at: `^POST /pots/\d+/water`, after: answers(409)},
	"a plant is put where no pot is":   {of: below, at: `^POST /pots/\d+/plants`, before: func(g *garden, r *http.Request) { plant(g, number(strings.Split(r.URL.Path, "/")[2])) }},
}
