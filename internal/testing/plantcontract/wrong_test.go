package plantcontract

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
)

// The servers below are wrong in one way each. The generated tests alone must
// find each of them.

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

// wrongRequest is a server that takes a request for another one.
func wrongRequest(change func(r *http.Request)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			change(r)
			next.ServeHTTP(w, r)
		})
	}
}

// wrongBody is a server that takes a body for another one.
func wrongBody(change func(body string) string) func(http.Handler) http.Handler {
	return wrongRequest(func(r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		body = []byte(change(string(body)))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	})
}

// The stores below are real ones that break one promise each.

type overwriting struct{ plant.Store }

func (s overwriting) Create(ctx context.Context, p plant.Plant) error {
	err := s.Store.Create(ctx, p)
	if errors.Is(err, plant.ErrExists) {
		_, _, _ = s.Put(ctx, p, plant.Precondition{})
	}
	return err
}

type forgetful struct{ plant.Store }

func (forgetful) Create(context.Context, plant.Plant) error { return nil }

type partial struct{ plant.Store }

func (s partial) CreateAll(ctx context.Context, plants []plant.Plant) (int, error) {
	for i, p := range plants {
		if err := s.Create(ctx, p); err != nil {
			return 0, plant.ExistsError{Indexes: []int{i}}
		}
	}
	return len(plants), nil
}

type careless struct{ plant.Store }

func (s careless) Put(ctx context.Context, p plant.Plant, _ plant.Precondition) (plant.Plant, bool, error) {
	return s.Store.Put(ctx, p, plant.Precondition{})
}

type undeleting struct{ plant.Store }

func (s undeleting) Delete(ctx context.Context, id int64, _ plant.Precondition) error {
	_, err := s.Get(ctx, id)
	return err
}

type tagKeeping struct{ plant.Store }

func (s tagKeeping) Put(ctx context.Context, p plant.Plant, c plant.Precondition) (plant.Plant, bool, error) {
	if old, err := s.Get(ctx, p.ID); err == nil && p.Tag == nil {
		p.Tag = old.Tag
	}
	return s.Store.Put(ctx, p, c)
}

type ignoringNull struct{ plant.Store }

func (s ignoringNull) Patch(ctx context.Context, id int64, change plant.Patch, c plant.Precondition) (plant.Plant, error) {
	if change.Tag == nil {
		change.SetTag = false
	}
	return s.Store.Patch(ctx, id, change, c)
}

type trimming struct{ plant.Store }

func (s trimming) Create(ctx context.Context, p plant.Plant) error {
	p.Name = strings.TrimSpace(p.Name)
	return s.Store.Create(ctx, p)
}

func (s trimming) Put(ctx context.Context, p plant.Plant, c plant.Precondition) (plant.Plant, bool, error) {
	p.Name = strings.TrimSpace(p.Name)
	return s.Store.Put(ctx, p, c)
}

type sameVersion struct{ plant.Store }

func (s sameVersion) Get(ctx context.Context, id int64) (plant.Plant, error) {
	p, err := s.Store.Get(ctx, id)
	p.ETag = "1"
	return p, err
}

type generous struct{ plant.Store }

func (s generous) List(ctx context.Context, page plant.Page) ([]plant.Plant, bool, error) {
	page.Limit++
	return s.Store.List(ctx, page)
}

type backwards struct{ plant.Store }

func (s backwards) List(ctx context.Context, page plant.Page) ([]plant.Plant, bool, error) {
	plants, more, err := s.Store.List(ctx, page)
	for i, j := 0, len(plants)-1; i < j; i, j = i+1, j-1 {
		plants[i], plants[j] = plants[j], plants[i]
	}
	return plants, more, err
}

type rounding struct{ plant.Store }

func (s rounding) Get(ctx context.Context, id int64) (plant.Plant, error) {
	p, err := s.Store.Get(ctx, int64(float64(id)))
	return p, err
}

var wrongServers = map[string]func(http.Handler) http.Handler{
	"has another Location": wrongResponse(func(_ *http.Request, a *response) { setIf(a.header, "Location", "/plants/7") }),
	"has the Location of another service": wrongResponse(func(_ *http.Request, a *response) {
		setIf(a.header, "Location", "http://elsewhere.invalid"+a.header.Get("Location"))
	}),
	"has a Link to another service": wrongResponse(func(_ *http.Request, a *response) {
		setIf(a.header, "Link", strings.Replace(a.header.Get("Link"), "</", "<//elsewhere.invalid/", 1))
	}),
	"has no ETag":          wrongResponse(func(_ *http.Request, a *response) { a.header.Del("ETag") }),
	"has one ETag for all": wrongResponse(func(_ *http.Request, a *response) { setIf(a.header, "ETag", `"0"`) }),
	"has no Link":          wrongResponse(func(_ *http.Request, a *response) { a.header.Del("Link") }),
	"forgets the limit": wrongResponse(func(_ *http.Request, a *response) {
		setIf(a.header, "Link", limitInLink.ReplaceAllString(a.header.Get("Link"), ""))
	}),
	"forgets the tag": wrongResponse(func(_ *http.Request, a *response) {
		setIf(a.header, "Link", tagInLink.ReplaceAllString(a.header.Get("Link"), ""))
	}),
	"has no Cache-Control":                wrongResponse(func(_ *http.Request, a *response) { a.header.Del("Cache-Control") }),
	"has a null for a list":               wrongResponse(func(_ *http.Request, a *response) { a.body = strings.Replace(a.body, "[]\n", "null\n", 1) }),
	"has one error number for two faults": wrongResponse(func(_ *http.Request, a *response) { a.body = strings.Replace(a.body, "40001", "40002", 1) }),
	"points at the whole body": wrongResponse(func(_ *http.Request, a *response) {
		a.body = regexp.MustCompile(`"pointer":"[^"]*"`).ReplaceAllString(a.body, `"pointer":""`)
	}),
	"has a redirect for a slash": wrongResponse(func(r *http.Request, a *response) {
		if a.status == 404 && strings.HasSuffix(r.URL.Path, "/") {
			a.status = 308
		}
	}),
	"has no ETag for HEAD": wrongResponse(func(r *http.Request, a *response) {
		if r.Method == "HEAD" && a.status == 200 {
			a.header.Del("ETag")
		}
	}),
	"never says 304":        wrongRequest(func(r *http.Request) { r.Header.Del("If-None-Match") }),
	"takes no If-Match":     wrongRequest(func(r *http.Request) { r.Header.Del("If-Match") }),
	"takes any credentials": wrongRequest(func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+staticToken) }),
	"takes bad tokens":      wrongRequest(func(r *http.Request) { replaceIf(r, "Bearer not-a-credential", "Bearer "+staticToken) }),
	"knows no scopes":       wrongRequest(func(r *http.Request) { replaceIf(r, "Bearer "+readOnlyToken, "Bearer "+staticToken) }),
	"takes any media type":  wrongRequest(func(r *http.Request) { mediaTypeIf(r) }),
	"takes any parameter":   wrongRequest(func(r *http.Request) { r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "unknown-parameter=1", "", 1) }),
	"takes a page of none":  wrongRequest(func(r *http.Request) { r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "limit=0", "limit=1", 1) }),
	"takes ids with zeros":  wrongRequest(func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "/01", "/1", 1) }),
	"takes fractions":       wrongBody(func(body string) string { return strings.Replace(body, ":1.0", ":1", 1) }),
	"takes null for a name": wrongBody(func(body string) string { return strings.Replace(body, `"name":null`, `"name":""`, 1) }),
	"takes trailing bytes":  wrongBody(func(body string) string { return strings.TrimSuffix(body, "x") }),
	"takes a name twice":    wrongBody(func(body string) string { return strings.Replace(body, `"x":1,"x":1,`, "", 1) }),
	"takes an empty batch": wrongBody(func(body string) string {
		return strings.Replace(body, `{"plants":[]}`, `{"plants":[{"id":1,"name":""}]}`, 1)
	}),
	"loses U+0000":            wrongBody(func(body string) string { return strings.ReplaceAll(body, `\u0000`, "") }),
	"refuses long names":      wrongBody(func(body string) string { return strings.Replace(body, strings.Repeat("x", 1000), "\xff", 1) }),
	"refuses unknown members": wrongBody(func(body string) string { return strings.Replace(body, `"unknown-member":{`, `"unknown-member":{{`, 1) }),
}

var wrongStores = map[string]func(plant.Store) plant.Store{
	"overwrites and says it did not": func(s plant.Store) plant.Store { return overwriting{s} },
	"stores nothing":                 func(s plant.Store) plant.Store { return forgetful{s} },
	"stores half a batch":            func(s plant.Store) plant.Store { return partial{s} },
	"replaces any version":           func(s plant.Store) plant.Store { return careless{s} },
	"deletes nothing":                func(s plant.Store) plant.Store { return undeleting{s} },
	"keeps the tag":                  func(s plant.Store) plant.Store { return tagKeeping{s} },
	"ignores null":                   func(s plant.Store) plant.Store { return ignoringNull{s} },
	"trims names":                    func(s plant.Store) plant.Store { return trimming{s} },
	"has one version for all":        func(s plant.Store) plant.Store { return sameVersion{s} },
	"ignores the limit by one":       func(s plant.Store) plant.Store { return generous{s} },
	"lists backwards":                func(s plant.Store) plant.Store { return backwards{s} },
	"rounds ids":                     func(s plant.Store) plant.Store { return rounding{s} },
}

var (
	limitInLink = regexp.MustCompile(`&?limit=[0-9]+`)
	tagInLink   = regexp.MustCompile(`&?tag=[^&>]*`)
)

func setIf(h http.Header, name, value string) {
	if h.Get(name) != "" {
		h.Set(name, value)
	}
}

func replaceIf(r *http.Request, old, new string) {
	if r.Header.Get("Authorization") == old {
		r.Header.Set("Authorization", new)
	}
}

func mediaTypeIf(r *http.Request) {
	switch r.Method {
	case "POST", "PUT":
		r.Header.Set("Content-Type", "application/json")
	case "PATCH":
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
}

func TestWrongServers(t *testing.T) {
	t.Parallel()
	tries := map[string]http.Handler{}
	for name, wrap := range wrongServers {
		tries[name] = wrap(realHandler(t, nil))
	}
	for name, wrap := range wrongStores {
		tries[name] = realHandler(t, wrap)
	}
	wantFaults(t, tries)
}

func TestRightServerPasses(t *testing.T) {
	t.Parallel()
	if fault, by := firstFault(t, realHandler(t, nil), ""); fault != "" {
		t.Errorf("%s: %s", by, fault)
	}
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
