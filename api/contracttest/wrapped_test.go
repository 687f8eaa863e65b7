package contracttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// wrapping is how a service wraps what it keeps.
type wrapping struct {
	path    string
	methods []string                         // on one thing
	wrap    func(id int, members object) any // also the items of a list
	list    func(items []any) any
	open    func(body object) any // the members in the body of a request
}

// articles are as JSON:API has it.
var articles = wrapping{
	path:    "/articles",
	methods: []string{"GET", "PATCH", "DELETE"},
	wrap: func(id int, members object) any {
		return object{"data": object{"type": "articles", "id": strconv.Itoa(id), "attributes": members}}
	},
	list: func(items []any) any {
		all := []any{}
		for _, item := range items {
			all = append(all, item.(object)["data"])
		}
		return object{"data": all}
	},
	open: func(body object) any {
		data, _ := body["data"].(map[string]any)
		id, hasID := data["id"]
		if _, isText := id.(string); data["type"] != "articles" || hasID && !isText {
			return nil
		}
		return data["attributes"]
	},
}

// books are in a member each, and their identity has another name than the parameter of the path.
var books = booksBy("book_id")

func booksBy(identity string) wrapping {
	return wrapping{
		path:    "/books",
		methods: []string{"GET", "PUT", "DELETE"},
		wrap: func(id int, members object) any {
			book := object{identity: id}
			for name, value := range members {
				book[name] = value
			}
			return object{"book": book}
		},
		list: func(items []any) any { return object{"data": object{"items": items, "total": len(items)}} },
		open: func(body object) any { return body["book"] },
	}
}

// members reads the members of a thing in a request, of which a change may lack some.
func (w wrapping) members(r *http.Request) (object, error) {
	var body object
	text, _ := io.ReadAll(r.Body)
	if r.Header.Get("Content-Type") != "application/json" {
		return nil, refused{http.StatusUnsupportedMediaType, "not JSON"}
	}
	if json.Unmarshal(text, &body) != nil {
		return nil, refused{http.StatusBadRequest, "not an object"}
	}
	sent, isObject := w.open(body).(map[string]any)
	members := object{}
	for _, name := range []string{"name", "note"} {
		value, has := sent[name]
		isNeeded := name == "name" && r.Method != http.MethodPatch
		if !isObject || has && !ofLength(1, 40)(value) || !has && isNeeded {
			return nil, refused{http.StatusBadRequest, name + " is not valid"}
		}
		if has {
			members[name] = value
		}
	}
	return members, nil
}

// service keeps things that it wraps, but does not do what a method should.
func (w wrapping) service(ignored string) *http.ServeMux {
	mux, kept, last := http.NewServeMux(), newShelf(), 0
	find := func(r *http.Request) (int, object, error) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil || kept.kept[id] == nil {
			return 0, nil, refused{http.StatusNotFound, "there is none"}
		}
		return id, kept.kept[id], nil
	}
	mux.Handle("GET "+w.path, kept.locked(func(*http.Request) (int, any, error) {
		items := []any{}
		for id := 1; id <= last; id++ {
			if kept.kept[id] != nil {
				items = append(items, w.wrap(id, kept.kept[id]))
			}
		}
		return http.StatusOK, w.list(items), nil
	}))
	mux.Handle("POST "+w.path, kept.locked(func(r *http.Request) (int, any, error) {
		members, err := w.members(r)
		if err != nil {
			return 0, nil, err
		}
		last++
		kept.kept[last] = members
		return http.StatusCreated, w.wrap(last, members), nil
	}))
	one := kept.locked(func(r *http.Request) (int, any, error) {
		id, members, err := find(r)
		var sent object
		if err == nil && slices.Contains([]string{http.MethodPut, http.MethodPatch}, r.Method) {
			sent, err = w.members(r)
		}
		switch {
		case err != nil:
			return 0, nil, err
		case r.Method == http.MethodDelete && ignored != r.Method:
			delete(kept.kept, id)
		case r.Method == http.MethodPut && ignored != r.Method:
			kept.kept[id] = sent
		case r.Method == http.MethodPatch && ignored != r.Method:
			for name, value := range sent {
				members[name] = value
			}
		}
		if r.Method == http.MethodDelete {
			return http.StatusNoContent, nil, nil
		}
		return http.StatusOK, w.wrap(id, kept.kept[id]), nil
	})
	for _, method := range w.methods {
		mux.Handle(method+" "+w.path+"/{id}", one)
	}
	return mux
}

// What is wrapped is tested as what is not: right services are accused of nothing, and an update that changes nothing and a
// deletion that deletes nothing are found, with any seed.
func TestWrapped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wrapping
		ignored string
		want    string // in a cause
	}{
		"articles":                      {articles, "", ""},
		"articles, PATCH changes none":  {articles, http.MethodPatch, "addArticle: a read does not show a change"},
		"articles, DELETE deletes none": {articles, http.MethodDelete, "getArticle succeeds for what does not exist"},
		"books":                         {books, "", ""},
		"books, PUT replaces none":      {books, http.MethodPut, "addBook: a read does not show a replacement"},
		"books, DELETE deletes none":    {books, http.MethodDelete, "getBook succeeds for what does not exist"},
	} {
		document, err := os.ReadFile("testdata/believed" + c.path + ".yaml")
		must.NoError(t, err)
		seeds := uint64(5)
		if c.want != "" {
			seeds = 2
		}
		for seed := uint64(1); seed <= seeds; seed++ {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				t.Parallel()
				causes := causeTexts(reportOf(t, document, Options{Seed: seed}, c.service(c.ignored)).Causes)
				isFound := slices.ContainsFunc(causes, func(cause string) bool { return strings.Contains(cause, c.want) })
				if c.want == "" && len(causes) > 0 || c.want != "" && !isFound {
					t.Errorf("the causes are %q, want %q", causes, c.want)
				}
			})
		}
	}
}

// reportOf runs the tests of a document on a service.
func reportOf(t *testing.T, document []byte, options Options, service *http.ServeMux) Report {
	t.Helper()
	tests, err := New(document, options)
	must.NoError(t, err)
	report, err := tests.Run(t.Context(), Target{URL: "http://wrapped.example", Transport: inProcess{framed(service)}})
	must.NoError(t, err)
	return report
}

// What is not inferred is told, with options to fill in and to paste.
func TestStub(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("testdata/believed/books.yaml")
	must.NoError(t, err)
	document = []byte(strings.ReplaceAll(string(document), "book_id", "isbn"))
	report := reportOf(t, document, Options{Seed: 1}, booksBy("isbn").service(http.MethodDelete))
	const stub = `{"Resources":[{"Create":"addBook","ID":"…","Assigned":true,"Read":"getBook","Replace":"putBook","Delete":"deleteBook"}]}`
	const missing = "getBook: no member of what addBook takes or responds with identifies what it reads"
	var summary strings.Builder
	report.Summary(&summary)
	if len(report.Causes) > 0 || report.Stub != stub || !strings.Contains(summary.String(), "not inferred: "+missing+"\n") || !strings.Contains(summary.String(), "\n"+stub+"\n") {
		t.Errorf("it is %q, and told:\n%s", report.Stub, &summary)
	}
	for ignored, want := range map[string]string{"": "[]", http.MethodDelete: "[getBook succeeds for what does not exist]"} {
		options := Options{Seed: 1}
		must.NoError(t, json.Unmarshal([]byte(strings.Replace(report.Stub, "…", "/book/isbn", 1)), &options))
		if got := fmt.Sprint(causeTexts(reportOf(t, document, options, booksBy("isbn").service(ignored)).Causes)); got != want {
			t.Errorf("without %s the causes are %s, want %s", ignored, got, want)
		}
	}
}
