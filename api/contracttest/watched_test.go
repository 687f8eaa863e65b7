package contracttest

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// What processes have reached is merged, also by the line of Watched, which comes once for all handlers of a document.
func TestWatched(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "reached")
	self, err := os.Executable()
	must.NoError(t, err)
	for _, process := range []struct {
		paths, want string
		isBroken    bool
	}{
		{"/things/1 /things/1?none", "1 of 7 operations, 2 of 9 documented statuses", false},
		{"/things/mine", "has another media type: application/json, once", true},
	} {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), "CONTRACT_MAIN="+process.paths, "CONTRACT_COVERAGE="+folder)
		out, err := cmd.CombinedOutput()
		if (err != nil) != process.isBroken || strings.Count(string(out), process.want) != 1 {
			t.Errorf("%s: %v: %s", process.paths, err, out)
		}
	}
	c, err := New([]byte(watchDocument), Options{})
	must.NoError(t, err)
	got, err := c.ReadCoverage(folder)
	must.NoError(t, err)
	if want := "2 of 7 operations, 3 of 9 documented statuses; these were not: addThing\n  deleteThing\n  getSlash\n  listThings\n  stream"; got.String() != want || got.Percent() != 28 {
		t.Errorf("the coverage is %d %%, %s", got.Percent(), got)
	}
	if _, err := c.ReadCoverage(t.TempDir()); err == nil {
		t.Error("an empty folder has a coverage")
	}
}

// watchedMain is the TestMain of a package whose tests send requests to a server of its own.
func watchedMain(paths []string) {
	flag.Parse() // as testing.M does
	handler := Watch(nil, []byte(watchDocument), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("none") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		respond(http.StatusOK, `{"id":1,"name":"n"}`, isJSON).ServeHTTP(w, r)
	}))
	Watch(nil, []byte(watchDocument), http.NotFoundHandler()) // another handler of the same document
	os.Exit(Watched(ranRequests{handler, paths}))
}

// ranRequests is what Watched runs in place of tests.
type ranRequests struct {
	handler http.Handler
	paths   []string
}

func (r ranRequests) Run() int {
	for _, path := range r.paths {
		r.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, http.NoBody))
	}
	return 0
}

// A status that operations share is listed if one of them was reached, whichever comes first in the document.
func TestUnreachedSharedStatus(t *testing.T) {
	t.Parallel()
	const responses = `{"responses":{"200":{"description":"-"},"500":{"description":"-"}}`
	c, err := New([]byte(`{"openapi":"3.0.3","info":{"title":"-","version":"1"},"paths":{
		"/a":{"get":`+responses+`,"operationId":"first"}},
		"/b":{"get":`+responses+`,"operationId":"second"}}}}`), Options{})
	must.NoError(t, err)
	for reached, want := range map[string][]string{
		"first":  {"any operation, 500", "first, 200", "second"},
		"second": {"any operation, 500", "first", "second, 200"},
	} {
		if got := c.coverage(map[string]bool{reached: true}).Unreached; !slices.Equal(got, want) {
			t.Errorf("with %s reached, these are not: %q, want %q", reached, got, want)
		}
	}
}
