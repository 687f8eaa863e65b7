package toy

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Fault is what is wrong with a garden: it changes requests before the garden sees them, or responses after.
type Fault struct {
	At     string // a pattern of what it changes, as in "GET /pots/"; empty: all
	Before func(g *Garden, r *http.Request)
	After  func(r *http.Request, a *Response)
}

// RespondWith responds with a fault.
func (g *Garden) RespondWith(f Fault, r *http.Request) *Response {
	isMeant := regexp.MustCompile(f.At).MatchString(r.Method + " " + r.URL.RequestURI())
	if isMeant && f.Before != nil {
		g.mu.Lock()
		f.Before(g, r)
		g.mu.Unlock()
	}
	a := g.Respond(r)
	if isMeant && f.After != nil {
		f.After(r, a)
	}
	return a
}

// What faults are made of: first changes of a request.

// Method lets a request be another one.
func Method(name string) func(*Garden, *http.Request) {
	return func(_ *Garden, r *http.Request) { r.Method = name }
}

// Value replaces a header or a parameter of a request, if it has that; an empty one is none.
func Value(name string, change func(string) string) func(*Garden, *http.Request) {
	return func(_ *Garden, r *http.Request) {
		if old := r.Header.Get(name); old != "" {
			r.Header.Set(name, change(old))
		}
		query := r.URL.Query()
		if old := query.Get(name); old != "" {
			query.Set(name, change(old))
			if query.Get(name) == "" {
				query.Del(name)
			}
			r.URL.RawQuery = query.Encode()
		}
	}
}

// Is is a value that replaces another one, or any.
func Is(old, new string) func(string) string {
	return func(text string) string {
		if old == "any" || old == text {
			return new
		}
		return text
	}
}

// Without takes a header or a parameter out of a request.
func Without(name string) func(*Garden, *http.Request) { return Value(name, Is("any", "")) }

// Given gives a request a parameter that it does not have.
func Given(pair string) func(*Garden, *http.Request) {
	return func(_ *Garden, r *http.Request) {
		if name, _, _ := strings.Cut(pair, "="); !r.URL.Query().Has(name) {
			r.URL.RawQuery += "&" + pair
		}
	}
}

// Body changes the body of a request.
func Body(change func(string) string) func(*Garden, *http.Request) {
	return func(_ *Garden, r *http.Request) {
		text, _ := io.ReadAll(r.Body) // from memory
		r.Body = io.NopCloser(strings.NewReader(change(string(text))))
	}
}

// Everything changes all that is planted.
func Everything(change func(p *Planted)) func(*Garden, *http.Request) {
	return func(g *Garden, _ *http.Request) {
		for _, bed := range g.Beds {
			for _, p := range bed {
				change(p)
			}
		}
	}
}

// Recolor gives something another color.
func Recolor(p *Planted) { p.Members["color"] = fmt.Sprint(p.Members["color"], "x") }

// PlantPot plants a pot.
func PlantPot(g *Garden, id any) {
	g.Beds["/pots"] = append(g.Beds["/pots"], &Planted{ID: fmt.Sprint(id), Members: map[string]any{"id": id, "color": "red", "size": 3000, "note": "n"}})
}

// Responds lets a response have another status.
func Responds(code int) func(*http.Request, *Response) {
	return func(_ *http.Request, a *Response) { *a = *Status(code) }
}

// FindAll responds with a pot where there is none.
func FindAll(_ *http.Request, a *Response) {
	if a.Status == http.StatusNotFound {
		*a = Response{http.StatusOK, http.Header{"Etag": {`"v"`}}, map[string]any{"id": 7, "color": "red", "size": 3000}}
	}
}

// EmptyPage takes the items off the pages after the first one. Link leads on from them, but not for ever.
func EmptyPage(r *http.Request, a *Response) {
	query := r.URL.Query()
	cursor := query.Get("cursor")
	items, isList := a.Body.([]any)
	switch {
	case !isList || cursor == "":
	case strings.HasSuffix(cursor, "xxx"):
		a.Header.Del("Link")
	default:
		a.Body = items[:0]
		query.Set("cursor", cursor+"x")
		a.Header.Set("Link", fmt.Sprintf("<%s?%s>; rel=\"next\"", r.URL.Path, query.Encode()))
	}
}

// Member gives the object in a response a member.
func Member(name string, value any) func(*http.Request, *Response) {
	return func(_ *http.Request, a *Response) {
		if object, is := a.Body.(map[string]any); is {
			object[name] = value
		}
	}
}

// Header gives a response a header, in which %s is what it has; an empty one is none.
func Header(name, value string) func(*http.Request, *Response) {
	return func(_ *http.Request, a *Response) {
		if a.Status < http.StatusBadRequest {
			old := a.Header.Get(name)
			a.Header.Del(name)
			if value != "" {
				a.Header.Set(name, strings.Replace(value, "%s", old, 1))
			}
		}
	}
}

// Items changes the items of a list.
func Items(change func([]any) []any) func(*http.Request, *Response) {
	return func(_ *http.Request, a *Response) {
		if all, isList := a.Body.([]any); isList {
			a.Body = change(all)
		}
	}
}

// Renamed shows other notes of items.
func Renamed(_ *http.Request, a *Response) {
	if object, is := a.Body.(map[string]any); is {
		for _, item := range object["items"].([]any) {
			item.(map[string]any)["note"] = "n"
		}
	}
}

// Untagged leaves the tags out of items.
func Untagged(all []any) []any {
	for _, item := range all {
		delete(item.(map[string]any), "tags")
	}
	return all
}

// Absolute makes the reference to the next page a whole URL.
func Absolute(r *http.Request, a *Response) {
	object, _ := a.Body.(map[string]any)
	if next, _ := object["next"].(string); next != "" {
		object["next"] = r.URL.Scheme + "://" + r.URL.Host + next
	}
}

// MarksDeleted keeps what is deleted, and finds it no more.
func MarksDeleted(g *Garden, r *http.Request) {
	_, p := g.Find(strings.Split(strings.Trim(r.URL.Path, "/"), "/"))
	if p == nil {
		return
	}
	if r.Method == http.MethodDelete {
		p.Version = -1
		r.Method = http.MethodHead
	} else if p.Version < 0 {
		r.URL.Path = "/plains/0"
	}
}

// Deleted hides that MarksDeleted has let a deletion be another request.
func Deleted(r *http.Request, a *Response) {
	if r.Method == http.MethodHead {
		*a = *Status(http.StatusNoContent)
	}
}

// Bare responds with the items alone.
func Bare(_ *http.Request, a *Response) {
	if object, is := a.Body.(map[string]any); is {
		a.Body = object["items"]
	}
}

// Noted shows other notes of items, each of which may depend on its place.
func Noted(note func(i int, all []any) any) func(*http.Request, *Response) {
	return Items(func(all []any) []any {
		for i, item := range all {
			item.(map[string]any)["note"] = note(i, all)
		}
		return all
	})
}

// ButLast leaves the last item out.
func ButLast(all []any) []any { return all[:max(len(all)-1, 0)] }

// None leaves all items out.
func None([]any) []any { return []any{} }

// Twice has all items twice.
func Twice(all []any) []any { return append(all, all...) }

// Replacing removes what a create is in the way of.
func Replacing(g *Garden, r *http.Request) {
	Body(func(text string) string {
		id := idIn(text)
		g.Beds["/pots"] = slices.DeleteFunc(g.Beds["/pots"], func(p *Planted) bool { return p.ID == id })
		return text
	})(g, r)
}

// Overwriting changes what a create is in the way of. The garden refuses the create itself.
func Overwriting(g *Garden, r *http.Request) {
	Body(func(text string) string {
		id := idIn(text)
		for _, p := range g.Beds["/pots"] {
			if p.ID == id {
				Recolor(p)
			}
		}
		return text
	})(g, r)
}

// idIn is the identity in the body of a create.
func idIn(text string) string { return regexp.MustCompile(`"id":(\d+)`).FindStringSubmatch(text)[1] }

// Cached keeps what was there before the first write, and lists that.
func Cached(g *Garden, r *http.Request) {
	isList := r.URL.Path == "/pots" && r.Method == http.MethodGet
	switch {
	case isList && g.Beds["/old"] != nil:
		r.URL.Path = "/old"
	case r.Method == http.MethodPut || r.Method == http.MethodDelete:
		for _, p := range g.Beds["/pots"] {
			g.Beds["/old"] = append(g.Beds["/old"], &Planted{ID: p.ID, Members: maps.Clone(p.Members)})
		}
	}
}

// Anywhere finds the last thing of a path in whatever bed it is.
func Anywhere(g *Garden, r *http.Request) {
	names := strings.Split(r.URL.Path, "/")
	for bed, all := range g.Beds {
		for _, p := range all {
			if strings.Count(bed, "/") == 3 && p.ID == names[4] {
				r.URL.Path = strings.Join(append([]string{bed}, names[4:]...), "/")
			}
		}
	}
}

// Together lists the plants of all pots.
func Together(g *Garden, r *http.Request) {
	var all []*Planted
	for bed, plants := range g.Beds {
		if strings.Count(bed, "/") == 3 {
			all = slices.Concat(all, slices.DeleteFunc(slices.Clone(plants), func(p *Planted) bool { return slices.Contains(all, p) }))
		}
	}
	g.Beds[r.URL.Path] = all
}

// Writes lets a write through whose condition does not hold, and writeRefused refuses it then.
func Writes(g *Garden, r *http.Request) {
	_, p := g.Find(strings.Split(strings.Trim(r.URL.Path, "/"), "/"))
	condition := r.Header.Get("If-Match")
	if holds := p != nil && (condition == "*" || strings.Contains(condition, p.ETag())); condition != "" && !holds {
		r.Header.Del("If-Match")
		r.Header.Set("X-Refused", "yes")
	}
}

// WriteRefused refuses what Writes or Creates has let through.
func WriteRefused(r *http.Request, a *Response) {
	if r.Header.Get("X-Refused") != "" {
		*a = *Status(http.StatusPreconditionFailed)
	}
}

// Creates lets a PUT with a condition create what does not exist.
func Creates(g *Garden, r *http.Request) {
	names := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	isWanted := r.Header.Get("If-Match")+r.Header.Get("If-None-Match") == "*"
	if _, p := g.Find(names); p == nil && isWanted {
		PlantPot(g, Number(names[1]))
		r.Header.Del("If-Match")
		r.Header.Del("If-None-Match")
		r.Header.Set("X-Refused", "yes")
	}
}
