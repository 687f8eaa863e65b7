// Command wiki serves pages with names, in memory, with conditional requests, as openapi.yaml says; or
// with one of the faults in faults.go.
//
// Nothing but the standard library holds requests to the document, as in many services.
package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/plantstore/plantstore/internal/workshop/recall/fault"
)

func main() { fault.Serve(faults, newHandler) }

type page struct {
	Name  string   `json:"name"`
	Title string   `json:"title"`
	Text  string   `json:"text"`
	Tags  []string `json:"tags"`

	etag string
}

type wiki struct {
	has func(faultName string) bool

	mu       sync.Mutex
	versions int // that all pages have had
	pages    map[string]page
}

func newHandler(has func(string) bool) http.Handler {
	w := &wiki{has: has, pages: map[string]page{}}
	router := chi.NewRouter()
	router.Use(middleware.Recoverer, middleware.GetHead)
	router.Get("/pages", w.listPages)
	router.Get("/pages/{name}", w.getPage)
	router.Put("/pages/{name}", w.putPage)
	router.Delete("/pages/{name}", w.deletePage)
	return router
}

// --- lists

var (
	validName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	validTag  = regexp.MustCompile(`^[a-z]{1,20}$`)
)

// selection is what the parameters of a list ask for.
type selection struct {
	limit        int
	after, tag   string
	isDescending bool
}

// listParameters are the parameters of a list: what their values look like, and what they select.
var listParameters = map[string]struct {
	pattern *regexp.Regexp
	set     func(chosen *selection, value string)
}{
	"limit": {regexp.MustCompile(`^([1-9]|[1-4][0-9]|50)$`), func(chosen *selection, value string) {
		chosen.limit, _ = strconv.Atoi(value) // the pattern has digits alone
	}},
	"after": {validName, func(chosen *selection, value string) { chosen.after = value }},
	"order": {regexp.MustCompile(`^(asc|desc)$`), func(chosen *selection, value string) {
		chosen.isDescending = value == "desc"
	}},
	"tag": {validTag, func(chosen *selection, value string) { chosen.tag = value }},
}

// readSelection reads the parameters of a list; its text says what is wrong with them.
func readSelection(rawQuery string) (chosen selection, problem string) {
	chosen.limit = 20
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return chosen, "the query is malformed"
	}
	for name, parameter := range listParameters {
		if !query.Has(name) {
			continue
		}
		if !parameter.pattern.MatchString(query.Get(name)) {
			return chosen, name + " does not match " + parameter.pattern.String()
		}
		parameter.set(&chosen, query.Get(name))
	}
	return chosen, ""
}

func (s selection) has(one page) bool {
	isAfter := one.Name > s.after
	if s.isDescending {
		isAfter = s.after == "" || one.Name < s.after
	}
	return isAfter && (s.tag == "" || slices.Contains(one.Tags, s.tag))
}

func (w *wiki) listPages(out http.ResponseWriter, r *http.Request) {
	chosen, problem := readSelection(r.URL.RawQuery)
	if problem != "" {
		writeProblem(out, http.StatusBadRequest, problem)
		return
	}
	if w.has("order-ignored") {
		chosen.isDescending = false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	names := slices.Sorted(maps.Keys(w.pages))
	if chosen.isDescending {
		slices.Reverse(names)
	}
	matching := []page{}
	for _, name := range names {
		if chosen.has(w.pages[name]) {
			matching = append(matching, w.shown(w.pages[name]))
		}
	}
	listed := matching[:min(chosen.limit, len(matching))]
	isFollowed := len(listed) < len(matching) || w.has("endless-next")
	if isFollowed && len(listed) > 0 {
		out.Header().Set("Link", w.next(r, listed[len(listed)-1].Name))
	}
	write(out, http.StatusOK, listed)
}

// next is the Link to the list after the page with a name.
func (w *wiki) next(r *http.Request, after string) string {
	query := r.URL.Query()
	query.Set("after", after)
	if w.has("next-without-filter") {
		query.Del("tag")
	}
	return fmt.Sprintf(`</pages?%s>; rel="next"`, query.Encode())
}

// shown is a page as it is sent.
func (w *wiki) shown(one page) page {
	if w.has("null-tags") && len(one.Tags) == 0 {
		one.Tags = nil
	}
	return one
}

// --- pages

// nameOf reads the name in the path, or writes 400.
func nameOf(out http.ResponseWriter, r *http.Request) (string, bool) {
	name, err := url.PathUnescape(chi.URLParam(r, "name"))
	if err != nil || !validName.MatchString(name) {
		writeProblem(out, http.StatusBadRequest, "the name must be small letters, digits and hyphens")
		return "", false
	}
	return name, true
}

// pageOf finds the page of the path, or writes 400 or 404. The lock is held.
func (w *wiki) pageOf(out http.ResponseWriter, r *http.Request) (found page, exists bool) {
	name, isValid := nameOf(out, r)
	if !isValid {
		return page{}, false
	}
	found, exists = w.pages[name]
	if !exists {
		writeProblem(out, http.StatusNotFound, "no such page")
	}
	return found, exists
}

func (w *wiki) getPage(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found, exists := w.pageOf(out, r)
	if !exists {
		return
	}
	switch w.conditionOf(r, found.etag) {
	case failed:
		writeProblem(out, http.StatusPreconditionFailed, "the page has another ETag")
	case unchanged:
		out.Header().Set("ETag", found.etag)
		out.WriteHeader(http.StatusNotModified)
	default:
		out.Header().Set("ETag", found.etag)
		write(out, http.StatusOK, w.shown(found))
	}
}

func (w *wiki) putPage(out http.ResponseWriter, r *http.Request) {
	name, isValid := nameOf(out, r)
	if !isValid {
		return
	}
	given, status, problem := readPage(r)
	if problem != "" {
		writeProblem(out, status, problem)
		return
	}
	given.Name = name
	w.mu.Lock()
	defer w.mu.Unlock()
	before, exists := w.pages[name]
	isRefused := w.conditionOf(r, before.etag) != met
	if isRefused && w.has("refused-but-written") {
		w.store(before, given)
	}
	if isRefused {
		writeProblem(out, http.StatusPreconditionFailed, "the page has another ETag")
		return
	}
	if w.has("racing-puts") {
		w.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		w.mu.Lock()
	}
	given = w.store(before, given)
	out.Header().Set("ETag", given.etag)
	status = http.StatusCreated
	if exists {
		status = http.StatusOK
	}
	write(out, status, w.shown(given))
}

// store stores a page, with a new ETag if it differs from what was there before.
func (w *wiki) store(before, given page) page {
	given.etag = before.etag
	isNew := before.etag == ""
	isChanged := before.Title != given.Title || before.Text != given.Text || !slices.Equal(before.Tags, given.Tags)
	if isNew || isChanged && !w.has("etag-stays") {
		w.versions++
		given.etag = fmt.Sprintf(`"v%d"`, w.versions)
	}
	w.pages[given.Name] = given
	return given
}

func (w *wiki) deletePage(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found, exists := w.pageOf(out, r)
	if !exists {
		return
	}
	if w.conditionOf(r, found.etag) != met {
		writeProblem(out, http.StatusPreconditionFailed, "the page has another ETag")
		return
	}
	delete(w.pages, found.Name)
	out.WriteHeader(http.StatusNoContent)
}
