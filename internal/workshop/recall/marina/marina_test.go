package main

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/workshop/recall/fault/faulttest"
)

func TestFaults(t *testing.T) { faulttest.Run(t, faults, newHandler, checks) }

// TestStaysOfOtherPier shows that no fault opens the stays in a berth to the path of another pier.
func TestStaysOfOtherPier(t *testing.T) {
	faulttest.Right(t, newHandler, func(t *testing.T, c *faulttest.Client) {
		c.Header = http.Header{"Authorization": {"Bearer " + token}}
		_, other, berth := twoPiers(c)
		for _, method := range []string{"GET", "POST"} {
			if status := c.Do(method, other+berth+"/stays", `{"boat": "Anna"}`).Status; status != 404 {
				t.Errorf("%s: %d", method, status)
			}
		}
	})
}

// withToken lets a check send the token with each request that has no Authorization of its own.
func withToken(check faulttest.Check) faulttest.Check {
	return func(c *faulttest.Client) bool {
		c.Header = http.Header{"Authorization": {"Bearer " + token}}
		return check(c)
	}
}

// add creates something, and returns its path.
func add(c *faulttest.Client, path, body string) string {
	id := c.Do("POST", path, body, "Authorization: Bearer "+token).Member("id")
	return path + "/" + idText(id)
}

var checks = map[string]faulttest.Check{
	"berth-of-other-pier": withToken(func(c *faulttest.Client) bool {
		_, other, berth := twoPiers(c)
		return c.Do("GET", other+berth, "").Status == 404
	}),
	"delete-by-other-pier": withToken(func(c *faulttest.Client) bool {
		pier, other, berth := twoPiers(c)
		return c.Do("DELETE", other+berth, "").Status == 404 && c.Do("GET", pier+berth, "").Status == 200
	}),
	"berths-of-all-piers": withToken(func(c *faulttest.Client) bool {
		pier, other, _ := twoPiers(c)
		return c.Do("GET", other+"/berths", "").Body == "[]" && len(c.Do("GET", pier+"/berths", "").JSON.([]any)) == 1
	}),
	"berths-of-missing-pier": withToken(func(c *faulttest.Client) bool {
		return c.Do("GET", "/piers/77/berths", "").Status == 404
	}),
	"berth-in-missing-pier": withToken(func(c *faulttest.Client) bool {
		return c.Do("POST", "/piers/77/berths", `{"label": "a"}`).Status == 404
	}),
	"wrong-pier-id": withToken(func(c *faulttest.Client) bool {
		pier, _, berth := twoPiers(c)
		return "/piers/"+idText(c.Do("GET", pier+berth, "").Member("pierId")) == pier
	}),
	"berths-survive": withToken(func(c *faulttest.Client) bool {
		pier, _, berth := twoPiers(c)
		return c.Do("DELETE", pier, "").Status == 204 && c.Do("GET", pier+berth, "").Status == 404
	}),
	"stays-of-all-berths": withToken(func(c *faulttest.Client) bool {
		pier, _, berth := twoPiers(c)
		add(c, pier+berth+"/stays", `{"boat": "Anna"}`)
		otherBerth := add(c, pier+"/berths", `{"label": "b"}`)
		return c.Do("GET", otherBerth+"/stays", "").Body == "[]"
	}),

	"open-nested": func(c *faulttest.Client) bool {
		return c.Do("GET", add(c, "/piers", `{"name": "a"}`)+"/berths", "").Status == 401
	},
	"open-delete": func(c *faulttest.Client) bool {
		return c.Do("DELETE", add(c, "/boats", boatAnna), "").Status == 401
	},
	"any-token": func(c *faulttest.Client) bool {
		return c.Do("POST", "/piers", `{"name": "a"}`, "Authorization: Bearer wrong").Status == 401
	},
	"token-prefix": func(c *faulttest.Client) bool {
		return c.Do("GET", "/piers", "", "Authorization: Bearer "+token[:4]).Status == 401
	},
	"no-challenge": func(c *faulttest.Client) bool {
		refused := c.Do("GET", "/piers", "")
		return refused.Status == 401 && refused.Header.Get("WWW-Authenticate") == "Bearer"
	},
	"malformed-crashes": func(c *faulttest.Client) bool {
		return c.Do("GET", "/piers", "", "Authorization: Bearer").Status == 401
	},
	"health-needs-token": func(c *faulttest.Client) bool {
		return c.Do("GET", "/health", "").Status == 200
	},
	"scheme-in-lower-case": func(c *faulttest.Client) bool {
		return c.Do("GET", "/piers", "", "Authorization: bearer "+token).Status == 200
	},

	"one-too-many": withToken(func(c *faulttest.Client) bool {
		fleet(c)
		return strings.Count(c.Do("GET", "/boats?limit=2", "").Body, `"id"`) == 2
	}),
	"no-default-limit": withToken(func(c *faulttest.Client) bool {
		fleet(c)
		return strings.Count(c.Do("GET", "/boats", "").Body, `"id"`) == 10
	}),
	"total-of-all": withToken(func(c *faulttest.Client) bool {
		fleet(c)
		return c.Do("GET", "/boats?kind=motor", "").Member("total") == 1.0
	}),
	"offset-overlaps": withToken(func(c *faulttest.Client) bool {
		fleet(c)
		second := c.Do("GET", "/boats?limit=1&offset=1", "").Member("items").([]any)
		return len(second) == 1 && second[0].(map[string]any)["id"] == 2.0
	}),
	"filter-after-page": withToken(func(c *faulttest.Client) bool {
		fleet(c)
		return strings.Count(c.Do("GET", "/boats?limit=1&kind=motor&minLength=50", "").Body, `"id"`) == 1
	}),

	"id-by-count": withToken(func(c *faulttest.Client) bool {
		first := add(c, "/piers", `{"name": "a"}`)
		second := add(c, "/piers", `{"name": "b"}`)
		c.Do("DELETE", first, "")
		third := add(c, "/piers", `{"name": "c"}`)
		return third != first && third != second
	}),
	"racing-ids": withToken(func(c *faulttest.Client) bool {
		paths := make(chan string, 8)
		for range cap(paths) {
			go func() { paths <- c.Do("POST", "/boats", boatAnna).Header.Get("Location") }()
		}
		seen := map[string]bool{}
		for range cap(paths) {
			seen[<-paths] = true
		}
		return len(seen) == cap(paths)
	}),
	"change-revives": withToken(func(c *faulttest.Client) bool {
		boat := add(c, "/boats", boatAnna)
		c.Do("DELETE", boat, "")
		return c.Do("PATCH", boat, `{"length": 91}`).Status == 404 && c.Do("GET", boat, "").Status == 404
	}),
	"default-depth": withToken(func(c *faulttest.Client) bool {
		pier, _, berth := twoPiers(c)
		return c.Do("GET", pier+berth, "").Member("depth") == 30.0
	}),
	"location-nowhere": withToken(func(c *faulttest.Client) bool {
		pier, _, _ := twoPiers(c)
		added := c.Do("POST", pier+"/berths", `{"label": "b", "depth": 4}`)
		return c.Do("GET", added.Header.Get("Location"), "").Body == added.Body
	}),
	"total-after-delete": withToken(func(c *faulttest.Client) bool {
		c.Do("DELETE", add(c, "/boats", boatAnna), "")
		return c.Do("GET", "/boats", "").Member("total") == 0.0
	}),
}

const boatAnna = `{"name": "Anna", "length": 90}`

// twoPiers returns the paths of two piers, and that of a berth of the first one, below it.
func twoPiers(c *faulttest.Client) (pier, other, berth string) {
	pier = add(c, "/piers", `{"name": "a"}`)
	other = add(c, "/piers", `{"name": "b", "lit": false}`)
	return pier, other, strings.TrimPrefix(add(c, pier+"/berths", `{"label": "a"}`), pier)
}

// fleet adds eleven boats that sail, and then one with a motor.
func fleet(c *faulttest.Client) {
	for range 11 {
		add(c, "/boats", boatAnna)
	}
	add(c, "/boats", `{"name": "Otto", "length": 50, "kind": "motor"}`)
}

func idText(id any) string {
	number, _ := id.(float64)
	return strconv.Itoa(int(number))
}
