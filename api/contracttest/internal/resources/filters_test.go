package resources

import (
	"slices"
	"strings"
	"testing"
)

// A filter selects what its meaning says; what may be either way is open.
func TestSelects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		meaning      Meaning
		have, wanted any
		want         string
	}{
		{Equal, "b", "b", "yes"},
		{Equal, "B", "b", "no"},
		{Equal, "bc", "b", "no"},
		{Equal, 9, "9.0", "yes"},
		{Equal, true, "true", "yes"},
		{Equal, nil, "b", "no"},
		{Equal, []any{"a", "b"}, "b", "yes"},
		{Equal, []any{"b", "a"}, "b", "yes"},
		{Equal, []any{"a", "c"}, "b", "no"},
		{Equal, "2030-01-01T12:00:00Z", "2030-01-01T13:00:00+01:00", "yes"},
		{AnyCase, "B", "b", "yes"},
		{AnyCase, "bc", "b", "no"},
		{Begins, "bc", "b", "yes"},
		{Begins, "Bc", "b", "open"},
		{Begins, "cb", "b", "no"},
		{Contains, "abc", "b", "yes"},
		{Contains, "aBc", "b", "open"},
		{Contains, "ac", "b", "no"},
		{Contains, []any{"aBc", "abc"}, "b", "yes"},
		{Contains, []any{"aBc", "ac"}, "b", "open"},
		{Least, 10, 9, "yes"}, // as numbers, not as texts
		{Least, 9, 9, "yes"},
		{Least, 8, 9, "no"},
		{Least, nil, 9, "no"},
		{Least, "x", 9, "yes"}, // as texts
		{Most, 9, "x", "yes"},
		{Most, "2030-01-01T12:00:00Z", "x", "yes"},
		{Least, "x", "2030-01-01T12:00:00Z", "yes"},
		{Most, "2030-01-01", "2030-01-02", "yes"},
		{Most, "2030-01-02", "2030-01-02", "yes"},
		{Most, "2030-01-03", "2030-01-02", "no"},
		{Above, 10, 9, "yes"},
		{Below, 8, 9, "yes"},
		{Above, 9, 9, "open"},
		{Above, 8, 9, "no"},
		{Below, 9, 9, "open"},
		{Below, 10, 9, "no"},
	} {
		got := "no"
		switch selects, isOpen := c.meaning.Selects(c.have, c.wanted); {
		case selects:
			got = "yes"
		case isOpen:
			got = "open"
		}
		if got != c.want {
			t.Errorf("%v for %v, %q: %s, want %s", c.have, c.wanted, c.meaning, got, c.want)
		}
	}
}

// A parameter with the name and the schema of a member is no guess, and neither is a bound of a member. A guess has a question
// mark.
func TestFilters(t *testing.T) {
	t.Parallel()
	const show = `{type: object, properties: {id: {type: string}, title: {type: string, maxLength: 60}, state: {type: string, enum: [a, b]}, price: {type: integer}, ` +
		`day: {type: string, format: date}, begin: {type: string, format: date-time}, min_age: {type: integer}, time_to_live: {type: integer}, from_city: {type: string, maxLength: 60}, level: {type: integer, enum: [1, 2]}, tags: {type: array, items: {type: string}}}}`
	number, day, moment := "type: integer", "type: string, format: date", "type: string, format: date-time"
	text, state := "type: string, maxLength: 60", "type: string, enum: [a, b]"
	for _, c := range []struct{ parameters, want string }{
		{query("title", text), "title: title"},
		{query("title", "type: string"), "title: title?"},
		{query("Title", text), "Title: title?"},
		{query("titles", text), "titles: title?"},
		{query("title", text+", format: email"), "title: title?"},
		{query("title", text+", pattern: x"), "title: title?"},
		{query("state", state), "state: state"},
		{query("state", "type: string, enum: [a, b, c]"), "state: state?"},
		{query("price", number), "price: price"},
		{query("price", "type: integer, minimum: 1"), "price: price?"},
		{query("tags", "type: string"), "tags: tags"},
		{query("tag", "type: string"), "tag: tags?"},
		{query("day", day), "day: day"},
		{query("min_age", number), "min_age: min_age?"},
		{query("time_to_live", number), "time_to_live: time_to_live"},
		{query("from_city", text), "from_city: from_city"},
		{query("level_from", "type: integer, enum: [1, 2]"), ""}, // such numbers may be names
		{query("min_price", number), "min_price: price >="},
		{query("maxPrice", number), "maxPrice: price <="},
		{query("price[gte]", number), "price[gte]: price >="},
		{query("price__lt", number), "price__lt: price below"},
		{query("price_gt", number), "price_gt: price above"},
		{query("day_from", day), "day_from: day >="},
		{query("day_after", day), "day_after: day above"},
		{query("begin_from", moment), "begin_from: begin above"},
		{query("begin_to", moment), "begin_to: begin below"},
		{query("begin_from", day), ""}, // of what format it compares, nothing says
		{query("from", day) + ", " + query("to", day), "from: day >=, to: day <="},
		{query("since", day) + ", " + query("until", day), "since: day above, until: day below"},
		{query("from", day), ""},
		{query("other", day), ""},
		{query("min", day) + ", " + query("max", day), ""},
		{query("from", number) + ", " + query("to", number), ""}, // they may be positions
		{query("min", number) + ", " + query("max", number), ""}, // of two members with numbers
		{"{name: min, in: query, description: The lowest price., schema: {type: integer}}, " + query("max", number), "min: price >="},
		{"{name: min, in: query, description: The lowest of all., schema: {type: integer}}, " + query("max", number), ""},
		{query("title_from", text), ""},
		{query("starts", text), ""},
		{"{name: title, in: query, description: The title contains this., schema: {" + text + "}}", "title: title?"},
		{"{name: day_from, in: query, description: Shows after this day., schema: {" + day + "}}", "day_from: day above"},
	} {
		document := strings.NewReplacer("CUP", show, "PARAMETERS", c.parameters, "MEDIA", "application/json", "RESULT", "{type: array, items: "+show+"}").Replace(cupsDocument)
		var filters []string
		for _, f := range found(t, document, Declarations{}).Lists[0].Selects {
			said := f.Parameter + ": " + f.String()
			if f.IsGuess {
				said += "?"
			}
			filters = append(filters, said)
		}
		if got := strings.Join(filters, ", "); got != c.want {
			t.Errorf("%s: %q, want %q", c.parameters, got, c.want)
		}
	}
}

// A description names a member in a longer or a shorter form.
func TestNamedIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		description, name string
		want              bool
	}{
		{"The lowest price.", "price", true},
		{"Shows that open on this day or later.", "opens", true},
		{"The first opening.", "open", true},
		{"The earliest ShowBegin.", "show_begin", true},
		{"On this day.", "day", true},
		{"On these days.", "day", false},
		{"On this day.", "days", false},
		{"The lowest of all.", "price", false},
	} {
		if got := isNamedIn(c.description, c.name); got != c.want {
			t.Errorf("%q names %s: %v, want %v", c.description, c.name, got, c.want)
		}
	}
}

// It is certain what a filter selects, unless it is a guess, or its bound or the case of its letters is open.
func TestIsCertain(t *testing.T) {
	t.Parallel()
	for _, meaning := range Meanings {
		want := slices.Contains([]Meaning{Equal, AnyCase, Least, Most}, meaning)
		if got := (Filter{Meaning: meaning}).IsCertain(); got != want {
			t.Errorf("%q is certain: %v, want %v", meaning, got, want)
		}
		if (Filter{Meaning: meaning, IsGuess: true}).IsCertain() {
			t.Errorf("a guess of %q is certain", meaning)
		}
	}
}

// The options may have a meaning after the name of a member.
func TestDeclaredFilters(t *testing.T) {
	t.Parallel()
	for says, want := range map[string]Filter{
		"title":          {Parameter: "p", Member: "title"},
		"title contains": {Parameter: "p", Member: "title", Meaning: Contains},
		"price >=":       {Parameter: "p", Member: "price", Meaning: Least},
		"the title":      {Parameter: "p", Member: "the title"},
		"above":          {Parameter: "p", Member: "above"},
	} {
		if got := declaredFilter("p", says); got != want || got.String() != says {
			t.Errorf("%q is %+v, written %q", says, got, got)
		}
	}
	checkWords(t, saysOther, strings.Fields("contains prefix suffix begins starts partial substring search insensitive case fuzzy similar like match pattern wildcard")...)
	checkWords(t, saysOpen, strings.Fields("exclusive strictly before after until since")...)
}
