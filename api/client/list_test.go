package client_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// collect returns the items of a sequence before its error.
func collect[T any](all iter.Seq2[T, error]) (got []T, err error) {
	for item, err := range all {
		if err != nil {
			return got, err
		}
		got = append(got, item)
	}
	return got, nil
}

// ids collects the ids of a sequence.
func ids(all iter.Seq2[client.Plant, error]) (got []int64, err error) {
	plants, err := collect(all)
	for _, p := range plants {
		got = append(got, p.ID)
	}
	return got, err
}

// An error ends the loop, after the plants before it. TestList has more of All.
func TestAll(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), clienttest.New(t)
	c := server.Client()
	got, err := ids(c.All(ctx))
	if len(got) != 0 || err != nil {
		t.Errorf("All of an empty store is %v, %v", got, err)
	}
	wantError(t, second(ids(c.All(ctx, client.PageSize(0)))), client.ErrInvalidParameter)
	createMany(t, c, 9)
	seen, failures := 0, 0
	for p, err := range c.All(ctx, client.PageSize(2)) {
		switch {
		case err != nil:
			failures++
			wantError(t, err, client.ErrUnavailable)
		case p.ID == 1:
			server.Fail(10, clienttest.Unavailable)
			fallthrough
		default:
			seen++
		}
	}
	if seen != 2 || failures != 1 {
		t.Errorf("%d plants and %d errors, want 2 and 1", seen, failures)
	}
}

// A link leads to the next page of this service, whatever its host and path are.
func TestLinks(t *testing.T) {
	t.Parallel()
	plant := func(id int) string {
		return fmt.Sprintf(`{"id":%d,"name":"a","etag":"e","created_at":"2026-11-20T09:00:00.000001Z","updated_at":"2026-11-20T09:00:00.000001Z"}`, id)
	}
	for _, c := range []struct {
		name  string
		links []string
		page  int // the id of the plant of the second page
		want  string
		err   string
	}{
		{"relative", []string{`</plants?after=1>; rel="next"`}, 2, "[1 2]", ""},
		{"another host", []string{`<http://127.0.0.1:1/plants?after=1>; rel="next"`}, 2, "[1 2]", ""},
		{"unquoted among others", []string{`</s.css?a>; rel="preload"; as=style, </x?y>; rel="up"`, `</plants?after=1>;rel=Next`}, 2, "[1 2]", ""},
		{"missing", nil, 2, "[1]", ""},
		{"of another relation", []string{`</plants?after=1>; rel="prev"`}, 2, "[1]", ""},
		{"without query", []string{`</plants>; rel="next"`}, 2, "[]", "the link to the next page is"},
		{"no URL", []string{`<http://[::1?after=1>; rel="next"`}, 2, "[]", "the link to the next page is"},
		{"empty pages in circles", []string{`</plants?after=1>; rel="next"`}, 0, "[1]", "the same page"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plants := at(t, handle(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path != "/garden/plants":
					t.Errorf("a request for %s", r.URL)
				case r.URL.Query().Get("after") == "":
					w.Header()["Link"] = c.links
					fmt.Fprintf(w, "[%s]", plant(1))
				case c.page == 0:
					w.Header()["Link"] = c.links
					fmt.Fprint(w, "[]")
				default:
					fmt.Fprintf(w, "[%s]", plant(c.page))
				}
			})+"/garden")
			got, err := ids(plants.All(t.Context()))
			if fmt.Sprint(got) != c.want || (err == nil) != (c.err == "") ||
				err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("All is %v, %v, want %s and %q", got, err, c.want, c.err)
			}
		})
	}
}

// garden starts a service with plants whose names are equal, differ only in case, or begin
// with one another, and whose order of ids is another one.
func garden(t *testing.T) (*clienttest.Server, *client.Client) {
	t.Helper()
	server := clienttest.New(t)
	c := server.Client()
	_, err := c.CreateBatch(t.Context(), []client.Plant{
		{ID: 9, Name: "ficus", Tag: new("Moraceae")},
		{ID: 2, Name: "Ficus", Tag: new("Moraceae")},
		{ID: 5, Name: "FICUS"},
		{ID: 8, Name: "Fic", Tag: new("")},
		{ID: 1, Name: "Ficus lyrata", Tag: new("Moraceae & é")},
		{ID: 3, Name: "étoile"},
		{ID: 4, Name: "Abies", Tag: new("Pinaceae")},
	})
	must.NoError(t, err)
	return server, c
}

func TestOrderOfUpdates(t *testing.T) {
	t.Parallel()
	server, c := garden(t)
	for _, id := range []int64{5, 1, 9, 5} {
		must.NoError(t, second(c.Patch(t.Context(), id, client.Patch{Name: new(rand.Text())})))
	}
	server.Fail(1, clienttest.Cut)
	got, err := ids(c.All(t.Context(), client.OrderByUpdate(), client.PageSize(2)))
	if err != nil || len(got) != 7 || fmt.Sprint(got[:3]) != "[5 9 1]" {
		t.Errorf("All is %v, %v, want 5, 9, 1 and the others", got, err)
	}
	reversed, err := ids(c.All(t.Context(), client.OrderByUpdateAscending(), client.PageSize(2)))
	if slices.Reverse(reversed); err != nil || !slices.Equal(reversed, got) {
		t.Errorf("in ascending order All is the reverse of %v, %v, want that of %v", reversed, err, got)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server, c := garden(t)
	for _, test := range []struct {
		what   string
		filter []client.Filter
		want   int
	}{
		{"all", nil, 7},
		{"a tag", []client.Filter{client.HasTag("Moraceae")}, 2},
		{"the empty tag", []client.Filter{client.HasTag("")}, 1},
		{"a prefix", []client.Filter{client.HasNamePrefix("ficus")}, 4},
		{"parts and a tag", []client.Filter{client.HasNameParts("cus fi"), client.HasTagPrefix("Mor")}, 3},
	} {
		server.Fail(1, clienttest.Cut)
		if n, more, err := c.Count(ctx, test.filter...); n != test.want || more || err != nil {
			t.Errorf("%s: Count = %d, %t, %v, want %d", test.what, n, more, err, test.want)
		}
	}
	n, more, err := at(t, handle(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"count":100000,"more":true}`)
	})).Count(ctx)
	if n != 100_000 || !more || err != nil {
		t.Errorf("Count = %d, %t, %v, want 100,000 and more", n, more, err)
	}
	if _, _, err := at(t, handle(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) })).Count(ctx); err == nil {
		t.Error("a response without a count is a success")
	}
	_, _, err = c.Count(ctx, client.HasTag("Moraceae"), client.HasNamePrefix("f"))
	wantError(t, err, client.ErrInvalidParameter)
}

func TestTags(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server, c := garden(t)
	for prefix, want := range map[string]string{
		"":             `["" "Moraceae" "Moraceae & é" "Pinaceae"]`,
		"Mor":          `["Moraceae" "Moraceae & é"]`,
		"Moraceae & é": `["Moraceae & é"]`,
		"mor":          `[]`,
	} {
		server.Fail(1, clienttest.Cut)
		if got, err := collect(c.Tags(ctx, prefix)); fmt.Sprintf("%q", got) != want || err != nil {
			t.Errorf("%q: Tags is %q, %v, want %s", prefix, got, err, want)
		}
	}
	wantError(t, second(collect(c.Tags(ctx, strings.Repeat("a", 257)))), client.ErrInvalidParameter)
	plants := make([]client.Plant, 1001)
	for i := range plants {
		plants[i] = client.Plant{ID: 1000 + int64(i), Name: "n", Tag: new(fmt.Sprintf("x%04d", i))}
	}
	for batch := range slices.Chunk(plants, 1000) {
		must.NoError(t, second(c.CreateBatch(ctx, batch)))
	}
	if tags, err := collect(c.Tags(ctx, "x")); len(tags) != 1001 || tags[1000] != "x1000" || err != nil {
		t.Errorf("Tags has %d tags of two pages, %v", len(tags), err)
	}
}

// Each parameter of a list has an option, and Count sends those that it shares with a list.
func TestEveryParameterHasAnOption(t *testing.T) {
	t.Parallel()
	var sent url.Values
	c := at(t, handle(t, func(w http.ResponseWriter, r *http.Request) {
		sent = r.URL.Query()
		fmt.Fprint(w, map[string]string{"/plants": "[]", "/plants:count": `{"count":1,"more":false}`}[r.URL.Path])
	}))
	options := []client.ListOption{
		client.HasTag("a"), client.HasTagPrefix("a"), client.HasNameParts("a"), client.StartAfter(1), client.HasNamePrefix("a"),
		client.OrderByName(), client.PageSize(1),
		client.Continue("cursor=00"),
	}
	for f := range reflect.TypeFor[plantapi.ListPlantsParams]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("form"), ",")
		i := slices.IndexFunc(options, func(option client.ListOption) bool {
			_, err := c.List(t.Context(), option)
			return err == nil && sent.Has(name)
		})
		if i < 0 {
			t.Errorf("no option of this test sends %s: add one to api/client/list.go and here", name)
		}
		if _, counts := reflect.TypeFor[plantapi.CountPlantsParams]().FieldByName(f.Name); i < 0 || !counts {
			continue
		}
		filter, ok := options[i].(client.Filter)
		if !ok {
			t.Errorf("the option of %s in api/client/list.go is not a Filter, but countPlants has the parameter", name)
		} else if _, _, err := c.Count(t.Context(), filter); err != nil || !sent.Has(name) {
			t.Errorf("Count in api/client/list.go with the option of %s sends %v, %v", name, sent, err)
		}
	}
}

// A program can hand the place of a page to its users.
func TestList(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server, c := garden(t)
	for want, opts := range map[string][]client.ListOption{
		"[1 2] [3 4] [5 8] [9]":       {client.PageSize(2)},
		"[4 8] [2 5] [9 1] [3]":       {client.PageSize(2), client.OrderByName()},
		"[8 2] [5 9] [1]":             {client.PageSize(2), client.HasNamePrefix("fic")},
		"[2 9]":                       {client.PageSize(2), client.HasTag("Moraceae")},
		"[4 5] [8 9]":                 {client.PageSize(2), client.StartAfter(3)},
		"[]":                          {client.HasTag("Rosaceae")},
		"[8]":                         {client.HasTag("")},
		"[1]":                         {client.HasTag("Moraceae & é")},
		"[1 2 3 4 5 8 9]":             nil,
		"[4 8 2] [5 9 1] [3]":         {client.OrderByName(), client.PageSize(3)},
		"[8 2 5 9 1]":                 {client.HasNamePrefix("f")},
		"[1] [2] [3] [4] [5] [8] [9]": {client.PageSize(1)},
		"[9 8] [5 4] [3 2] [1]":       {client.PageSize(2), client.OrderByIDDescending()},
		"[9 2]":                       {client.HasTag("Moraceae"), client.OrderByIDDescending()},
		"[3 1 9] [5 2 8] [4]":         {client.PageSize(3), client.OrderByNameDescending()},
		"[1 9] [5 2]":                 {client.PageSize(2), client.HasNamePrefix("ficu"), client.OrderByNameDescending()},
		"[2 5] [9 1]":                 {client.PageSize(2), client.HasNameParts("us IC")},
		"[5 8 9]":                     {client.HasNameParts("fic"), client.OrderByID(), client.StartAfter(2)},
		"[2 9 1]":                     {client.HasTagPrefix("Mor")},
		"[9] [2]":                     {client.PageSize(1), client.HasTag("Moraceae"), client.OrderByNameDescending()},
		"[8 2 9 1 4 3 5]":             {client.OrderByTag()},
		"[4 1 9] [2 8 5] [3]":         {client.PageSize(3), client.OrderByTagDescending()},
	} {
		var all []int64
		var pages []string
		for next, first := "", true; next != "" || first; first = false {
			server.Fail(1, clienttest.Cut)
			page, err := c.List(ctx, append(opts[:len(opts):len(opts)], client.Continue(next))...)
			must.NoError(t, err)
			var got []int64
			for _, p := range page.Plants {
				got = append(got, p.ID)
			}
			all, pages, next = append(all, got...), append(pages, fmt.Sprint(got)), page.Next
		}
		if got := strings.Join(pages, " "); got != want {
			t.Errorf("the pages are %s, want %s", got, want)
		}
		sequence := c.All(ctx, opts...)
		for range 2 { // it can be used again
			server.Fail(1, clienttest.Cut)
			if got, err := ids(sequence); !slices.Equal(got, all) || err != nil {
				t.Errorf("All is %v, %v, want %v as on the pages", got, err, all)
			}
		}
	}
	for _, next := range []string{"tag=a", "after=1&tag=a", "%", "after=a", "limit=1", "x", "cursor=x"} {
		page, err := c.List(ctx, client.HasTag("Moraceae"), client.Continue(next))
		if !errors.Is(err, client.ErrInvalidParameter) {
			t.Errorf("List at %q = %+v, %v, want an invalid parameter", next, page, err)
		}
	}
	if got, err := ids(c.All(ctx, client.Continue("after=5"))); fmt.Sprint(got) != "[8 9]" || err != nil {
		t.Errorf("All from a place on is %v, %v", got, err)
	}
}
