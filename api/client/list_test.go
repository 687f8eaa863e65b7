package client_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
)

// ids collects the ids of a sequence.
func ids(all func(func(client.Plant, error) bool)) (got []int64, err error) {
	for p, err := range all {
		if err != nil {
			return got, err
		}
		got = append(got, p.ID)
	}
	return got, nil
}

func TestAll(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), clienttest.New(t)
	c := server.Client()
	got, err := ids(c.All(ctx))
	if len(got) != 0 || err != nil {
		t.Errorf("All of an empty store is %v, %v", got, err)
	}
	var plants []client.Plant
	for id := range int64(9) {
		p := client.Plant{ID: id - 4, Name: "a"}
		switch id % 3 {
		case 0:
			p.Tag = new("")
		case 1:
			p.Tag = new("a&b=c é")
		}
		plants = append(plants, p)
	}
	if _, err := c.CreateAll(ctx, plants); err != nil {
		t.Fatal(err)
	}
	for want, all := range map[string]func(func(client.Plant, error) bool){
		"[-4 -3 -2 -1 0 1 2 3 4]": c.All(ctx, client.WithPageSize(2)),
		"[-4 -1 2]":               c.All(ctx, client.WithTag(""), client.WithPageSize(1)),
		"[-3 0 3]":                c.All(ctx, client.WithTag("a&b=c é"), client.WithPageSize(1)),
		"[2 3 4]":                 c.All(ctx, client.WithAfter(1), client.WithPageSize(2)),
		"[]":                      c.All(ctx, client.WithTag("b")),
	} {
		for range 2 { // a sequence can be used again
			server.Fail(1, clienttest.Cut)
			if got, err := ids(all); fmt.Sprint(got) != want || err != nil {
				t.Errorf("All is %v, %v, want %s", got, err, want)
			}
		}
	}
	for range c.All(ctx, client.WithPageSize(1)) {
		break
	}
	wantError(t, second(ids(c.All(ctx, client.WithPageSize(0)))), client.ErrInvalidParameter)

	// An error ends the loop, after the plants before it.
	seen, failures := 0, 0
	for p, err := range c.All(ctx, client.WithPageSize(2)) {
		switch {
		case err != nil:
			failures++
			wantError(t, err, client.ErrUnavailable)
		case p.ID == -3:
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
		{"in circles", []string{`</plants?after=1>; rel="next"`}, 1, "[1]", "is listed after plant 1"},
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
