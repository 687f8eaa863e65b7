package contracttest

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// racing is a service that gives a request the response to another one of its kind that comes at the same time, as one does
// that looks first and writes later. One after the other they are served right.
type racing struct {
	next         http.Handler
	method, path string

	mu    sync.Mutex
	first chan *httptest.ResponseRecorder // the response to the request that is there; nil: none is
}

func (s *racing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != s.method || !strings.HasPrefix(r.URL.Path, s.path) {
		s.next.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	if other := s.first; other != nil {
		s.first = nil
		s.mu.Unlock()
		copyResponse(w, <-other)
		return
	}
	mine := make(chan *httptest.ResponseRecorder, 1)
	s.first = mine
	s.mu.Unlock()
	time.Sleep(5 * time.Millisecond) // for another one to come
	own := httptest.NewRecorder()
	s.next.ServeHTTP(own, r)
	mine <- own
	copyResponse(w, own)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == mine {
		s.first = nil
	}
}

// copyResponse writes a response that was recorded.
func copyResponse(w http.ResponseWriter, from *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), from.Header())
	w.WriteHeader(from.Code)
	_, _ = w.Write(from.Body.Bytes())
}

// Requests at the same time find what the same requests, one after the other, do not.
func TestAtOnce(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	for _, c := range []struct{ method, path, want string }{
		{"POST", "/tools", "createTool: two resources have one identity"},
		{"POST", "/shelves", "createShelf: of creates at the same time with one identity, several succeed"},
		{"PUT", "/tools/", "replaceTool: several changes at the same time succeed with one If-Match"},
		{"PATCH", "/tools/", "changeTool: several changes at the same time succeed with one If-Match"},
	} {
		// Its time goes on once all goroutines wait, so a request that is sent at the same time always comes.
		synctest.Test(t, func(t *testing.T) {
			contract := workshopContract(t, Options{})
			service := &racing{next: newWorkshop(contract, ""), method: c.method, path: c.path}
			report := ran(t, contract, inProcess{service})
			if len(report.Causes) != 1 || report.Causes[0].Cause != c.want {
				t.Errorf("%s of %s is %v, want %q", c.method, c.path, report.Causes, c.want)
			}
		})
	}
}
