// Command marina serves piers, berths, stays and boats, in memory, with a token, as openapi.yaml says; or
// with one of the faults in faults.go.
//
// Requests are held to the document by api/contract, so that all else is about what the service stores.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/workshop/recall/fault"
)

//go:embed openapi.yaml
var document []byte

const token = "3f9a6c1e8b"

func main() { fault.Serve(faults, newHandler) }

type pier struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Lit  bool   `json:"lit"`
}

type berth struct {
	ID     int64  `json:"id"`
	PierID int64  `json:"pierId"`
	Label  string `json:"label"`
	Depth  int64  `json:"depth"`

	pier int64 // in the path
}

type stay struct {
	ID      int64  `json:"id"`
	BerthID int64  `json:"berthId"`
	Boat    string `json:"boat"`
	Nights  int64  `json:"nights"`
}

type boat struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Length int64  `json:"length"`
}

type marina struct {
	has func(faultName string) bool

	mu           sync.Mutex
	lastID       int64
	piers        map[int64]pier
	berths       map[int64]berth
	stays        map[int64]stay
	boats        map[int64]boat
	deletedBoats map[int64]boat // for faults alone
}

func newHandler(has func(string) bool) http.Handler {
	m := &marina{
		has: has, piers: map[int64]pier{}, berths: map[int64]berth{}, stays: map[int64]stay{},
		boats: map[int64]boat{}, deletedBoats: map[int64]boat{},
	}
	checker, err := contract.New(document, contract.Options{Authorize: m.authorize, Refuse: m.refuse})
	if err != nil {
		log.Fatal(err)
	}
	router := chi.NewRouter()
	router.Use(middleware.Recoverer, middleware.GetHead)
	router.Group(func(r chi.Router) {
		r.Use(checker.Middleware)
		r.Get("/health", m.getHealth)
		r.Get("/piers", m.listPiers)
		r.Post("/piers", m.addPier)
		r.Get("/piers/{pierId}", m.getPier)
		r.Delete("/piers/{pierId}", m.deletePier)
		r.Get("/piers/{pierId}/berths", m.listBerths)
		r.Post("/piers/{pierId}/berths", m.addBerth)
		r.Get("/piers/{pierId}/berths/{berthId}", m.getBerth)
		r.Delete("/piers/{pierId}/berths/{berthId}", m.deleteBerth)
		r.Get("/piers/{pierId}/berths/{berthId}/stays", m.listStays)
		r.Post("/piers/{pierId}/berths/{berthId}/stays", m.addStay)
		r.Get("/boats", m.listBoats)
		r.Post("/boats", m.addBoat)
		r.Get("/boats/{boatId}", m.getBoat)
		r.Patch("/boats/{boatId}", m.changeBoat)
		r.Delete("/boats/{boatId}", m.deleteBoat)
	})
	return router
}

// --- credentials and errors

var errNoToken = errors.New("a token is needed")

func (m *marina) authorize(_ http.ResponseWriter, r *http.Request, operation *contract.Operation) (context.Context, error) {
	header := r.Header.Get("Authorization")
	isOpen := len(operation.Security) == 0 && !m.has("health-needs-token")
	isForgotten := operation.ID == "listBerths" && m.has("open-nested") || operation.ID == "deleteBoat" && m.has("open-delete")
	if isOpen || isForgotten && header == "" {
		return nil, nil
	}
	if header != "" && m.has("malformed-crashes") {
		_ = strings.Split(header, " ")[1]
	}
	scheme, given, _ := strings.Cut(header, " ")
	isBearer := strings.EqualFold(scheme, "Bearer")
	if m.has("scheme-in-lower-case") {
		isBearer = scheme == "Bearer"
	}
	isToken := given == token ||
		operation.ID == "addPier" && m.has("any-token") && given != "" ||
		m.has("token-prefix") && given != "" && strings.HasPrefix(token, given)
	if isBearer && isToken {
		return nil, nil
	}
	return nil, errNoToken
}

func (m *marina) refuse(w http.ResponseWriter, _ *http.Request, refusal *contract.Refusal) {
	if refusal.Kind.Status() == http.StatusUnauthorized && !m.has("no-challenge") {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	writeProblem(w, refusal.Kind.Status(), refusal.Message)
}

func writeProblem(w http.ResponseWriter, status int, text string) {
	write(w, status, map[string]string{"error": text})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		log.Print(err)
	}
}

// writeAdded writes what was added, with the path of it.
func writeAdded(w http.ResponseWriter, path string, body any) {
	w.Header().Set("Location", path)
	write(w, http.StatusCreated, body)
}

// readBody reads a body that the document allows, so it cannot fail.
func readBody(r *http.Request, to any) {
	if err := json.NewDecoder(r.Body).Decode(to); err != nil {
		panic(err)
	}
}

func pathID(r *http.Request, name string) int64 {
	return contract.Value[int64](contract.RequestOf(r.Context()), "path", name)
}

// byID returns the values of a map in the order of their keys, and never nil, which JSON has as null.
func byID[T any](all map[int64]T, belongs func(T) bool) []T {
	found := []T{}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if belongs(all[id]) {
			found = append(found, all[id])
		}
	}
	return found
}

func every[T any](T) bool { return true }

func (m *marina) nextID() int64 {
	m.lastID++
	return m.lastID
}

// --- piers

func (m *marina) getHealth(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]bool{"ok": true})
}

func (m *marina) listPiers(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	write(w, http.StatusOK, byID(m.piers, every[pier]))
}

func (m *marina) addPier(w http.ResponseWriter, r *http.Request) {
	added := pier{Lit: true}
	readBody(r, &added)
	m.mu.Lock()
	defer m.mu.Unlock()
	added.ID = m.nextID()
	if m.has("id-by-count") {
		added.ID = int64(len(m.piers)) + 1
	}
	m.piers[added.ID] = added
	writeAdded(w, fmt.Sprintf("/piers/%d", added.ID), added)
}

func (m *marina) getPier(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, exists := m.piers[pathID(r, "pierId")]
	if !exists {
		writeProblem(w, http.StatusNotFound, "no such pier")
		return
	}
	write(w, http.StatusOK, found)
}

func (m *marina) deletePier(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := pathID(r, "pierId")
	if _, exists := m.piers[id]; !exists {
		writeProblem(w, http.StatusNotFound, "no such pier")
		return
	}
	delete(m.piers, id)
	if !m.has("berths-survive") {
		for _, one := range byID(m.berths, func(b berth) bool { return b.pier == id }) {
			m.removeBerth(one.ID)
		}
	}
	w.WriteHeader(http.StatusNoContent)
}
