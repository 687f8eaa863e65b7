package plan_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// How the faults of a garden are made.

// method lets a request be another one.
func method(name string) func(*garden, *http.Request) {
	return func(_ *garden, r *http.Request) { r.Method = name }
}

// value replaces a header or a parameter of a request, if it has that; an empty one is none.
func value(name string, change func(string) string) func(*garden, *http.Request) {
	return func(_ *garden, r *http.Request) {
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

// is is a value that replaces another one, or any.
func is(old, new string) func(string) string {
	return func(text string) string {
		if old == "any" || old == text {
			return new
		}
		return text
	}
}

// without takes a header or a parameter out of a request.
func without(name string) func(*garden, *http.Request) { return value(name, is("any", "")) }

// given gives a request a parameter that it does not have.
func given(pair string) func(*garden, *http.Request) {
	return func(_ *garden, r *http.Request) {
		if name, _, _ := strings.Cut(pair, "="); !r.URL.Query().Has(name) {
			r.URL.RawQuery += "&" + pair
		}
	}
}

// body changes the body of a request.
func body(change func(string) string) func(*garden, *http.Request) {
	return func(_ *garden, r *http.Request) {
		text, _ := io.ReadAll(r.Body) // from memory
		r.Body = io.NopCloser(strings.NewReader(change(string(text))))
	}
}

// everything changes all that is planted.
func everything(change func(p *planted)) func(*garden, *http.Request) {
	return func(g *garden, _ *http.Request) {
		for _, bed := range g.beds {
			for _, p := range bed {
				change(p)
			}
		}
	}
}

func recolor(p *planted) { p.members["color"] = fmt.Sprint(p.members["color"], "x") }

// plant plants a pot.
func plant(g *garden, id any) {
	g.beds["/pots"] = append(g.beds["/pots"], &planted{members: map[string]any{"id": id, "color": "red", "size": 3000, "note": "n"}})
}

// answers lets a response have another status.
func answers(code int) func(*http.Request, *answer) {
	return func(_ *http.Request, a *answer) { *a = *status(code) }
}

// found responds with a pot where there is none.
func found(_ *http.Request, a *answer) {
	if a.status == http.StatusNotFound {
		*a = answer{http.StatusOK, http.Header{"Etag": {`"v"`}}, map[string]any{"id": 7, "color": "red", "size": 3000}}
	}
}

// emptyPage takes the items off the pages after the first one. Link leads on from them, but not for ever.
func emptyPage(r *http.Request, a *answer) {
	query := r.URL.Query()
	cursor := query.Get("cursor")
	items, isList := a.body.([]any)
	switch {
	case !isList || cursor == "":
	case strings.HasSuffix(cursor, "xxx"):
		a.header.Del("Link")
	default:
		a.body = items[:0]
		query.Set("cursor", cursor+"x")
		a.header.Set("Link", fmt.Sprintf("<%s?%s>; rel=\"next\"", r.URL.Path, query.Encode()))
	}
}

// member gives the object in a response a member.
func member(name string, value any) func(*http.Request, *answer) {
	return func(_ *http.Request, a *answer) {
		if object, is := a.body.(map[string]any); is {
			object[name] = value
		}
	}
}

// header gives a response a header, in which %s is what it has; an empty one is none.
func header(name, value string) func(*http.Request, *answer) {
	return func(_ *http.Request, a *answer) {
		if a.status < http.StatusBadRequest {
			old := a.header.Get(name)
			a.header.Del(name)
			if value != "" {
				a.header.Set(name, strings.Replace(value, "%s", old, 1))
			}
		}
	}
}

// items changes the items of a list.
func items(change func([]any) []any) func(*http.Request, *answer) {
	return func(_ *http.Request, a *answer) {
		if all, isList := a.body.([]any); isList {
			a.body = change(all)
		}
	}
}

// renamed shows other notes of items.
func renamed(_ *http.Request, a *answer) {
	if object, is := a.body.(map[string]any); is {
		for _, item := range object["items"].([]any) {
			item.(map[string]any)["note"] = "n"
		}
	}
}

// untagged leaves the tags out of items.
func untagged(all []any) []any {
	for _, item := range all {
		delete(item.(map[string]any), "tags")
	}
	return all
}

// absolute makes the reference to the next page a whole URL.
func absolute(_ *http.Request, a *answer) {
	object, _ := a.body.(map[string]any)
	if next, _ := object["next"].(string); next != "" {
		object["next"] = base + next
	}
}

// marksDeleted keeps what is deleted, and finds it no more.
func marksDeleted(g *garden, r *http.Request) {
	_, p := g.find(strings.Split(strings.Trim(r.URL.Path, "/"), "/"))
	if p == nil {
		return
	}
	if r.Method == http.MethodDelete {
		p.version = -1
		r.Method = http.MethodHead
	} else if p.version < 0 {
		r.URL.Path = "/plains/0"
	}
}

func deleted(r *http.Request, a *answer) {
	if r.Method == http.MethodHead {
		*a = *status(http.StatusNoContent)
	}
}

// bare responds with the items alone.
func bare(_ *http.Request, a *answer) {
	if object, is := a.body.(map[string]any); is {
		a.body = object["items"]
	}
}

// noted shows other notes of items, each of which may depend on its place.
func noted(note func(i int, all []any) any) func(*http.Request, *answer) {
	return items(func(all []any) []any {
		for i, item := range all {
			item.(map[string]any)["note"] = note(i, all)
		}
		return all
	})
}

func butLast(all []any) []any { return all[:max(len(all)-1, 0)] }
func none([]any) []any        { return []any{} }
func twice(all []any) []any   { return append(all, all...) }

// replacing removes what a create is in the way of.
func replacing(g *garden, r *http.Request) {
	body(func(text string) string {
		id := idIn(text)
		g.beds["/pots"] = slices.DeleteFunc(g.beds["/pots"], func(p *planted) bool { return p.id() == id })
		return text
	})(g, r)
}

// overwriting changes what a create is in the way of. The garden refuses the create itself.
func overwriting(g *garden, r *http.Request) {
	body(func(text string) string {
		id := idIn(text)
		for _, p := range g.beds["/pots"] {
			if p.id() == id {
				recolor(p)
			}
		}
		return text
	})(g, r)
}

// idIn is the identity in the body of a create.
func idIn(text string) string { return regexp.MustCompile(`"id":(\d+)`).FindStringSubmatch(text)[1] }

// cached keeps what was there before the first write, and lists that.
func cached(g *garden, r *http.Request) {
	isList := r.URL.Path == "/pots" && r.Method == http.MethodGet
	switch {
	case isList && g.beds["/old"] != nil:
		r.URL.Path = "/old"
	case r.Method == http.MethodPut || r.Method == http.MethodDelete:
		for _, p := range g.beds["/pots"] {
			g.beds["/old"] = append(g.beds["/old"], &planted{members: maps.Clone(p.members)})
		}
	}
}

// anywhere finds the last thing of a path in whatever bed it is.
func anywhere(g *garden, r *http.Request) {
	names := strings.Split(r.URL.Path, "/")
	for bed, all := range g.beds {
		for _, p := range all {
			if strings.Count(bed, "/") == 3 && p.id() == names[4] {
				r.URL.Path = strings.Join(append([]string{bed}, names[4:]...), "/")
			}
		}
	}
}

// together lists the plants of all pots.
func together(g *garden, r *http.Request) {
	var all []*planted
	for bed, plants := range g.beds {
		if strings.Count(bed, "/") == 3 {
			all = append(all, plants...)
		}
	}
	g.beds[r.URL.Path] = all
}

// writes lets a write through whose condition does not hold, and writeRefused refuses it then.
func writes(g *garden, r *http.Request) {
	_, p := g.find(strings.Split(strings.Trim(r.URL.Path, "/"), "/"))
	condition := r.Header.Get("If-Match")
	if holds := p != nil && (condition == "*" || strings.Contains(condition, p.etag())); condition != "" && !holds {
		r.Header.Del("If-Match")
		r.Header.Set("X-Refused", "yes")
	}
}

func writeRefused(r *http.Request, a *answer) {
	if r.Header.Get("X-Refused") != "" {
		*a = *status(http.StatusPreconditionFailed)
	}
}

// creates lets a PUT with a condition create what does not exist.
func creates(g *garden, r *http.Request) {
	names := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	isWanted := r.Header.Get("If-Match")+r.Header.Get("If-None-Match") == "*"
	if _, p := g.find(names); p == nil && isWanted {
		plant(g, number(names[1]))
		r.Header.Del("If-Match")
		r.Header.Del("If-None-Match")
		r.Header.Set("X-Refused", "yes")
	}
}
