package plantcontract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// The servers below have a fault each that a test of single responses, or of
// status codes alone, does not find.

// after is a server that does more than it should once it has responded.
func after(more func(next http.Handler, r *http.Request, body []byte, status int)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			a := responseOf(next, r)
			more(next, r, body, a.status)
			a.write(w)
		})
	}
}

// request sends a request of the server's own.
func request(next http.Handler, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+staticToken)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	next.ServeHTTP(w, r)
	return w
}

// withoutHeader ignores a header of requests with one of the methods.
func withoutHeader(name string, methods ...string) func(http.Handler) http.Handler {
	return wrongRequest(func(r *http.Request) {
		for _, method := range methods {
			if value := r.Header.Get(name); r.Method == method && (value == "*" || strings.HasPrefix(value, `"0`)) {
				r.Header.Del(name)
			}
		}
	})
}

// validParameter matches the values of parameters that the tests of effects use.
var validParameter = regexp.MustCompile(`^([1-9][0-9]{0,8}|value[0-9]+)$`)

// withoutParameter ignores a parameter of lists.
func withoutParameter(name string) func(http.Handler) http.Handler {
	return wrongRequest(func(r *http.Request) {
		if query := r.URL.Query(); r.Method == "GET" && len(query[name]) == 1 && validParameter.MatchString(query.Get(name)) {
			query.Del(name)
			r.URL.RawQuery = query.Encode()
		}
	})
}

// withoutQuery ignores a parameter with a valid value.
func withoutQuery(path, name string) func(http.Handler) http.Handler {
	valid := regexp.MustCompile(`^[1-9][0-9]*$|^[0-9A-Za-z_-]{10,}$|^now$`)
	return wrongRequest(func(r *http.Request) {
		if query := r.URL.Query(); r.URL.Path == path && valid.MatchString(query.Get(name)) && len(query[name]) == 1 {
			query.Del(name)
			r.URL.RawQuery = query.Encode()
		}
	})
}

func beginsAgain(r *http.Request) {
	if r.URL.Query().Get("after") == "AD7PTT2aDqEdAAAAAAAAACgAAAAAAAAAKgAAAAAAAAAAUFTG" { // of the document
		r.URL.RawQuery = ""
	}
}

func wrongEvent(pattern, replacement string) func(http.Handler) http.Handler {
	wrong := regexp.MustCompile(pattern)
	return wrongResponse(func(_ *http.Request, a *response) {
		if a.header.Get("Content-Type") == "text/event-stream" {
			a.body = wrong.ReplaceAllString(a.body, replacement)
		}
	})
}

// acceptsOldVersions takes an ETag that a plant once had for its ETag: one that it
// had since it was created, or one that it had before it was deleted.
func acceptsOldVersions(beforeDelete bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		once, life := map[string]int{}, map[string]int{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path := r.URL.Path
			if strings.HasPrefix(path, "/changes") { // which may wait for another request
				next.ServeHTTP(w, r)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			had, ok := once[path+r.Header.Get("If-Match")]
			if ok && r.Method != "GET" && beforeDelete == (had < life[path]) {
				r.Header.Set("If-Match", request(next, "GET", path, "").Header().Get("ETag"))
			}
			a := responseOf(next, r)
			if tag := a.header.Get("ETag"); tag != "" {
				once[path+tag] = life[path]
			}
			if a.status == 204 {
				life[path]++
			}
			a.write(w)
		})
	}
}

// deletesNewest deletes the plant that was created last when a request replaces
// another one.
func deletesNewest(next http.Handler) http.Handler {
	var mu sync.Mutex
	var newest string
	return after(func(next http.Handler, r *http.Request, body []byte, status int) {
		mu.Lock()
		defer mu.Unlock()
		id := requestedID.FindSubmatch(body)
		switch {
		case status != 200:
		case r.Method == "POST" && id != nil:
			newest = "/plants/" + string(id[1])
		case r.Method == "PUT" && newest != "" && r.URL.Path != newest:
			request(next, "DELETE", newest, "")
		}
	})(next)
}

// exampleResponse always returns the example of the document for an operation.
func exampleResponse(t *testing.T, operationID string) func(http.Handler) http.Handler {
	t.Helper()
	for path, item := range document(t).Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.OperationID != operationID {
				continue
			}
			for _, example := range operation.Responses.Status(200).Value.Content.Get("application/json").Examples {
				body, err := json.Marshal(example.Value.Value)
				must.NoError(t, err)
				pattern := regexp.MustCompile("^" + strings.Replace(path, "{id}", "[^/]+", 1) + "$")
				return wrongResponse(func(r *http.Request, a *response) {
					if r.Method == method && pattern.MatchString(r.URL.Path) && a.status == 200 {
						a.body = string(body)
					}
				})
			}
		}
	}
	t.Fatalf("%s has no example", operationID)
	return nil
}

var requestedID = regexp.MustCompile(`"id":([0-9]+)[,}]`)

var dishonestServers = map[string]func(http.Handler) http.Handler{
	"has a challenge of another scheme": wrongResponse(func(_ *http.Request, a *response) { setIf(a.header, "WWW-Authenticate", `Basic realm="plantstore"`) }),
	"has another ETag for HEAD": wrongResponse(func(r *http.Request, a *response) {
		if r.Method == "HEAD" {
			setIf(a.header, "ETag", `"0"`)
		}
	}),
	"has an etag that is not the ETag": wrongResponse(func(_ *http.Request, a *response) {
		a.body = regexp.MustCompile(`"etag":"`).ReplaceAllString(a.body, `"etag":"0`)
	}),
	"ignores tag":                                  withoutParameter("tag"),
	"ignores limit":                                withoutParameter("limit"),
	"ignores after":                                withoutParameter("after"),
	"has another default":                          wrongRequest(func(r *http.Request) { addIf(r, "/plants", "limit", "50") }),
	"ignores after of changes":                     withoutQuery("/changes", "after"),
	"ignores limit of changes":                     withoutQuery("/changes", "limit"),
	"ignores wait of changes":                      withoutQuery("/changes", "wait"),
	"ignores from of changes":                      withoutQuery("/changes", "from"),
	"ignores after of a stream":                    withoutQuery("/changes:stream", "after"),
	"ignores Last-Event-ID":                        wrongRequest(func(r *http.Request) { r.Header.Del("Last-Event-ID") }),
	"begins again at an unknown position":          wrongRequest(beginsAgain),
	"has events without an id":                     wrongEvent("id: [^\n]*\n", ""),
	"has events of a type":                         wrongEvent("data: ", "event: change\ndata: "),
	"has a field of an event that is unknown":      wrongEvent("data: ", "date: today\ndata: "),
	"has events with another id":                   wrongEvent("id: ", "id: A"),
	"has events that are no changes":               wrongEvent(`"id":`, `"ID":`),
	"ignores If-None-Match of GET":                 withoutHeader("If-None-Match", "GET", "HEAD"),
	"ignores If-None-Match of PUT":                 withoutHeader("If-None-Match", "PUT"),
	"ignores If-None-Match of PATCH":               withoutHeader("If-None-Match", "PATCH"),
	"ignores If-None-Match of DELETE":              withoutHeader("If-None-Match", "DELETE"),
	"ignores If-Match of GET":                      withoutHeader("If-Match", "GET", "HEAD"),
	"ignores If-Match of PUT":                      withoutHeader("If-Match", "PUT"),
	"ignores If-Match of PATCH":                    withoutHeader("If-Match", "PATCH"),
	"ignores If-Match of DELETE":                   withoutHeader("If-Match", "DELETE"),
	"accepts a version that was":                   acceptsOldVersions(false),
	"accepts a version from before it was deleted": acceptsOldVersions(true),
	"refuses an example of a request":              wrongBody(func(body string) string { return strings.Replace(body, "Ginkgo biloba", "\xff", 1) }),
	"changes a plant that it refuses to change": after(func(next http.Handler, r *http.Request, _ []byte, status int) {
		if status == 400 && (r.Method == "PUT" || r.Method == "PATCH") {
			if request(next, "GET", r.URL.EscapedPath(), "").Code == 200 {
				request(next, "PUT", r.URL.EscapedPath(), `{"name":"changed"}`)
			}
		}
	}),
	"stores a plant that it refuses to create": after(func(next http.Handler, r *http.Request, body []byte, status int) {
		// It does so only for a name that is not a string, which no sequence sends.
		if id := requestedID.FindSubmatch(body); r.Method == "POST" && status == 400 && id != nil && bytes.Contains(body, []byte(`"name":[]`)) {
			request(next, "POST", "/plants", fmt.Sprintf(`{"id":%s,"name":"stored"}`, id[1]))
		}
	}),
	"deletes the newest plant when another one is replaced": deletesNewest,
}

func addIf(r *http.Request, path, name, value string) {
	if query := r.URL.Query(); r.Method == "GET" && r.URL.Path == path && !query.Has(name) {
		if r.URL.RawQuery != "" {
			r.URL.RawQuery += "&"
		}
		r.URL.RawQuery += name + "=" + value
	}
}

func TestDishonestServers(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	tries := map[string]http.Handler{}
	for name, wrap := range dishonestServers {
		tries[name] = wrap(realHandler(t, nil))
	}
	for name, wrap := range findServers {
		tries[name] = wrap(realHandler(t, nil))
	}
	for name, wrap := range dishonestStores {
		tries[name] = realHandler(t, wrap)
	}
	for name, wrap := range findStores {
		tries[name] = realHandler(t, wrap)
	}
	for _, operation := range []string{"createPlant", "createPlants", "listPlants", "countPlants", "listTags", "getPlant", "putPlant", "patchPlant"} {
		tries["always returns the example of "+operation] = exampleResponse(t, operation)(realHandler(t, nil))
	}
	wantFaults(t, tries)
}

// Examples of responses are for readers. A service that never returns one keeps
// its promises.
func TestNoExampleIsReturned(t *testing.T) {
	for _, p := range Plants().Promises() {
		if promise := p.Name; strings.Contains(promise, "example") && !strings.Contains(promise, "request example") && !strings.Contains(promise, "parameter") {
			t.Errorf("%q is demanded", promise)
		}
	}
}
