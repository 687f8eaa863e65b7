package contracttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// storesDocument has a collection for each way to say what was created: the service assigns an identity and tells
// it in the body, or in Location; the client chooses it in the path, or in either path or body.
var storesDocument = "openapi: 3.0.3\ninfo: {title: Stores, version: \"1\"}\npaths:" + strings.Join([]string{
	storesOf("told", `post`, `responses: {"201": {description: Made., content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}}, "400": {description: Wrong.}}`),
	storesOf("located", `post`, `responses: {"201": {description: Made., headers: {Location: {schema: {type: string}}}}, "400": {description: Wrong.}}`),
	storesOf("chosen", `post`, `responses: {"201": {description: Made.}, "400": {description: Wrong.}}`),
	storesOf("put", `put`, `responses: {"201": {description: Made.}, "204": {description: Replaced.}, "400": {description: Wrong.}}`),
}, "")

// storesOf is a collection whose things are made by a method.
func storesOf(name, method, responses string) string {
	const parameters = "\n    parameters: [{name: id, in: path, required: true, schema: {type: string, pattern: '^[a-z0-9]{1,40}$'}}]"
	made := fmt.Sprintf(`
    %s:
      operationId: make-%s
      requestBody: {required: true, content: {application/json: {schema: {type: object, required: [id], properties: {id: {type: string, pattern: '^[a-z0-9]{1,40}$'}}}}}}
      %s`, method, name, responses)
	one := fmt.Sprintf("\n    get: {operationId: get-%s, responses: {\"200\": {description: It.}, \"404\": {description: None.}}}", name) +
		fmt.Sprintf("\n    delete: {operationId: delete-%s, responses: {\"204\": {description: Gone.}, \"404\": {description: None.}}}", name)
	if method == "put" {
		return "\n  /" + name + "/{id}:" + parameters + one + made
	}
	if name == "chosen" {
		one += strings.Replace(made, "post:\n      operationId: make", "put:\n      operationId: replace", 1)
	}
	return "\n  /" + name + ":" + made + "\n  /" + name + "/{id}:" + parameters + one
}

// stores is the service: what it has, by path.
type stores struct {
	mu   sync.Mutex
	has  map[string]bool
	last int
}

func (s *stores) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, _ := url.PathUnescape(r.URL.EscapedPath())
	var body struct{ ID string }
	isWrong := r.Method[0] == 'P' && (json.NewDecoder(r.Body).Decode(&body) != nil || body.ID == "" || strings.Contains(path, "\x00"))
	known := s.has[path]
	switch {
	case isWrong:
		w.WriteHeader(http.StatusBadRequest)
	case r.Method == http.MethodPost && path == "/chosen":
		s.has["/chosen/"+body.ID] = true
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodPost:
		s.last++
		id := fmt.Sprint("n", s.last)
		s.has[path+"/"+id] = true
		if path == "/located" {
			w.Header().Set("Location", path+"/"+id)
			w.WriteHeader(http.StatusCreated)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":%q}`, id)
	case r.Method == http.MethodPut && !known:
		s.has[path] = true
		w.WriteHeader(http.StatusCreated)
	case !known:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		delete(s.has, path)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		w.WriteHeader(http.StatusNoContent)
	}
}

// At its end a run removes what it has created, also if its time is over, and nothing else. One that is
// interrupted ends at once.
func TestRemovesCreated(t *testing.T) {
	t.Parallel()
	for _, end := range []error{nil, context.DeadlineExceeded, context.Canceled} {
		synctest.Test(t, func(t *testing.T) { removesCreated(t, end) })
	}
}

func removesCreated(t *testing.T, end error) {
	var declared []Resource
	for _, name := range []string{"told", "located", "chosen", "put"} {
		isAssigned := name == "told" || name == "located"
		declared = append(declared, Resource{Create: "make-" + name, Read: "get-" + name, Delete: "delete-" + name, ID: "id", Assigned: isAssigned})
	}
	declared[2].Replace = "replace-chosen"
	s := &stores{has: map[string]bool{"/told/before": true, "/put/before": true}}
	c, err := New([]byte(storesDocument), Options{Seed: 1, Service: Service{Resources: declared}})
	must.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	made := map[string]bool{}
	var counting sync.Mutex
	isAll := func(r *http.Request, status int) bool {
		counting.Lock()
		defer counting.Unlock()
		if status == http.StatusCreated {
			made[strings.Split(r.URL.Path, "/")[1]] = true
		}
		return len(made) == len(declared)
	}
	_, err = c.Run(ctx, Target{URL: "http://stores.example/", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		response, err := inProcess{s}.RoundTrip(r)
		switch isAll := isAll(r, response.StatusCode); {
		case isAll && end == context.DeadlineExceeded:
			<-ctx.Done()
		case isAll && end == context.Canceled:
			cancel()
		}
		return response, err
	})})
	if len(made) != len(declared) || !errors.Is(err, end) {
		t.Errorf("the run has created %v and ends with %v, want %v", made, err, end)
	}
	left := slices.Sorted(maps.Keys(s.has))
	isClean := slices.Equal(left, []string{"/put/before", "/told/before"})
	if isClean != (end != context.Canceled) {
		t.Errorf("a run that ends with %v leaves %q", end, left)
	}
}
