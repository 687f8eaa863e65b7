package main

import (
	"fmt"
	"net/http"
)

func (m *marina) listBerths(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := pathID(r, "pierId")
	if _, exists := m.piers[id]; !exists && !m.has("berths-of-missing-pier") {
		writeProblem(w, http.StatusNotFound, "no such pier")
		return
	}
	write(w, http.StatusOK, byID(m.berths, func(b berth) bool { return b.pier == id || m.has("berths-of-all-piers") }))
}

func (m *marina) addBerth(w http.ResponseWriter, r *http.Request) {
	added := berth{Depth: 30}
	if m.has("default-depth") {
		added.Depth = 0
	}
	readBody(r, &added)
	m.mu.Lock()
	defer m.mu.Unlock()
	added.pier = pathID(r, "pierId")
	if _, exists := m.piers[added.pier]; !exists && !m.has("berth-in-missing-pier") {
		writeProblem(w, http.StatusNotFound, "no such pier")
		return
	}
	added.ID = m.nextID()
	added.PierID = added.pier
	if m.has("wrong-pier-id") {
		added.PierID = added.ID
	}
	m.berths[added.ID] = added
	location := fmt.Sprintf("/piers/%d/berths/%d", added.pier, added.ID)
	if m.has("location-nowhere") {
		location = fmt.Sprintf("/berths/%d", added.ID)
	}
	writeAdded(w, location, added)
}

// berthOf finds the berth of the path, or writes 404. A berth of another pier is found where that fault is asked for.
func (m *marina) berthOf(w http.ResponseWriter, r *http.Request, anyPier string) (berth, bool) {
	found, exists := m.berths[pathID(r, "berthId")]
	isOfPier := found.pier == pathID(r, "pierId") || m.has(anyPier)
	if !exists || !isOfPier {
		writeProblem(w, http.StatusNotFound, "the pier has no such berth")
		return berth{}, false
	}
	return found, true
}

func (m *marina) getBerth(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, exists := m.berthOf(w, r, "berth-of-other-pier"); exists {
		write(w, http.StatusOK, found)
	}
}

func (m *marina) deleteBerth(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, exists := m.berthOf(w, r, "delete-by-other-pier"); exists {
		m.removeBerth(found.ID)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (m *marina) removeBerth(id int64) {
	delete(m.berths, id)
	for _, one := range byID(m.stays, func(s stay) bool { return s.BerthID == id }) {
		delete(m.stays, one.ID)
	}
}

func (m *marina) listStays(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of, exists := m.berthOf(w, r, "")
	if !exists {
		return
	}
	belongs := func(s stay) bool {
		isOfPier := m.berths[s.BerthID].pier == of.pier
		return s.BerthID == of.ID || m.has("stays-of-all-berths") && isOfPier
	}
	write(w, http.StatusOK, byID(m.stays, belongs))
}

func (m *marina) addStay(w http.ResponseWriter, r *http.Request) {
	added := stay{Nights: 1}
	readBody(r, &added)
	m.mu.Lock()
	defer m.mu.Unlock()
	of, exists := m.berthOf(w, r, "")
	if !exists {
		return
	}
	added.ID, added.BerthID = m.nextID(), of.ID
	m.stays[added.ID] = added
	write(w, http.StatusCreated, added)
}
