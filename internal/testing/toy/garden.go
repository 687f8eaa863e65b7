// Package toy is the service on which the tests of the contract engine run, where they need no particular one. A [Garden]
// is a right service of many documents: what it stores, and where, the paths of requests say. A [Fault] makes it a wrong
// one. faults.go has what faults are made of.
//
// A garden judges no request: it is for documents whose tests need no refusals, or stands behind what judges them.
package toy

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

// Garden is a right service: it stores things at any path, also below other things, and lists them in the order of their
// ids.
type Garden struct {
	Habits
	Beds     map[string][]*Planted // by the path of the list
	Last     int                   // the last id
	Versions int

	mu sync.Mutex
}

// Habits are what right services do differently.
type Habits struct {
	Assigns  bool            // it chooses the ids
	NewID    func(n int) any // the id that it chooses; nil: n
	Name     string          // the member with the id; empty: id
	Counts   string          // the member with the version; empty: none
	Newest   bool            // a list begins with what was created last
	Puts     bool            // a PUT creates what is not there
	Sets     map[string]any  // members that it sets in each create
	Defaults map[string]any  // of what a create or a replacement leaves out
	Items    string          // the member of a list with its items; empty: the list is an array
	Leads    bool            // the member next of a list is the URL of the next page, and not a cursor
	Links    bool            // a list has Link
	Limit    int             // how many items a page has if the request does not say it; 0: 10
	FromZero bool            // the first page of a list is 0, and not 1
}

// New returns an empty garden.
func New(with Habits) *Garden {
	with.Name = cmp.Or(with.Name, "id")
	return &Garden{Habits: with, Beds: map[string][]*Planted{}, Last: 1000}
}

// Planted is something in a garden.
type Planted struct {
	ID      string
	Members map[string]any
	Version int
}

// ETag is that of the version.
func (p *Planted) ETag() string { return fmt.Sprintf(`"v%06d"`, p.Version) }

// Response is a response before it is written, so that a fault can change it.
type Response struct {
	Status int
	Header http.Header
	Body   any // nil: none
}

// Write writes the response.
func (a *Response) Write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.Header)
	if a.Body != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.Status)
	if a.Body != nil {
		text, _ := json.Marshal(a.Body) // of JSON
		_, _ = w.Write(text)            // into memory
	}
}

// Status is a response without a body.
func Status(code int) *Response { return &Response{Status: code, Header: http.Header{}} }

func (g *Garden) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.Respond(r).Write(w) }

// Respond responds to a request: /pots is a bed, /pots/7 what is planted there, /pots/7/plants a bed below it.
func (g *Garden) Respond(r *http.Request) *Response {
	g.mu.Lock()
	defer g.mu.Unlock()
	names := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for i := 2; i < len(names); i += 2 {
		if _, above := g.Find(names[:i]); above == nil {
			return Status(http.StatusNotFound)
		}
	}
	last := names[len(names)-1]
	switch {
	case last == "count":
		return &Response{http.StatusOK, http.Header{}, map[string]any{"count": len(g.selected(r))}}
	case last == "water" || last == "pin":
		return Status(http.StatusNoContent)
	case len(names)%2 == 0:
		return g.onOne(names, r)
	case r.Method == http.MethodPost:
		return g.create(r)
	}
	return g.list(r)
}

// Find finds what a path names, and returns the bed that it is in.
func (g *Garden) Find(names []string) (bed string, found *Planted) {
	bed = "/" + strings.Join(names[:len(names)-1], "/")
	i := slices.IndexFunc(g.Beds[bed], func(p *Planted) bool { return p.ID == names[len(names)-1] })
	if i < 0 {
		return bed, nil
	}
	return bed, g.Beds[bed][i]
}

func (g *Garden) create(r *http.Request) *Response {
	members := membersIn(r)
	if members == nil {
		return Status(http.StatusBadRequest)
	}
	if g.Assigns {
		g.Last++
		members[g.Name] = g.Last
	}
	if g.NewID != nil {
		members[g.Name] = g.NewID(g.Last)
	}
	g.fill(members)
	bed := "/" + strings.Trim(r.URL.Path, "/")
	created := &Planted{ID: fmt.Sprint(members[g.Name]), Members: members}
	if _, other := g.Find(strings.Split(bed[1:]+"/"+created.ID, "/")); other != nil {
		return Status(http.StatusConflict)
	}
	return g.plant(bed, created)
}

// createAt creates what a PUT names, unless that must be there.
func (g *Garden) createAt(bed, id string, r *http.Request) *Response {
	members := membersIn(r)
	switch {
	case r.Header.Get("If-Match") != "":
		return Status(http.StatusPreconditionFailed)
	case members == nil:
		return Status(http.StatusBadRequest)
	}
	return g.plant(bed, &Planted{ID: id, Members: members})
}

// plant responds with something that is there from now on.
func (g *Garden) plant(bed string, created *Planted) *Response {
	all := append(g.Beds[bed], created)
	slices.SortStableFunc(all, func(one, other *Planted) int { return compareIDs(one.ID, other.ID) })
	g.Beds[bed] = all
	a := g.show(http.StatusCreated, created, true)
	a.Header.Set("Location", bed+"/"+created.ID)
	return a
}

// compareIDs has numbers in their order, and texts in theirs.
func compareIDs(one, other string) int {
	return cmp.Or(cmp.Compare(Number(one), Number(other)), strings.Compare(one, other))
}

// membersIn are those of the object in a request, or nil.
func membersIn(r *http.Request) (members map[string]any) {
	decoder := json.NewDecoder(r.Body)
	decoder.UseNumber()
	if decoder.Decode(&members) != nil {
		return nil
	}
	return members
}

// fill gives members what the service sets itself, and their defaults.
func (g *Garden) fill(members map[string]any) {
	maps.Copy(members, g.Sets)
	for name, value := range g.Defaults {
		members[name] = cmp.Or(members[name], value)
	}
}

// Number is the number that a text is, or 0.
func Number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// show is a response with something planted, which may have changed.
func (g *Garden) show(code int, p *Planted, isChanged bool) *Response {
	if isChanged {
		g.Versions++
		p.Version = g.Versions
	}
	members := maps.Clone(p.Members)
	if g.Counts != "" {
		members[g.Counts] = p.Version
	}
	return &Response{code, http.Header{"Etag": {p.ETag()}}, members}
}

// onOne reads, changes or deletes one thing, if the condition of the request holds.
func (g *Garden) onOne(names []string, r *http.Request) *Response {
	bed, found := g.Find(names)
	isNew := found == nil && g.Puts && r.Method == http.MethodPut
	if isNew {
		return g.createAt(bed, names[len(names)-1], r)
	}
	if found == nil {
		return Status(http.StatusNotFound)
	}
	matches := func(header string) bool {
		value := r.Header.Get(header)
		return value == "*" || slices.Contains(strings.Split(value, ", "), found.ETag())
	}
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case r.Header.Get("If-Match") != "" && !matches("If-Match"):
		return Status(http.StatusPreconditionFailed)
	case matches("If-None-Match") && isRead:
		return &Response{http.StatusNotModified, http.Header{"Etag": {found.ETag()}}, nil}
	case matches("If-None-Match"):
		return Status(http.StatusPreconditionFailed)
	case isRead:
		return g.show(http.StatusOK, found, false)
	case r.Method == http.MethodDelete:
		g.Beds[bed] = slices.DeleteFunc(slices.Clone(g.Beds[bed]), func(p *Planted) bool { return p == found })
		return Status(http.StatusNoContent)
	}
	members := membersIn(r)
	if members == nil {
		return Status(http.StatusBadRequest)
	}
	id, hasID := found.Members[g.Name]
	if r.Method == http.MethodPut {
		found.Members = map[string]any{}
		g.fill(members)
	}
	maps.Copy(found.Members, members)
	if hasID {
		found.Members[g.Name] = id
	}
	return g.show(http.StatusOK, found, true)
}

// pageParameters select no items.
var pageParameters = []string{"limit", "after", "offset", "page", "cursor"}

// selected are the things in a bed that a query selects, if it is not about pages.
func (g *Garden) selected(r *http.Request) (all []*Planted) {
	for _, p := range g.Beds[strings.TrimSuffix(r.URL.Path, "/count")] {
		isSelected := true
		for name, values := range r.URL.Query() {
			isPage := slices.Contains(pageParameters, name)
			isSelected = isSelected && (isPage || has(p.Members[name], values[0]))
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
func (g *Garden) list(r *http.Request) *Response {
	query := r.URL.Query()
	all := g.selected(r)
	if g.Newest {
		slices.Reverse(all)
	}
	limit := cmp.Or(Number(query.Get("limit")), g.Limit, 10)
	from := Number(query.Get("offset")) + Number(strings.TrimPrefix(query.Get("cursor"), "c"))
	switch page := Number(query.Get("page")); {
	case g.FromZero:
		from = page * limit
	case page > 0:
		from = (page - 1) * limit
	}
	if query.Has("after") {
		from = len(all)
		if i := slices.IndexFunc(all, func(p *Planted) bool { return compareIDs(p.ID, query.Get("after")) > 0 }); i >= 0 {
			from = i
		}
	}
	limit = max(limit, 1)
	from = min(max(from, 0), len(all))
	to := min(from+limit, len(all))
	items := []any{}
	for _, p := range all[from:to] {
		items = append(items, maps.Clone(p.Members))
	}
	a := &Response{http.StatusOK, http.Header{}, items}
	next := "c" + strconv.Itoa(to)
	query.Set("cursor", next)
	for _, other := range []string{"after", "offset", "page"} {
		query.Del(other)
	}
	address := r.URL.Path + "?" + query.Encode()
	switch hasMore := to < len(all); {
	case !hasMore:
		next = ""
	case g.Links:
		a.Header.Set("Link", fmt.Sprintf("<%s>; rel=\"next\"", address))
	case g.Leads:
		next = address
	}
	if g.Items != "" {
		a.Body = map[string]any{g.Items: items, "next": next}
	}
	return a
}
