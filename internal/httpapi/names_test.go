package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plant"
)

// The order of names, counts and tags, as the document describes them.
func TestNames(t *testing.T) {
	s := newService(t)
	names := []string{"ficus", "Ficus lyrata", "FICUS", "fico", "Monstera", "étoile", "E\u0301toile", "Etoile", "ẞ", "ss", "\x00", "a&b c"}
	for i, name := range names {
		p := plant.Plant{ID: int64(i), Name: name, Tag: new(fmt.Sprint("t ", i/3, "&"))}
		if err := s.store.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string][]int64{
		"order=name":                                              {10, 11, 7, 3, 0, 2, 1, 4, 9, 5, 6, 8},
		"name_prefix=FIC":                                         {3, 0, 2, 1},
		"name_prefix=ficus&order=name":                            {0, 2, 1},
		"name_prefix=%C3%89":                                      {5, 6},
		"name_prefix=e":                                           {7},
		"name_prefix=%C3%9F":                                      {8},
		"name_prefix=%00":                                         {10},
		"name_prefix=a%26b+":                                      {11},
		"name_prefix=x":                                           nil,
		"cursor=7fffffffffffffff4649435553":                       {1, 4, 9, 5, 6, 8},
		"cursor=00000000000000004649435553":                       {2, 1, 4, 9, 5, 6, 8},
		"name_prefix=m&cursor=0000000000000000":                   {4},
		"name_prefix=fic&cursor=00000000000000ff":                 {3, 0, 2, 1},
		"name_prefix=fic&cursor=00000000000000004d4f4e5354455241": nil, // a cursor before MONSTERA, of another list
	} {
		for _, limit := range []int{1, 2, 1000} {
			var got []int64
			path := fmt.Sprintf("/plants?limit=%d&%s", limit, query)
			for path != "" {
				a := s.call(http.MethodGet, path, "").wantStatus(t, http.StatusOK)
				page := ids(t, a)
				got = append(got, page...)
				path, _, _ = strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
				if len(got) > len(names) || path != "" && len(page) != limit {
					t.Fatalf("the walk by Link with %s has %v", query, got)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("all pages of %s with limit %d (-want +got):\n%s", query, limit, diff)
			}
		}
	}
	for path, want := range map[string]string{
		"/plants:count":                       `{"count":12,"more":false}`,
		"/plants:count?tag=t+1%26":            `{"count":3,"more":false}`,
		"/plants:count?tag=":                  `{"count":0,"more":false}`,
		"/plants:count?name_prefix=fi":        `{"count":4,"more":false}`,
		"/tags":                               `["t 0&","t 1&","t 2&","t 3&"]`,
		"/tags?prefix=t+2":                    `["t 2&"]`,
		"/tags?after=t+1%26&prefix=t&limit=2": `["t 2&","t 3&"]`,
		"/tags?after=t+3%26":                  `[]`,
	} {
		if a := s.call(http.MethodGet, path, "").wantStatus(t, http.StatusOK); strings.TrimSpace(string(a.body)) != want {
			t.Errorf("GET %s = %s, want %s", path, a.body, want)
		}
	}
	a := s.call(http.MethodGet, "/tags?limit=2", "")
	if got, want := a.Header.Get("Link"), `</tags?limit=2&after=t+1%26>; rel="next"`; got != want {
		t.Errorf("the Link of tags is %s, want %s", got, want)
	}
}

// A count stops where the document says.
func TestCountStops(t *testing.T) {
	for plants, want := range map[int]string{100_000: `{"count":100000,"more":false}`, 100_001: `{"count":100000,"more":true}`} {
		s := newService(t)
		s.fill(plants)
		if a := s.call(http.MethodGet, "/plants:count", ""); strings.TrimSpace(string(a.body)) != want {
			t.Errorf("the count of %d plants is %s, want %s", plants, a.body, want)
		}
	}
}

func TestParametersThatCannotBeCombined(t *testing.T) {
	s := newService(t)
	for path, want := range map[string][]string{
		"/plants?order=name&tag=t":                              {"/tag"},
		"/plants?name_prefix=n&after=1":                         {"/after"},
		"/plants?name_prefix=n&order=id":                        {"/order"},
		"/plants?cursor=0000000000000000&after=1&tag=&order=id": {"/after", "/tag", "/order"},
		"/plants:count?tag=t&name_prefix=n":                     {"/tag"},
	} {
		e := s.call(http.MethodGet, path, "").wantError(t, plantapi.CodeInvalidParameter)
		var got []string
		for _, d := range *e.Details {
			got = append(got, d.Pointer)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the details of GET %s point at (-want +got):\n%s", path, diff)
		}
	}
}
