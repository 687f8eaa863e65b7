package contracttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// workshop is a service of testdata/workshop.yaml with one flaw, or none. Its habits are
// those of right services that differ.
type workshop struct {
	flaw   string
	habits []string

	last, version  int
	tools, shelves *collection
	notes          *collection
	cached         map[string]object
	deletedCodes   map[string]bool
}

type object = map[string]any

// collection is a map that knows in which order its members were added.
type collection struct {
	order []string
	of    map[string]object
}

func newCollection() *collection { return &collection{of: map[string]object{}} }

func (c *collection) put(id string, o object) {
	if c.of[id] == nil {
		c.order = append(c.order, id)
	}
	c.of[id] = o
}

func (c *collection) remove(id string) {
	delete(c.of, id)
	c.order = slices.DeleteFunc(c.order, func(other string) bool { return other == id })
}

func (c *collection) all() (all []object) {
	for _, id := range c.order {
		all = append(all, c.of[id])
	}
	return all
}

func (w *workshop) is(flaw string) bool    { return w.flaw == flaw }
func (w *workshop) does(habit string) bool { return slices.Contains(w.habits, habit) }

func newWorkshop(c *Contract, flaw string, habits ...string) *service {
	w := &workshop{
		flaw: flaw, habits: habits, tools: newCollection(), shelves: newCollection(), notes: newCollection(),
		cached: map[string]object{}, deletedCodes: map[string]bool{},
	}
	return &service{contract: c, credentials: Credentials{}, failure: workshopProblem, respond: map[string]func(call) *reply{
		"createTool": w.createTool, "listTools": w.listTools, "getTool": w.tool(w.getTool), "replaceTool": w.tool(w.replaceTool),
		"changeTool": w.tool(w.changeTool), "deleteTool": w.deleteTool,
		"createShelf": w.createShelf, "listShelves": w.listShelves, "getShelf": w.getShelf, "replaceShelf": w.replaceShelf, "deleteShelf": w.deleteShelf,
		"listNotes": w.listNotes, "getNote": w.getNote, "putNote": w.putNote, "deleteNote": w.deleteNote,
	}}
}

func workshopProblem(status int) *reply {
	return newReply(status, object{"problem": http.StatusText(status)})
}

// only are the members of an object with these names.
func only(o object, names ...string) object {
	kept := object{}
	for _, name := range names {
		if value, there := o[name]; there {
			kept[name] = value
		}
	}
	return kept
}

var toolMembers = []string{"name", "kind", "price", "note", "labels"}

func (w *workshop) store(id string, o object) object {
	w.version++
	o["version"] = w.version
	if w.does("trims and lowers names") {
		o["name"] = strings.ToLower(strings.TrimSpace(fmt.Sprint(o["name"])))
	}
	if w.does("has values for what is absent") {
		maps.Copy(o, object{"note": cmpOr(o["note"], ""), "labels": cmpOr(o["labels"], []any{}), "price": cmpOr(o["price"], json.Number("9.50"))})
	}
	w.tools.put(id, o)
	return o
}

func cmpOr(value, other any) any {
	if value == nil {
		return other
	}
	return value
}

// shown is a tool as responses have it.
func (w *workshop) shown(o object) object {
	shown := only(o, append([]string{"id", "created_at"}, toolMembers...)...)
	if w.is("a number as text") {
		shown["price"] = fmt.Sprint(shown["price"])
	}
	if w.is("created_at has no zone") {
		shown["created_at"] = "2026-11-20T09:00:00"
	}
	if w.does("writes numbers in another way") && shown["price"] != nil {
		if f, err := json.Number(fmt.Sprint(shown["price"])).Float64(); err == nil {
			shown["price"] = json.Number(strconv.FormatFloat(f, 'e', -1, 64))
		}
	}
	return shown
}

func (w *workshop) tag(o object) string {
	tag := fmt.Sprintf(`"v%v"`, o["version"])
	if w.does("has weak ETags") {
		tag = "W/" + tag
	}
	return tag
}

func (w *workshop) replyWith(o object) *reply {
	r := newReply(200, w.shown(o))
	r.header.Set("ETag", w.tag(o))
	return r
}

func (w *workshop) createTool(q call) *reply {
	o := only(q.body, toolMembers...)
	if w.last++; w.is("an id is that of another tool") {
		w.last = len(w.tools.of) + 1
	}
	id := strconv.Itoa(w.last)
	o["id"], o["created_at"] = json.Number(id), "2026-11-20T09:00:00Z"
	if w.is("a create ignores a member") {
		delete(o, "note")
	}
	if w.store(id, o); w.is("what is created is lost") {
		w.tools.remove(id)
	}
	r := newReply(201, w.shown(o))
	r.header.Set("Location", "/tools/"+id)
	switch {
	case w.is("no Location"):
		r.header.Del("Location")
	case w.is("Location leads nowhere"):
		r.header.Set("Location", "/tool/"+id)
	case w.is("Location of another tool"):
		r.header.Set("Location", "/tools/1")
	case w.does("has a public address"):
		r.header.Set("Location", "https://workshop.example/tools/"+id)
	}
	return r
}

// tool responds for a tool that exists.
func (w *workshop) tool(then func(call, object) *reply) func(call) *reply {
	return func(q call) *reply {
		o := w.tools.of[q.id]
		switch {
		case q.Method == "GET" && w.is("a read shows another tool") && o != nil:
			o = w.tools.of[w.tools.order[0]]
		case o == nil && w.is("what does not exist is read") && q.Method == "GET":
			return w.replyWith(object{"id": json.Number(q.id), "name": "none", "kind": "saw", "created_at": "2026-11-20T09:00:00Z"})
		case o == nil:
			return workshopProblem(404)
		}
		return then(q, o)
	}
}

func (w *workshop) getTool(q call, o object) *reply {
	if old := w.cached[q.id]; old != nil && w.is("a read is stale") {
		o = old
	}
	w.cached[q.id] = o
	if o["deleted"] != nil && !w.is("a deletion is not seen by reads") {
		return workshopProblem(404)
	}
	tag := w.tag(o)
	if sent := q.Header.Get("If-None-Match"); (sent == "*" || strings.Contains(sent, tag)) && !w.is("If-None-Match is ignored") {
		r := newReply(304, nil)
		r.header.Set("ETag", tag)
		return r
	}
	return w.replyWith(o)
}

func (w *workshop) refused(q call, o object, flaw string) bool {
	sent := q.Header.Get("If-Match")
	if sent == "" && w.does("needs If-Match") {
		return true
	}
	return sent != "" && sent != "*" && (!strings.Contains(sent, w.tag(o)) || strings.HasPrefix(w.tag(o), "W/")) && !w.is(flaw)
}

func (w *workshop) replaceTool(q call, o object) *reply {
	if w.refused(q, o, "PUT ignores If-Match") {
		return workshopProblem(412)
	}
	put := only(q.body, toolMembers...)
	if w.is("PUT merges") {
		merged := maps.Clone(o)
		maps.Copy(merged, put)
		put = merged
	}
	if w.is("PUT ignores a member") && o["price"] != nil && put["price"] != nil {
		put["price"] = o["price"]
	}
	put["id"], put["created_at"] = o["id"], o["created_at"]
	if w.is("PUT changes all") {
		for id := range w.tools.of {
			other := maps.Clone(put)
			other["id"] = json.Number(id)
			w.store(id, other)
		}
	}
	if w.store(q.id, put); w.is("the ETag is the same after PUT") {
		put["version"] = o["version"]
	}
	return w.replyWith(put)
}

func (w *workshop) changeTool(q call, o object) *reply {
	if w.refused(q, o, "PATCH ignores If-Match") {
		return workshopProblem(412)
	}
	changed := maps.Clone(o)
	if w.is("PATCH resets members") {
		delete(changed, "labels")
	}
	for name, value := range only(q.body, "name", "price", "note") {
		if value != nil || w.does("keeps null") {
			changed[name] = value
		} else if !w.is("PATCH ignores null") {
			delete(changed, name)
		}
	}
	if w.is("PATCH ignores a member") {
		changed["price"] = o["price"]
	}
	if w.store(q.id, changed); w.is("the ETag is the same after PATCH") {
		changed["version"] = o["version"]
	}
	if w.is("PATCH is not stored") {
		w.tools.put(q.id, o)
	}
	return w.replyWith(changed)
}

func (w *workshop) deleteTool(q call) *reply {
	switch {
	case w.tools.of[q.id] == nil && !w.is("what does not exist is deleted"):
		return workshopProblem(404)
	case w.is("a deletion is not seen by reads"), w.is("a list has what was deleted"):
		if o := maps.Clone(w.tools.of[q.id]); o != nil {
			o["deleted"] = true
			w.tools.put(q.id, o)
		}
	case w.is("DELETE does nothing"):
	case w.is("DELETE removes the tool before, too"):
		n, _ := strconv.Atoi(q.id)
		w.tools.remove(strconv.Itoa(n - 1))
		w.tools.remove(q.id)
	default:
		w.tools.remove(q.id)
	}
	return newReply(204, nil)
}

// matches reports whether a filter selects a value.
func (w *workshop) matches(have any, want string) bool {
	switch {
	case w.does("finds by the beginning"):
		return strings.HasPrefix(fmt.Sprint(have), want)
	case w.does("finds what contains it in any case"):
		return strings.Contains(strings.ToLower(fmt.Sprint(have)), strings.ToLower(want))
	}
	return fmt.Sprint(have) == want
}

func (w *workshop) listTools(q call) *reply {
	query := q.URL.Query()
	var found []object
	for _, o := range w.tools.all() {
		kind, label := query.Get("kind"), query.Get("label")
		labels, _ := o["labels"].([]any)
		if w.is("only the first label is found") {
			labels = labels[:min(len(labels), 1)]
		}
		has := slices.ContainsFunc(labels, func(have any) bool { return w.matches(have, label) })
		if w.does("finds what is at most") {
			has = slices.ContainsFunc(labels, func(have any) bool { return fmt.Sprint(have) <= label })
		}
		ofKind := kind == "" || w.is("the kind is ignored") || (o["kind"] == kind) != w.is("the kind is inverted")
		if w.is("the kind is ignored on the next page") && query.Get("cursor") != "" {
			ofKind = true
		}
		switch {
		case o["deleted"] != nil && !w.is("a list has what was deleted"):
		case label != "" && !has && !w.is("the label is ignored"), !ofKind:
		default:
			found = append(found, o)
		}
	}
	if w.does("lists the newest first") {
		slices.Reverse(found)
	}
	limit := 5
	if n, err := strconv.Atoi(query.Get("limit")); err == nil {
		limit = n
	} else if w.is("the default of limit is not used") {
		limit = 7
	}
	if w.is("the limit is ignored") {
		limit = 5
	}
	if w.is("a page has one more") {
		limit++
	}
	if w.does("has pages of at most three") {
		limit = min(limit, 3)
	}
	at := 0
	if text, ok := strings.CutPrefix(query.Get("cursor"), "c"); ok && !w.is("the cursor is ignored") {
		at, _ = strconv.Atoi(text)
	} else if query.Get("cursor") != "" && !w.is("the cursor is ignored") {
		return workshopProblem(400)
	}
	at = min(at, len(found))
	end := min(at+limit, len(found))
	items := []any{}
	for _, o := range found[at:end] {
		if w.is("a list lacks a required member") {
			o = maps.Clone(o)
			delete(o, "created_at")
		}
		if old := w.cached[fmt.Sprint(o["id"])]; old != nil && w.is("a list is stale") {
			o = old
		} else if w.cached[fmt.Sprint(o["id"])] = o; w.is("a list shows other names") {
			o = maps.Clone(o)
			o["name"] = "tool"
		}
		items = append(items, w.shown(o))
	}
	page := object{"items": items, "next_cursor": nil}
	next := end
	switch {
	case w.is("a page skips a tool") && end > 4:
		next++
	case w.is("a tool comes twice") && at == 0 && end > 1:
		next--
	}
	if end < len(found) && !(w.is("the list ends after two pages") && at > 0) {
		page["next_cursor"] = fmt.Sprint("c", next)
	} else if w.does("leaves next_cursor out") {
		delete(page, "next_cursor")
	}
	return newReply(200, page)
}
