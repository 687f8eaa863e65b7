package contracttest

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// What services that are written by hand share: how they read and answer requests, and keep things.

// refused is an error of a right service: a status, and a message.
type refused struct {
	status  int
	message string
}

func (r refused) Error() string { return r.message }

// answer handles a request with what a function returns: a status and a body, or a [refused].
func answer(handle func(r *http.Request) (status int, body any, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status, body, err := handle(r)
		var wrong refused
		if errors.As(err, &wrong) {
			status, body = wrong.status, object{"message": wrong.message}
		}
		if status == http.StatusNoContent {
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
}

// member is what a service asks of a member of a body.
type member struct {
	isRequired bool
	allows     func(value any) bool
}

// ofLength allows texts of some characters.
func ofLength(shortest, longest int) func(any) bool {
	return func(value any) bool {
		s, isText := value.(string)
		return isText && len([]rune(s)) >= shortest && len([]rune(s)) <= longest
	}
}

// readObject reads a body with these members, and perhaps others.
func readObject(r *http.Request, members map[string]member) (object, error) {
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if mediaType != "application/json" {
		return nil, refused{http.StatusUnsupportedMediaType, "not JSON"}
	}
	body, _ := io.ReadAll(r.Body)
	var read object
	if err := json.Unmarshal(body, &read); err != nil || read == nil {
		return nil, refused{http.StatusBadRequest, "not an object"}
	}
	for name, wanted := range members {
		value, exists := read[name]
		if !exists && wanted.isRequired || exists && !wanted.allows(value) {
			return nil, refused{http.StatusBadRequest, name + " is not valid"}
		}
	}
	return read, nil
}

// shelf keeps objects by number.
type shelf struct {
	mu   sync.Mutex
	last int
	kept map[int]object
}

func newShelf() *shelf { return &shelf{kept: map[int]object{}} }

func (s *shelf) add(one object) object {
	s.last++
	one["id"] = s.last
	s.kept[s.last] = one
	return one
}

// find returns the object of a path.
func (s *shelf) find(r *http.Request) (object, error) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil {
		return nil, refused{http.StatusBadRequest, "id is not a number"}
	}
	if s.kept[id] == nil {
		return nil, refused{http.StatusNotFound, "there is none"}
	}
	return s.kept[id], nil
}

func (s *shelf) all() []object {
	all := []object{}
	for id := 1; id <= s.last; id++ {
		if s.kept[id] != nil {
			all = append(all, s.kept[id])
		}
	}
	return all
}

// locked handles requests one at a time.
func (s *shelf) locked(handle func(r *http.Request) (int, any, error)) http.HandlerFunc {
	return answer(func(r *http.Request) (int, any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return handle(r)
	})
}

// constant responds to one operation, always with the same.
func constant(pattern, body string) func() *http.ServeMux {
	return func() *http.ServeMux {
		mux := http.NewServeMux()
		mux.Handle(pattern, answer(func(*http.Request) (int, any, error) { return http.StatusOK, json.RawMessage(body), nil }))
		return mux
	}
}

func isBool(value any) bool { _, is := value.(bool); return is }

func isDay(value any) bool {
	text, _ := value.(string)
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// seeds are with how many seeds each service of concerts and of bookings is tested. CONTRACT_SEEDS has another number: it takes a
// minute of two processors for each.
func seeds(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("CONTRACT_SEEDS")
	if text == "" {
		return 1
	}
	number, err := strconv.ParseUint(text, 10, 8)
	must.NoError(t, err)
	return number
}
