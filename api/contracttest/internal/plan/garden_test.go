package plan_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// garden is a right service of the documents in testdata: it stores things at any path, also below other things, and
// lists them in the order of their ids.
type garden struct {
	habits

	mu       sync.Mutex
	beds     map[string][]*planted // by the path of the list
	last     int                   // the last id
	versions int
}

// habits are what services do differently.
type habits struct {
	assigns  bool           // it chooses the ids
	defaults map[string]any // of what a create or a replacement leaves out
	items    string         // the member of a list with its items; empty: the list is an array
	leads    bool           // the member next of a list is the URL of the next page, and not a cursor
	links    bool           // a list has Link
	fromZero bool           // the first page of a list is 0, and not 1
}

func newGarden(with habits) *garden {
	return &garden{habits: with, beds: map[string][]*planted{}, last: 1000}
}

// planted is something in a garden.
type planted struct {
	members map[string]any
	version int
}

func (p *planted) id() string   { return fmt.Sprint(p.members["id"]) }
func (p *planted) etag() string { return fmt.Sprintf(`"v%06d"`, p.version) }

// answer is a response before it is written, so that a fault can change it.
type answer struct {
	status int
	header http.Header
	body   any // nil: none
}

func (a *answer) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	if a.body != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.status)
	if a.body != nil {
		text, _ := json.Marshal(a.body) // of JSON
		_, _ = w.Write(text)            // into memory
	}
}

func status(code int) *answer { return &answer{status: code, header: http.Header{}} }

func (g *garden) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.answer(r).write(w) }

// answer responds to a request: /pots is a bed, /pots/7 what is planted there, /pots/7/plants a bed below it.
func (g *garden) answer(r *http.Request) *answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	names := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for i := 2; i < len(names); i += 2 {
		if _, above := g.find(names[:i]); above == nil {
			return status(http.StatusNotFound)
		}
	}
	last := names[len(names)-1]
	switch {
	case last == "count":
		return &answer{http.StatusOK, http.Header{}, map[string]any{"count": len(g.selected(r))}}
	case last == "water":
		return status(http.StatusNoContent)
	case len(names)%2 == 0:
		return g.onOne(names, r)
	case r.Method == http.MethodPost:
		return g.create(r)
	}
	return g.list(r)
}

func (g *garden) find(names []string) (bed string, found *planted) {
	bed = "/" + strings.Join(names[:len(names)-1], "/")
	i := slices.IndexFunc(g.beds[bed], func(p *planted) bool { return p.id() == names[len(names)-1] })
	if i < 0 {
		return bed, nil
	}
	return bed, g.beds[bed][i]
}

func (g *garden) create(r *http.Request) *answer {
	members := map[string]any{}
	decoder := json.NewDecoder(r.Body)
	decoder.UseNumber()
	if decoder.Decode(&members) != nil || members == nil {
		return status(http.StatusBadRequest)
	}
	if g.assigns {
		g.last++
		members["id"] = g.last
	}
	g.fill(members)
	created := &planted{members: members}
	if _, other := g.find(strings.Split(strings.Trim(r.URL.Path, "/")+"/"+created.id(), "/")); other != nil {
		return status(http.StatusConflict)
	}
	bed := append(g.beds[r.URL.Path], created)
	slices.SortStableFunc(bed, func(one, other *planted) int { return cmp.Compare(number(one.id()), number(other.id())) })
	g.beds[r.URL.Path] = bed
	a := g.show(http.StatusCreated, created, true)
	a.header.Set("Location", r.URL.Path+"/"+created.id())
	return a
}

// fill gives members their defaults.
func (g *garden) fill(members map[string]any) {
	for name, value := range g.defaults {
		members[name] = cmp.Or(members[name], value)
	}
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // of a text it is 0
	return n
}

// show is a response with something planted, which may have changed.
func (g *garden) show(code int, p *planted, isChanged bool) *answer {
	if isChanged {
		g.versions++
		p.version = g.versions
	}
	return &answer{code, http.Header{"Etag": {p.etag()}}, maps.Clone(p.members)}
}

// onOne reads, changes or deletes one thing, if the condition of the request holds.
func (g *garden) onOne(names []string, r *http.Request) *answer {
	bed, found := g.find(names)
	if found == nil {
		return status(http.StatusNotFound)
	}
	matches := func(header string) bool {
		value := r.Header.Get(header)
		return value == "*" || slices.Contains(strings.Split(value, ", "), found.etag())
	}
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case r.Header.Get("If-Match") != "" && !matches("If-Match"):
		return status(http.StatusPreconditionFailed)
	case matches("If-None-Match") && isRead:
		return &answer{http.StatusNotModified, http.Header{"Etag": {found.etag()}}, nil}
	case matches("If-None-Match"):
		return status(http.StatusPreconditionFailed)
	case isRead:
		return g.show(http.StatusOK, found, false)
	case r.Method == http.MethodDelete:
		g.beds[bed] = slices.DeleteFunc(slices.Clone(g.beds[bed]), func(p *planted) bool { return p == found })
		return status(http.StatusNoContent)
	}
	members := map[string]any{}
	decoder := json.NewDecoder(r.Body)
	decoder.UseNumber()
	if decoder.Decode(&members) != nil || members == nil {
		return status(http.StatusBadRequest)
	}
	id := found.members["id"]
	if r.Method == http.MethodPut {
		found.members = map[string]any{}
		g.fill(members)
	}
	maps.Copy(found.members, members)
	found.members["id"] = id
	return g.show(http.StatusOK, found, true)
}

// pageParameters select no items.
var pageParameters = []string{"limit", "after", "offset", "page", "cursor"}

// selected are the things in a bed that a query selects, if it is not about pages.
func (g *garden) selected(r *http.Request) (all []*planted) {
	for _, p := range g.beds[strings.TrimSuffix(r.URL.Path, "/count")] {
		isSelected := true
		for name, values := range r.URL.Query() {
			isPage := slices.Contains(pageParameters, name)
			isSelected = isSelected && (isPage || has(p.members[name], values[0]))
		}
		if isSelected {
			all = append(all, p)
		}
	}
	return all
}

// has reports whether a member is a value, or an array with it.
func has(member any, value string) bool {
	if array, isArray := member.([]any); isArray {
		return slices.ContainsFunc(array, func(item any) bool { return has(item, value) })
	}
	return fmt.Sprint(member) == value
}

// list responds with a page: the one after an id or a cursor, behind an offset, or with a number.
func (g *garden) list(r *http.Request) *answer {
	query := r.URL.Query()
	all := g.selected(r)
	limit := cmp.Or(number(query.Get("limit")), 10)
	from := number(query.Get("offset")) + number(strings.TrimPrefix(query.Get("cursor"), "c"))
	switch page := number(query.Get("page")); {
	case g.fromZero:
		from = page * limit
	case page > 0:
		from = (page - 1) * limit
	}
	if query.Has("after") {
		from = len(all)
		if i := slices.IndexFunc(all, func(p *planted) bool { return number(p.id()) > number(query.Get("after")) }); i >= 0 {
			from = i
		}
	}
	limit = max(limit, 1)
	from = min(max(from, 0), len(all))
	to := min(from+limit, len(all))
	items := []any{}
	for _, p := range all[from:to] {
		items = append(items, maps.Clone(p.members))
	}
	a := &answer{http.StatusOK, http.Header{}, items}
	next := "c" + strconv.Itoa(to)
	query.Set("cursor", next)
	for _, other := range []string{"after", "offset", "page"} {
		query.Del(other)
	}
	address := r.URL.Path + "?" + query.Encode()
	switch hasMore := to < len(all); {
	case !hasMore:
		next = ""
	case g.links:
		a.header.Set("Link", fmt.Sprintf("<%s>; rel=\"next\"", address))
	case g.leads:
		next = address
	}
	if g.items != "" {
		a.body = map[string]any{g.items: items, "next": next}
	}
	return a
}
