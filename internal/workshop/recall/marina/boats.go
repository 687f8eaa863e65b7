package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/plantstore/plantstore/api/contract"
)

func (m *marina) listBoats(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := contract.RequestOf(r.Context())
	kind := contract.Optional[string](asked, "query", "kind")
	shortest := contract.Optional[int64](asked, "query", "minLength")
	matches := func(b boat) bool {
		return (kind == nil || b.Kind == *kind) && (shortest == nil || b.Length >= *shortest)
	}
	all := byID(m.boats, every[boat])
	matching := byID(m.boats, matches)
	total := len(matching)
	page := m.pageOf(asked, matching)
	switch {
	case m.has("total-of-all"):
		total = len(all)
	case m.has("total-after-delete"):
		total += len(byID(m.deletedBoats, matches))
	case m.has("filter-after-page"):
		page = []boat{}
		for _, one := range m.pageOf(asked, all) {
			if matches(one) {
				page = append(page, one)
			}
		}
	}
	write(w, http.StatusOK, map[string]any{"items": page, "total": total})
}

// pageOf cuts a page out of boats.
func (m *marina) pageOf(asked *contract.Request, boats []boat) []boat {
	limit, offset := 10, 0
	if m.has("no-default-limit") {
		limit = 100
	}
	if given := contract.Optional[int64](asked, "query", "limit"); given != nil {
		limit = int(*given)
	}
	if m.has("one-too-many") {
		limit++
	}
	if given := contract.Optional[int64](asked, "query", "offset"); given != nil {
		offset = int(*given)
	}
	if m.has("offset-overlaps") && offset > 0 {
		offset--
	}
	first := min(offset, len(boats))
	return boats[first:min(first+limit, len(boats))]
}

func (m *marina) addBoat(w http.ResponseWriter, r *http.Request) {
	added := boat{Kind: "sail"}
	readBody(r, &added)
	m.mu.Lock()
	defer m.mu.Unlock()
	added.ID = m.lastID + 1
	if m.has("racing-ids") {
		m.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		m.mu.Lock()
	}
	m.lastID = max(m.lastID, added.ID)
	m.boats[added.ID] = added
	writeAdded(w, fmt.Sprintf("/boats/%d", added.ID), added)
}

// boatOf finds the boat of the path, or writes 404.
func (m *marina) boatOf(w http.ResponseWriter, r *http.Request) (boat, bool) {
	found, exists := m.boats[pathID(r, "boatId")]
	if !exists {
		writeProblem(w, http.StatusNotFound, "no such boat")
	}
	return found, exists
}

func (m *marina) getBoat(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, exists := m.boatOf(w, r); exists {
		write(w, http.StatusOK, found)
	}
}

func (m *marina) changeBoat(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if deleted, wasDeleted := m.deletedBoats[pathID(r, "boatId")]; wasDeleted && m.has("change-revives") {
		m.boats[deleted.ID] = deleted
	}
	found, exists := m.boatOf(w, r)
	if !exists {
		return
	}
	readBody(r, &found)
	m.boats[found.ID] = found
	write(w, http.StatusOK, found)
}

func (m *marina) deleteBoat(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, exists := m.boatOf(w, r); exists {
		m.deletedBoats[found.ID] = found
		delete(m.boats, found.ID)
		w.WriteHeader(http.StatusNoContent)
	}
}
