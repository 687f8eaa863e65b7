// Floor sends the same responses with net/http and encoding/json alone, written by
// hand: no router, no document, and only the validation that every service needs.
package main

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/workshop/bench/peer"
)

func main() {
	peer.Main(func(plants *peer.Plants) (http.Handler, error) {
		s := &server{plants}
		mux := http.NewServeMux()
		mux.HandleFunc("POST /plants", s.create)
		mux.HandleFunc("GET /plants", s.list)
		mux.HandleFunc("GET /plants/{id}", s.get)
		return authenticated(mux), nil
	})
}

func authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(token), []byte(peer.Token)) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, http.StatusUnauthorized, "credentials not valid")
			return
		}
		next.ServeHTTP(w, r)
	})
}

type server struct{ plants *peer.Plants }

type newPlant struct {
	ID   *int64  `json:"id"`
	Name *string `json:"name"`
	Tag  *string `json:"tag"`
}

type response struct {
	Name string  `json:"name"`
	Tag  *string `json:"tag,omitempty"`
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	var p newPlant
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		fail(w, http.StatusBadRequest, "body is not a plant")
		return
	}
	if p.ID == nil || p.Name == nil {
		fail(w, http.StatusBadRequest, "id and name are required")
		return
	}
	switch err := s.plants.Create(r.Context(), plant.Plant{ID: *p.ID, Name: *p.Name, Tag: p.Tag}); {
	case errors.Is(err, plant.ErrExists):
		fail(w, http.StatusBadRequest, "another plant has this id")
		return
	case err != nil:
		fail(w, http.StatusInternalServerError, "internal error")
		return
	}
	w.Header().Set("Location", "/plants/"+strconv.FormatInt(*p.ID, 10))
	reply(w, http.StatusOK, response{*p.Name, p.Tag})
}

type storedPlant struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	Tag       *string   `json:"tag,omitempty"`
	ETag      string    `json:"etag"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

func toStored(p plant.Plant) storedPlant {
	return storedPlant{p.ID, p.Name, p.Tag, p.ETag, p.CreatedAt, p.UpdatedAt}
}

func (s *server) get(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		fail(w, http.StatusBadRequest, "id is not an integer")
		return
	}
	p, err := s.plants.Get(r.Context(), id)
	if err != nil {
		fail(w, http.StatusNotFound, "no such plant")
		return
	}
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("ETag", `"`+p.ETag+`"`)
	reply(w, http.StatusOK, toStored(p))
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	page := plant.Page{Limit: 100}
	if text := query.Get("limit"); text != "" {
		limit, err := strconv.ParseInt(text, 10, 32)
		if err != nil || limit < 1 {
			fail(w, http.StatusBadRequest, "limit is not a number of plants")
			return
		}
		page.Limit = min(int(limit), 1000)
	}
	if text := query.Get("after"); text != "" {
		after, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			fail(w, http.StatusBadRequest, "after is not an id")
			return
		}
		page.After = &after
	}
	plants, more, err := s.plants.List(r.Context(), page)
	if err != nil {
		fail(w, http.StatusInternalServerError, "internal error")
		return
	}
	stored := make([]storedPlant, len(plants))
	for i, p := range plants {
		stored[i] = toStored(p)
	}
	w.Header().Set("Cache-Control", "private, no-cache")
	if more {
		w.Header().Set("Link", fmt.Sprintf(`</plants?limit=%d&after=%d>; rel="next"`, page.Limit, plants[len(plants)-1].ID))
	}
	reply(w, http.StatusOK, stored)
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]any{"error": status * 100, "message": message})
}
