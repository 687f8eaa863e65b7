package contracttest

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// concertFaults are what is wrong with a calendar of concerts, by name, and what is then broken.
var concertFaults = map[string]string{
	"state sold_out is never found":          "listConcerts, effect of parameter state",
	"state is ignored":                       "listConcerts, effect of parameter state",
	"state on_sale finds sold_out":           "listConcerts, effect of parameter state",
	"title by its beginning":                 "listConcerts, effect of parameter title",
	"title by its end":                       "listConcerts, effect of parameter title",
	"title by a part":                        "listConcerts, effect of parameter title",
	"title in any case":                      "listConcerts, effect of parameter title",
	"title finds nothing":                    "listConcerts, effect of parameter title",
	"title or city":                          "listConcerts, filters together",
	"city is ignored beside title":           "listConcerts, filters together",
	"price is ignored beside state":          "listConcerts, filters together",
	"max_price is ignored beside min_price":  "listConcerts, filters together",
	"seated=false is absent":                 "listConcerts, effect of parameter seated",
	"price=0 is absent":                      "listConcerts, effect of parameter price",
	"only the first tag":                     "listConcerts, effect of parameter tags",
	"from without its day":                   "listConcerts, effect of parameter from",
	"to without its day":                     "listConcerts, effect of parameter to",
	"from is ignored":                        "listConcerts, effect of parameter from",
	"min_price without its value":            "listConcerts, effect of parameter min_price",
	"max_price is ignored":                   "listConcerts, effect of parameter max_price",
	"filters select of the page":             "listConcerts, effect of parameter title",
	"the second page is empty with a filter": "listConcerts, effect of parameter title",
	"total without the filter":               "listConcerts, effect of parameter title",
	"a deleted concert is listed":            "sequence, listConcerts shows what exists",
	"deleteConcert deletes nothing":          "sequence, addConcert: a deleted resource is gone",
	"deleteVenue deletes nothing":            "sequence, listVenues shows what exists",
	"deletePoster deletes nothing":           "sequence, addPoster: a deleted resource is gone",
	"deleteTicket deletes nothing":           "sequence, addTicket: a deleted resource is gone",
}

// calendar is a service of concerts with a fault, or with a habit that a right service may have.
type calendar struct{ has func(what string) bool }

var concertMembers = map[string]member{
	"title": {true, ofLength(1, 60)}, "city": {true, ofLength(1, 40)}, "date": {true, isDay},
	"state":  {true, func(value any) bool { return slices.Contains(concertStates, fmt.Sprint(value)) }},
	"price":  {false, isPrice},
	"seated": {false, func(value any) bool { _, isBool := value.(bool); return isBool }},
	"tags": {false, func(value any) bool {
		tags, isArray := value.([]any)
		isWrong := func(tag any) bool { return !ofLength(1, 20)(tag) }
		return isArray && len(tags) <= 5 && !slices.ContainsFunc(tags, isWrong)
	}},
}

var concertStates = []string{"announced", "on_sale", "sold_out", "cancelled"}

func isPrice(value any) bool {
	price, isNumber := value.(float64)
	return isNumber && price >= 0 && price <= 1000 && price == float64(int(price))
}

// concerts returns the service. All of its resources but concerts have a name only.
func concerts(has func(what string) bool) *http.ServeMux {
	c := calendar{has}
	mux, kept := http.NewServeMux(), newShelf()
	ghosts := []object{} // deleted, and still listed
	mux.Handle("POST /concerts", kept.locked(func(r *http.Request) (int, any, error) {
		read, err := readObject(r, concertMembers)
		if err != nil {
			return 0, nil, err
		}
		maps.DeleteFunc(read, func(name string, _ any) bool { return concertMembers[name].allows == nil })
		return http.StatusCreated, kept.add(read), nil
	}))
	mux.Handle("GET /concerts", kept.locked(func(r *http.Request) (int, any, error) {
		return c.list(slices.Concat(kept.all(), ghosts), r.URL.Query())
	}))
	mux.Handle("GET /concerts/{id}", kept.locked(func(r *http.Request) (int, any, error) {
		found, err := kept.find(r)
		return http.StatusOK, found, err
	}))
	mux.Handle("DELETE /concerts/{id}", kept.locked(func(r *http.Request) (int, any, error) {
		found, err := kept.find(r)
		switch {
		case err != nil:
			return 0, nil, err
		case has("a deleted concert is listed"):
			ghosts = append(ghosts, found)
		}
		if !has("deleteConcert deletes nothing") {
			delete(kept.kept, found["id"].(int))
		}
		return http.StatusNoContent, nil, nil
	}))
	for plural, noun := range map[string]string{"venues": "Venue", "posters": "Poster", "tickets": "Ticket"} {
		c.named(mux, plural, noun)
	}
	return mux
}

// named adds a resource that has a name. To delete what does not exist is a failure only where the document says so.
func (c calendar) named(mux *http.ServeMux, plural, noun string) {
	kept := newShelf()
	mux.Handle("POST /"+plural, kept.locked(func(r *http.Request) (int, any, error) {
		read, err := readObject(r, map[string]member{"name": {true, ofLength(1, 40)}})
		if err != nil {
			return 0, nil, err
		}
		return http.StatusCreated, kept.add(object{"name": read["name"]}), nil
	}))
	if noun == "Venue" {
		mux.Handle("GET /"+plural, kept.locked(func(*http.Request) (int, any, error) { return http.StatusOK, kept.all(), nil }))
	}
	if noun == "Poster" {
		mux.Handle("GET /"+plural+"/{id}", kept.locked(func(r *http.Request) (int, any, error) {
			found, err := kept.find(r)
			return http.StatusOK, found, err
		}))
	}
	mux.Handle("DELETE /"+plural+"/{id}", kept.locked(func(r *http.Request) (int, any, error) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil || id < 1 || id > 1e9 {
			return 0, nil, refused{http.StatusBadRequest, "id is not valid"}
		}
		if noun == "Ticket" && kept.kept[id] == nil {
			return 0, nil, refused{http.StatusNotFound, "there is none"}
		}
		if !c.has("delete" + noun + " deletes nothing") {
			delete(kept.kept, id)
		}
		return http.StatusNoContent, nil, nil
	}))
}

// concertParameters are what the list takes, with what it asks of each.
var concertParameters = map[string]func(text string) bool{
	"title": func(text string) bool { return ofLength(1, 60)(text) },
	"city":  func(text string) bool { return ofLength(1, 40)(text) },
	"q":     func(text string) bool { return ofLength(1, 60)(text) },
	"tags":  func(text string) bool { return ofLength(1, 20)(text) },
	"state": func(text string) bool { return slices.Contains(concertStates, text) },
	"from":  func(text string) bool { return isDay(text) },
	"to":    func(text string) bool { return isDay(text) },
	"price": isInteger(0, 1000), "min_price": isInteger(0, 1000), "max_price": isInteger(0, 1000),
	"starts": func(text string) bool { return ofLength(1, 60)(text) },
	"after":  func(text string) bool { return isDay(text) }, "before": func(text string) bool { return isDay(text) },
	"date_after": func(text string) bool { return isDay(text) }, "date_before": func(text string) bool { return isDay(text) },
	"minimum": isInteger(0, 1000),
	"limit":   isInteger(1, 100), "offset": isInteger(0, 1_000_000),
	"seated": func(text string) bool { return text == "true" || text == "false" },
}

func isInteger(low, high int) func(text string) bool {
	return func(text string) bool {
		number, err := strconv.Atoi(text)
		return err == nil && number >= low && number <= high
	}
}

func (c calendar) list(all []object, query url.Values) (int, any, error) {
	for name, allows := range concertParameters {
		isLong := c.has("short "+name) && !ofLength(1, 30)(query.Get(name))
		if query.Has(name) && (isLong || !allows(query.Get(name))) {
			return 0, nil, refused{http.StatusBadRequest, name + " is not valid"}
		}
	}
	limit, offset := 20, 0
	if query.Has("limit") {
		limit, _ = strconv.Atoi(query.Get("limit")) // it was checked
	}
	offset, _ = strconv.Atoi(query.Get("offset")) // 0 if there is none
	isUnselected := func(one object) bool { return !c.selects(one, query) }
	found := slices.DeleteFunc(append([]object{}, all...), isUnselected)
	total := len(found)
	if c.has("total without the filter") {
		total = len(all)
	}
	if c.has("filters select of the page") {
		found = all
	}
	page := found[min(offset, len(found)):min(offset+limit, len(found))]
	if c.has("filters select of the page") {
		page = slices.DeleteFunc(append([]object{}, page...), isUnselected)
	}
	if c.has("the second page is empty with a filter") && query.Has("title") && offset > 0 {
		page = []object{}
	}
	return http.StatusOK, object{"items": page, "total": total}, nil
}

// selects reports whether a query selects a concert.
func (c calendar) selects(one object, query url.Values) bool {
	parts := map[string]func(text string) bool{
		"title": func(text string) bool { return c.selectsTitle(one["title"].(string), text) },
		"city":  func(text string) bool { return c.selectsCity(one["city"].(string), text) },
		"state": func(text string) bool { return c.selectsState(one["state"].(string), text) },
		"q": func(text string) bool {
			return strings.Contains(strings.ToLower(fmt.Sprint(one["title"], " ", one["city"])), strings.ToLower(text))
		},
		"seated": func(text string) bool { return fmt.Sprint(one["seated"]) == text },
		"price":  func(text string) bool { return fmt.Sprint(one["price"]) == text },
		"tags":   func(text string) bool { return c.selectsTag(one, text) },
		"from": func(text string) bool {
			day := one["date"].(string)
			return day > text || day == text && !c.has("from without its day")
		},
		"to": func(text string) bool {
			day := one["date"].(string)
			return day < text || day == text && !c.has("to without its day")
		},
		"date_after":  func(text string) bool { return one["date"].(string) > text },
		"date_before": func(text string) bool { return one["date"].(string) < text },
		"starts":      func(text string) bool { return strings.HasPrefix(one["title"].(string), text) },
		"minimum":     func(text string) bool { return c.compares(one, text, 1, "") },
		"after":       func(text string) bool { return one["date"].(string) > text },
		"before":      func(text string) bool { return one["date"].(string) < text },
		"min_price":   func(text string) bool { return c.compares(one, text, 1, "min_price without its value") },
		"max_price":   func(text string) bool { return c.compares(one, text, -1, "") },
	}
	selected := map[string]bool{}
	for name, selects := range parts {
		if query.Has(name) && !c.ignores(name, query) {
			selected[name] = selects(query.Get(name))
		}
	}
	if c.has("title or city") && query.Has("title") && query.Has("city") {
		either := selected["title"] || selected["city"]
		selected["title"], selected["city"] = either, either
	}
	return !slices.Contains(slices.Collect(maps.Values(selected)), false)
}

// ignores reports whether a filter has no effect.
func (c calendar) ignores(name string, query url.Values) bool {
	switch {
	case c.has(name + " is ignored"), c.has(name + "=" + query.Get(name) + " is absent"):
		return true
	case name == "city":
		return query.Has("title") && c.has("city is ignored beside title")
	case name == "price":
		return query.Has("state") && c.has("price is ignored beside state")
	case name == "max_price":
		return query.Has("min_price") && c.has("max_price is ignored beside min_price")
	}
	return false
}

func (c calendar) selectsTitle(title, text string) bool {
	switch {
	case c.has("title by its beginning"):
		return strings.HasPrefix(title, text)
	case c.has("title by its end"):
		return strings.HasSuffix(title, text)
	case c.has("title by a part"):
		return strings.Contains(title, text)
	case c.has("title in any case"):
		return strings.EqualFold(title, text)
	}
	return title == text && !c.has("title finds nothing")
}

func (c calendar) selectsCity(city, text string) bool {
	if c.has("city in any case") {
		return strings.EqualFold(city, text)
	}
	return city == text
}

func (c calendar) selectsState(state, text string) bool {
	switch {
	case c.has("state sold_out is never found") && text == "sold_out":
		return false
	case c.has("state on_sale finds sold_out") && text == "on_sale":
		return state == "on_sale" || state == "sold_out"
	}
	return state == text
}

func (c calendar) selectsTag(one object, text string) bool {
	tags, _ := one["tags"].([]any)
	if c.has("only the first tag") {
		tags = tags[:min(1, len(tags))]
	}
	return slices.Contains(tags, any(text))
}

// compares holds a price against a bound: from it on if sign is 1, up to it if sign is -1.
func (c calendar) compares(one object, text string, sign float64, withoutEdge string) bool {
	price, hasPrice := one["price"].(float64)
	bound, _ := strconv.ParseFloat(text, 64) // it was checked
	isEdge := price == bound && !c.has(withoutEdge)
	return hasPrice && ((price-bound)*sign > 0 || isEdge)
}

// concertsDocument is the document of the service, in which some texts are replaced.
func concertsDocument(t *testing.T, replaced ...string) []byte {
	t.Helper()
	document, err := os.ReadFile("testdata/concerts.yaml")
	must.NoError(t, err)
	return []byte(strings.NewReplacer(replaced...).Replace(string(document)))
}

// concertsReport runs the tests of the document against a calendar.
func concertsReport(t *testing.T, document []byte, options Options, has func(what string) bool) Report {
	t.Helper()
	tests, err := New(document, options)
	must.NoError(t, err)
	report, err := tests.Run(t.Context(), Target{URL: "http://concerts.example", Transport: inProcess{framed(concerts(has))}})
	must.NoError(t, err)
	return report
}

// Each fault of a filter or of a deletion is found with the document alone, with any seed.
func TestConcertFaults(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	document := concertsDocument(t)
	for fault, want := range concertFaults {
		for seed := uint64(1); seed <= seeds(t); seed++ {
			t.Run(fmt.Sprintf("%s/%d", fault, seed), func(t *testing.T) {
				t.Parallel()
				report := concertsReport(t, document, Options{Seed: seed}, func(what string) bool { return what == fault })
				var broken []string
				for _, promise := range report.Promises {
					if promise.State == "broken" {
						broken = append(broken, promise.Name)
					}
				}
				if !slices.Contains(broken, want) {
					t.Errorf("broken are %q, want %q", broken, want)
				}
			})
		}
	}
}

// A right calendar is accused of nothing, whatever its filters mean. Where that is a guess, the report says what the options need.
func TestRightConcerts(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	const title = "{name: title, in: query, schema: {type: string, minLength: 1, maxLength: 60}}"
	const from = "{name: from, in: query, schema: {type: string, format: date}}"
	const to = "{name: to, in: query, schema: {type: string, format: date}}"
	for name, c := range map[string]struct {
		replaced []string // texts of the document, and what replaces them
		has      []string
		filter   string // of the options
		why      string // an effect is not tested
	}{
		"as it is": {},
		"contains, as described": {
			replaced: []string{title, strings.Replace(title, "query,", "query, description: The title contains this.,", 1)},
			has:      []string{"title by a part"},
			why:      `"title":"title contains"`,
		},
		"any case, with another schema": {replaced: []string{"city, in: query, schema: {type: string, minLength: 1, maxLength: 40}", "city, in: query, schema: {type: string, minLength: 1, maxLength: 30}"}, has: []string{"city in any case", "short city"}, why: `"city":"city anycase"`},
		"begins, with another schema":   {replaced: []string{title, strings.Replace(title, "60", "30", 1)}, has: []string{"title by its beginning", "short title"}, why: `"title":"title begins"`},
		"begins, declared":              {has: []string{"title by its beginning"}, filter: "title begins"},
		"contains, declared":            {has: []string{"title by a part"}, filter: "title contains"},
		"any case, declared":            {has: []string{"title in any case"}, filter: "title anycase"},
		"another name":                  {replaced: []string{"name: title, in: query", "name: starts, in: query"}},
		"exclusive before and after":    {replaced: []string{from, strings.Replace(from, "from", "after", 1), to, strings.Replace(to, "to", "before", 1)}},
		"exclusive, with the member":    {replaced: []string{from, strings.Replace(from, "from", "date_after", 1), to, strings.Replace(to, "to", "date_before", 1)}},
		"exclusive from, as described":  {replaced: []string{from, strings.Replace(from, "query,", "query, description: Concerts after this day.,", 1)}, has: []string{"from without its day"}},
		"an unknown bound is no filter": {replaced: []string{"name: min_price", "name: minimum"}},
	} {
		document := concertsDocument(t, c.replaced...)
		for seed := uint64(1); seed <= seeds(t); seed++ {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				t.Parallel()
				options := Options{Seed: seed}
				if c.filter != "" {
					options.Lists = []List{{Operation: "listConcerts", Create: "addConcert", ID: "id", Items: "items", Limit: "limit", Offset: "offset", Filters: map[string]string{"title": c.filter}}}
				}
				report := concertsReport(t, document, options, func(what string) bool { return slices.Contains(c.has, what) })
				for _, cause := range causeTexts(report.Causes) {
					t.Errorf("a right service is accused: %s", cause)
				}
				isSaid := func(promise Promise) bool { return promise.IsNotTested() && strings.Contains(promise.Why, c.why) }
				if c.why != "" && !slices.ContainsFunc(report.Promises, isSaid) {
					t.Errorf("no promise is not tested because of %q", c.why)
				}
			})
		}
	}
}
