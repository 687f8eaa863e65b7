package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/workshop/recall/fault/faulttest"
)

func TestFaults(t *testing.T) { faulttest.Run(t, faults, newHandler, checks) }

// put writes a page called home, and returns its ETag.
func put(c *faulttest.Client, title string, headers ...string) string {
	return c.Do("PUT", "/pages/home", `{"title": "`+title+`"}`, headers...).Header.Get("ETag")
}

// title is that of the page called home.
func title(c *faulttest.Client) any { return c.Do("GET", "/pages/home", "").Member("title") }

var nextLink = regexp.MustCompile(`^<([^>]+)>; rel="next"$`)

// next is where a list says that the next one is.
func next(list faulttest.Response) string {
	match := nextLink.FindStringSubmatch(list.Header.Get("Link"))
	if match == nil {
		return ""
	}
	return match[1]
}

// fill writes pages a, b and c, of which a and c have a tag.
func fill(c *faulttest.Client) {
	c.Do("PUT", "/pages/a", `{"title": "A", "tags": ["red"]}`)
	c.Do("PUT", "/pages/b", `{"title": "B"}`)
	c.Do("PUT", "/pages/c", `{"title": "C", "tags": ["red"]}`)
}

var checks = map[string]faulttest.Check{
	"next-without-filter": func(c *faulttest.Client) bool {
		fill(c)
		second := c.Do("GET", next(c.Do("GET", "/pages?limit=1&tag=red", "")), "")
		return strings.HasPrefix(second.Body, `[{"name":"c"`)
	},
	"endless-next": func(c *faulttest.Client) bool {
		fill(c)
		return next(c.Do("GET", "/pages?limit=3", "")) == "" && next(c.Do("GET", "/pages?limit=2", "")) != ""
	},
	"order-ignored": func(c *faulttest.Client) bool {
		fill(c)
		first := c.Do("GET", "/pages?limit=1&order=desc", "")
		second := c.Do("GET", next(first), "")
		return strings.HasPrefix(first.Body, `[{"name":"c"`) && strings.HasPrefix(second.Body, `[{"name":"b"`)
	},

	"stale-put": func(c *faulttest.Client) bool {
		old := put(c, "one")
		current := put(c, "two", "If-Match: "+old)
		refused := c.Do("PUT", "/pages/home", `{"title": "three"}`, "If-Match: "+old)
		return refused.Status == 412 && title(c) == "two" && put(c, "four", `If-Match: "x", `+current) != ""
	},
	"stale-delete": func(c *faulttest.Client) bool {
		old := put(c, "one")
		current := put(c, "two")
		return c.Do("DELETE", "/pages/home", "", "If-Match: "+old).Status == 412 &&
			c.Do("DELETE", "/pages/home", "", "If-Match: "+current).Status == 204
	},
	"never-304": func(c *faulttest.Client) bool {
		unchanged := c.Do("GET", "/pages/home", "", "If-None-Match: "+put(c, "one"))
		return unchanged.Status == 304 && unchanged.Header.Get("ETag") != "" && unchanged.Body == ""
	},
	"any-304": func(c *faulttest.Client) bool {
		old := put(c, "one")
		put(c, "two")
		return c.Do("GET", "/pages/home", "", "If-None-Match: "+old).Status == 200
	},
	"etag-stays": func(c *faulttest.Client) bool { return put(c, "one") != put(c, "two") },
	"star-replaces": func(c *faulttest.Client) bool {
		first := put(c, "one", "If-None-Match: *")
		refused := c.Do("PUT", "/pages/home", `{"title": "two"}`, "If-None-Match: *")
		return first != "" && refused.Status == 412 && title(c) == "one"
	},
	"one-etag-only": func(c *faulttest.Client) bool {
		return c.Do("GET", "/pages/home", "", `If-None-Match: "x", W/`+put(c, "one")).Status == 304
	},
	"refused-but-written": func(c *faulttest.Client) bool {
		old := put(c, "one")
		put(c, "two")
		return put(c, "three", "If-Match: "+old) == "" && title(c) == "two"
	},

	"racing-puts": func(c *faulttest.Client) bool {
		first := put(c, "one")
		statuses := make(chan int, 8)
		for range cap(statuses) {
			go func() {
				statuses <- c.Do("PUT", "/pages/home", `{"title": "two"}`, "If-Match: "+first).Status
			}()
		}
		replaced := 0
		for range cap(statuses) {
			if <-statuses == 200 {
				replaced++
			}
		}
		return replaced == 1
	},
	"null-tags": func(c *faulttest.Client) bool {
		put(c, "one")
		return strings.HasSuffix(c.Do("GET", "/pages/home", "").Body, `"tags":[]}`)
	},
}

// TestRefusals shows that the right server refuses what the document does not allow.
func TestRefusals(t *testing.T) {
	faulttest.Right(t, newHandler, func(t *testing.T, c *faulttest.Client) {
		for _, body := range []string{
			`{}`, `null`, `[]`, `{"title": null}`, `{"title": ""}`, `{"title": "a", "text": null}`, `{"title": "a", "tags": null}`,
			`{"title": "a", "tags": ["A"]}`, `{"title": "a", "tags": ["a", "a"]}`, `{"title": "a", "tags": [null]}`, `{"TITLE": "a"}`,
			`{"title": "a", "title": "b"}`, `{"title": "a"} {}`, `{"title": "a", "more": 1}`, `{"title": "\ud800"}`, `{"title": 1}`,
			`{"title": "` + strings.Repeat("é", 81) + `"}`, "{\"title\": \"\xff\"}", `{"title": "a", "tags": ["a","b","c","d","e","f"]}`,
		} {
			if status := c.Do("PUT", "/pages/home", body).Status; status != 400 {
				t.Errorf("%s: %d", body, status)
			}
		}
		for _, path := range []string{
			"/pages?limit=0", "/pages?limit=51", "/pages?limit=", "/pages?order=up", "/pages?after=A", "/pages?tag=1", "/pages/A",
			"/pages/a%2Fb", "/pages/%FF", "/pages?limit=%zz",
		} {
			if status := c.Do("GET", path, "").Status; status != 400 {
				t.Errorf("%s: %d", path, status)
			}
		}
		accepted := c.Do("PUT", "/pages/home", `{"title": "`+strings.Repeat("é", 80)+`", "tags": ["a", "b"], "text": "\u0000"}`)
		if accepted.Status != 201 || accepted.Body != c.Do("GET", "/pages/home", "").Body {
			t.Errorf("%+v", accepted)
		}
		if refused := c.Do("PATCH", "/pages/home", ""); refused.Status != 405 || refused.Header.Get("Allow") == "" {
			t.Errorf("%+v", refused)
		}
	})
}
