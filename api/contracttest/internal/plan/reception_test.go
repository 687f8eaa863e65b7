package plan_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/plantstore/plantstore/internal/testing/toy"
)

// reception is a service of testdata/needs.yaml, with one room and one seat, which no request creates. refuses returns
// the status with which it refuses what is sent, or 0.
func reception(refuses func(sent map[string]any) int) func() http.Handler {
	exists := map[string]string{
		"/rooms":                           `[{"id": "room-1001"}]`,
		"/rooms/room-1001":                 ``,
		"/rooms/room-1001/seats":           `[{"id": "seat-2001"}]`,
		"/rooms/room-1001/seats/seat-2001": ``,
		"/free?roomId=room-1001&size=1":    ``,
		"/halls":                           `[{"id": 3001}]`,
		"/shows?hall=3001":                 ``,
	}
	return func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, isKnown := exists[r.URL.RequestURI()]
			isWrite := r.URL.Path == "/bookings" || r.URL.Path == "/changes"
			a := toy.Response{Status: http.StatusOK}
			switch {
			case isWrite:
				var sent map[string]any
				received, _ := io.ReadAll(r.Body)
				_ = json.Unmarshal(received, &sent) // it may be null
				a.Status = http.StatusCreated
				if r.Method == http.MethodPatch {
					a.Status = http.StatusOK
				}
				if status := refuses(sent); status != 0 {
					a.Status = status
				}
			case !isKnown:
				a.Status = http.StatusNotFound
			case r.Method == http.MethodDelete:
				a.Status = http.StatusNoContent
			case strings.HasPrefix(text, "["):
				a.Body = json.RawMessage(text)
			}
			a.Write(w)
		})
	}
}

// tables returns a reception whose room has a table of each name in small letters. A POST makes one, with a status.
func tables(made int) func() http.Handler {
	others := reception(nothing)()
	return func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name, isTable := strings.CutPrefix(r.URL.Path, "/rooms/room-1001/tables/")
			if !isTable {
				others.ServeHTTP(w, r)
				return
			}
			isName := name == strings.ToLower(name)
			a := toy.Response{Status: http.StatusNotFound}
			switch {
			case isName && r.Method == http.MethodPost:
				a.Status = made
			case r.Method == http.MethodPost:
				a.Status = http.StatusBadRequest
			case isName:
				a.Status = http.StatusOK
			}
			a.Write(w)
		})
	}
}

// These are what a reception refuses.

func nothing(map[string]any) int { return 0 }

func anything(map[string]any) int { return http.StatusBadRequest }

func zones(sent map[string]any) int {
	if sent["zone"] != nil {
		return http.StatusBadRequest
	}
	return 0
}

// zonesAsUnknown says that no zone exists.
func zonesAsUnknown(sent map[string]any) int {
	if sent["zone"] != nil {
		return http.StatusNotFound
	}
	return 0
}

func zonesWithNotes(sent map[string]any) int {
	if sent["note"] != nil {
		return zones(sent)
	}
	return 0
}

func allButNotes(sent map[string]any) int {
	if len(sent) != 1 || sent["note"] == nil {
		return http.StatusBadRequest
	}
	return 0
}

// again returns what refuses a name that was sent before.
func again() func(map[string]any) int {
	seen := map[any]bool{}
	return func(sent map[string]any) int {
		name := sent["name"]
		if seen[name] {
			return http.StatusConflict
		}
		seen[name] = true
		return 0
	}
}
