package plantcontract

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
)

// wrongStore is a store that does something else than one of its methods should. Each function may be nil.
type wrongStore struct {
	plant.Store
	create    func(context.Context, plant.Plant) error
	createAll func(context.Context, []plant.Plant) (int, error)
	read      func(*plant.Plant)
	list      func(plant.Page, []plant.Plant) []plant.Plant
	tags      func([]string) []string
	feed      func(*plant.Position, []plant.Change) []plant.Change
}

func wrongRead(change func(*plant.Plant)) func(plant.Store) plant.Store {
	return func(s plant.Store) plant.Store { return wrongStore{Store: s, read: change} }
}

func wrongList(change func(plant.Page, []plant.Plant) []plant.Plant) func(plant.Store) plant.Store {
	return func(s plant.Store) plant.Store { return wrongStore{Store: s, list: change} }
}

func wrongTags(change func([]string) []string) func(plant.Store) plant.Store {
	return func(s plant.Store) plant.Store { return wrongStore{Store: s, tags: change} }
}

func wrongFeed(change func(*plant.Position, []plant.Change) []plant.Change) func(plant.Store) plant.Store {
	return func(s plant.Store) plant.Store { return wrongStore{Store: s, feed: change} }
}

func (s wrongStore) Create(ctx context.Context, p plant.Plant) error {
	if s.create == nil {
		return s.Store.Create(ctx, p)
	}
	return s.create(ctx, p)
}

func (s wrongStore) CreateAll(ctx context.Context, plants []plant.Plant) (int, error) {
	if s.createAll == nil {
		return s.Store.CreateAll(ctx, plants)
	}
	return s.createAll(ctx, plants)
}

func (s wrongStore) Get(ctx context.Context, id int64) (plant.Plant, error) {
	p, err := s.Store.Get(ctx, id)
	if s.read != nil {
		s.read(&p)
	}
	return p, err
}

func (s wrongStore) List(ctx context.Context, page plant.Page) ([]plant.Plant, bool, error) {
	plants, more, err := s.Store.List(ctx, page)
	if s.list != nil {
		plants = s.list(page, plants)
	}
	return plants, more && len(plants) > 0, err
}

func (s wrongStore) Tags(ctx context.Context, page plant.TagPage) ([]string, bool, error) {
	tags, more, err := s.Store.Tags(ctx, page)
	if s.tags != nil {
		tags = s.tags(tags)
	}
	return tags, more && len(tags) > 0, err
}

func (s wrongStore) Changes(ctx context.Context, after *plant.Position, limit int) ([]plant.Change, plant.Position, error) {
	changes, next, err := s.Store.Changes(ctx, after, limit)
	if s.feed != nil {
		changes = s.feed(after, changes)
	}
	return changes, next, err
}

// touch changes a plant and changes it back.
func touch(ctx context.Context, s plant.Store, p plant.Plant) {
	time.Sleep(time.Microsecond) // times have microseconds
	other := p
	other.Name += " "
	_, _, _ = s.Put(ctx, other, plant.Precondition{})
	_, _, _ = s.Put(ctx, p, plant.Precondition{})
}

// notMoving does not find the plants whose names have changed by the beginning of a name.
type notMoving struct {
	plant.Store
	moved sync.Map
}

func (s *notMoving) Patch(ctx context.Context, id int64, change plant.Patch, c plant.Precondition) (plant.Plant, error) {
	if change.Name != nil {
		s.moved.Store(id, true)
	}
	return s.Store.Patch(ctx, id, change, c)
}

func (s *notMoving) List(ctx context.Context, page plant.Page) ([]plant.Plant, bool, error) {
	return wrongList(func(_ plant.Page, plants []plant.Plant) []plant.Plant {
		return slices.DeleteFunc(plants, func(p plant.Plant) bool {
			_, moved := s.moved.Load(p.ID)
			return moved
		})
	})(s.Store).List(ctx, page)
}

// wrongResponse is a server that changes its responses.
func wrongResponse(change func(r *http.Request, a *response)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a := responseOf(next, r)
			a.header.Del("Content-Length")
			change(r, a)
			a.write(w)
		})
	}
}

// wrongBodyOf is a server that replaces what a pattern matches in the responses of a path.
func wrongBodyOf(path, pattern, replacement string) func(http.Handler) http.Handler {
	replaced := regexp.MustCompile(pattern)
	return wrongResponse(func(r *http.Request, a *response) {
		if strings.HasPrefix(r.URL.Path, path) && a.status == http.StatusOK {
			a.body = replaced.ReplaceAllString(a.body, replacement)
		}
	})
}

// wrongRequest is a server that takes a request for another one.
func wrongRequest(change func(r *http.Request)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			change(r)
			next.ServeHTTP(w, r)
		})
	}
}

// wrongQuery is a server that takes a part of a query for another one.
func wrongQuery(old, new string) func(http.Handler) http.Handler {
	whole := regexp.MustCompile(`(^|&)` + regexp.QuoteMeta(old) + `(&|$)`)
	return wrongRequest(func(r *http.Request) { r.URL.RawQuery = whole.ReplaceAllString(r.URL.RawQuery, "${1}"+new+"$2") })
}

func wrongPath(old, new string) func(http.Handler) http.Handler {
	return wrongRequest(func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, old, new, 1) })
}

// wrongBody is a server that takes a part of a body for another one.
func wrongBody(old, new string) func(http.Handler) http.Handler {
	return wrongRequest(func(r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		changed := strings.Replace(body.String(), old, new, 1)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(changed)), int64(len(changed))
	})
}

// without is a server that ignores a parameter.
func without(path, name string) func(http.Handler) http.Handler {
	return wrongQueryOf(path, func(query url.Values) { query.Del(name) })
}

// withDefault is a server with another default of a parameter.
func withDefault(path, name, value string) func(http.Handler) http.Handler {
	return wrongQueryOf(path, func(query url.Values) {
		if !query.Has(name) {
			query.Set(name, value)
		}
	})
}

func wrongQueryOf(path string, change func(url.Values)) func(http.Handler) http.Handler {
	return wrongRequest(func(r *http.Request) {
		if query := r.URL.Query(); r.URL.Path == path {
			change(query)
			r.URL.RawQuery = query.Encode()
		}
	})
}

// record records the response of a handler. An event stream ends after one event.
func record(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(firstEvent{w, cancel}, r.WithContext(ctx))
	return w
}

type firstEvent struct {
	*httptest.ResponseRecorder
	hangUp func()
}

func (w firstEvent) Flush() {
	if bytes.Contains(w.Body.Bytes(), []byte("data: ")) {
		w.hangUp()
	}
}

// inProcess calls a handler without a network.
type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	r.RequestURI = r.URL.RequestURI()
	resp := record(h, r).Result()
	if r.Method == http.MethodHead {
		resp.Body = http.NoBody // as net/http does
	}
	return resp, nil
}
