package contracttest

import (
	"strconv"
	"strings"
)

func (w *workshop) createShelf(q call) *reply {
	code := q.body["code"].(string)
	if w.is("codes are the same in lower case") {
		for other := range w.shelves.of {
			if strings.EqualFold(other, code) {
				code = other
			}
		}
	}
	if (w.shelves.of[code] != nil || w.deletedCodes[code]) && !w.is("a create replaces") {
		return workshopProblem(409)
	}
	q.body["state"] = "free" // whatever a request has
	w.shelves.put(code, q.body)
	return newReply(201, only(q.body, "code", "room", "height", "state"))
}

func (w *workshop) getShelf(q call) *reply {
	if o := w.shelves.of[q.id]; o != nil {
		return newReply(200, only(o, "code", "room", "height", "state"))
	}
	return workshopProblem(404)
}

func (w *workshop) replaceShelf(q call) *reply {
	if w.shelves.of[q.id] == nil {
		return workshopProblem(404)
	}
	if q.body["code"] != q.id {
		return workshopProblem(400) // as the document says nowhere, but many services do
	}
	q.body["state"] = "free"
	w.shelves.put(q.id, q.body)
	return w.getShelf(q)
}

func (w *workshop) deleteShelf(q call) *reply {
	if w.shelves.of[q.id] == nil {
		return workshopProblem(404)
	}
	w.shelves.remove(q.id)
	if w.is("a deleted code stays taken") || w.does("never gives a code twice") {
		w.deletedCodes[q.id] = true
	}
	return newReply(204, nil)
}

func (w *workshop) listShelves(q call) *reply {
	query := q.URL.Query()
	items, all := []any{}, w.shelves.all()
	limit, offset := len(all), 0
	if n, err := strconv.Atoi(query.Get("limit")); err == nil && !w.is("the limit of shelves is ignored") {
		limit = n
	}
	if n, err := strconv.Atoi(query.Get("offset")); err == nil && !w.is("the offset is ignored") {
		if offset = n; w.is("the offset counts pages") {
			offset *= limit
		}
	}
	if w.does("has a page of ten of all shelves") {
		limit = min(limit, 10)
	}
	if w.does("finds nothing by a room") && query.Has("room") { // the value is of a room's number, say
		return newReply(200, items)
	}
	for _, o := range all {
		if room := query.Get("room"); query.Has("room") && !w.matches(o["room"], room) && !w.is("the room is ignored") {
			continue
		}
		if offset--; offset < 0 && len(items) < limit {
			items = append(items, only(o, "code", "room", "height", "state"))
		}
	}
	return newReply(200, items)
}

func (w *workshop) putNote(q call) *reply {
	status, slug := 200, q.id
	if w.notes.of[slug] == nil {
		status = 201
	}
	note := only(q.body, "text", "author")
	if note["slug"] = slug; w.is("PUT of a note changes nothing that exists") && status == 200 {
		return newReply(200, note)
	}
	if w.is("PUT of a note creates nothing") && status == 201 {
		return newReply(201, note)
	}
	w.notes.put(slug, note)
	return newReply(status, note)
}

func (w *workshop) getNote(q call) *reply {
	if o := w.notes.of[q.id]; o != nil {
		return newReply(200, o)
	}
	return workshopProblem(404)
}

func (w *workshop) deleteNote(q call) *reply {
	if w.notes.of[q.id] == nil {
		return workshopProblem(404)
	}
	if !w.is("a deleted note stays") {
		w.notes.remove(q.id)
	}
	return newReply(204, nil)
}

func (w *workshop) listNotes(q call) *reply {
	query, all, items := q.URL.Query(), w.notes.all(), []any{}
	page, size := 1, 5
	if n, err := strconv.Atoi(query.Get("page")); err == nil && !w.is("the page is ignored") {
		page = n
	}
	if n, err := strconv.Atoi(query.Get("per_page")); err == nil {
		size = n
	}
	if w.is("pages begin at 0") {
		page++
	}
	for i := (page - 1) * size; i < min(len(all), page*size); i++ {
		items = append(items, all[i])
	}
	return newReply(200, object{"data": items, "total": len(all)})
}
