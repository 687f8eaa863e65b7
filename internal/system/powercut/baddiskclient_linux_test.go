package powercut

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// request is a request and what it does.
type request struct {
	method, path, body string
	good               int
	after              map[int64]string // of the plants that it changes; empty for none
}

// text is what the client compares of a plant.
func text(name, tag string) string { return fmt.Sprintf("%q %q", name, tag) }

// next returns the next request of an operation. Each has texts of its own.
func (c *clientOfBadDisk) next(operation string) request {
	ids := slices.Sorted(maps.Keys(c.plants))
	c.lastID++
	id := c.lastID
	name := fmt.Sprint("plant ", id)
	some := id
	if len(ids) > 0 {
		some = ids[int(id)%len(ids)]
	}
	onSome := fmt.Sprint("/plants/", some)
	switch operation {
	case "create":
		body := fmt.Sprintf(`{"id":%d,"name":%q}`, id, name)
		return request{method: "POST", path: "/plants", body: body, good: 200, after: map[int64]string{id: text(name, "")}}
	case "batch":
		c.lastID += 2
		after := map[int64]string{}
		var plants []string
		for id := id; id <= c.lastID; id++ {
			plants = append(plants, fmt.Sprintf(`{"id":%d,"name":%q}`, id, name))
			after[id] = text(name, "")
		}
		body := `{"plants":[` + strings.Join(plants, ",") + `]}`
		return request{method: "POST", path: "/plants:batch", body: body, good: 200, after: after}
	case "put", "checkpoint":
		body := fmt.Sprintf(`{"name":%q,"tag":"put"}`, name)
		return request{method: "PUT", path: onSome, body: body, good: 200, after: map[int64]string{some: text(name, "put")}}
	case "patch":
		body := fmt.Sprintf(`{"name":%q,"tag":null}`, name)
		return request{method: "PATCH", path: onSome, body: body, good: 200, after: map[int64]string{some: text(name, "")}}
	case "delete":
		return request{method: "DELETE", path: onSome, good: 204, after: map[int64]string{some: ""}}
	case "get":
		return request{method: "GET", path: onSome, good: 200}
	case "list":
		return request{method: "GET", path: "/plants?limit=1000", good: 200}
	case "changes":
		return request{method: "GET", path: "/changes?limit=1000", good: 200}
	}
	c.t.Fatalf("there is no operation %q", operation)
	return request{}
}

// send sends a request to the service. The status is 0 if there is no response.
func (c *clientOfBadDisk) send(r request) (status int, body string) {
	resp, text, err := c.service.Send(c.web, r.method, r.path, r.body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, text
}

// mustSend sends a request that must succeed, because the disk works.
func (c *clientOfBadDisk) mustSend(r request) {
	status, body := c.send(r)
	if status == http.StatusServiceUnavailable {
		c.wantSignal("/writez", true)
		status, body = c.send(r)
	}
	if status != r.good {
		c.t.Fatalf("%s: then %s %s is %d %.300s, want %d", c.doing, r.method, r.path, status, body, r.good)
	}
	c.acknowledged(r)
}

// acknowledged notes what a request has changed.
func (c *clientOfBadDisk) acknowledged(r request) {
	for id, text := range r.after {
		if c.plants[id] = text; text == "" {
			delete(c.plants, id)
		}
	}
}

// allOrNothing finds out whether a request that failed has changed all of its plants, or none.
func (c *clientOfBadDisk) allOrNothing(r request) {
	changed := 0
	for id, after := range r.after {
		switch have := c.stored(id); have {
		case after:
			changed++
		case c.plants[id]:
		default:
			c.wrong("then plant %d is %s, want %s or %s", id, have, c.plants[id], after)
		}
	}
	switch changed {
	case 0:
	case len(r.after):
		c.acknowledged(r)
	default:
		c.wrong("%d of %d plants of a batch are stored", changed, len(r.after))
	}
}

// plantJSON is what the client reads of a plant.
type plantJSON struct {
	ID        int64
	Name, Tag string
}

// stored returns what the service has of a plant. The disk works.
func (c *clientOfBadDisk) stored(id int64) string {
	status, body := c.send(request{method: "GET", path: fmt.Sprint("/plants/", id)})
	switch status {
	case http.StatusOK:
		var p plantJSON
		must.NoError(c.t, json.Unmarshal([]byte(body), &p))
		return text(p.Name, p.Tag)
	case http.StatusNotFound:
		return ""
	}
	c.t.Fatalf("%s: then GET is %d %.300s", c.doing, status, body)
	return ""
}

// compareAll compares all plants with what was acknowledged.
func (c *clientOfBadDisk) compareAll() {
	status, body := c.send(c.next("list"))
	if status != http.StatusOK {
		c.t.Fatalf("%s: then a list is %d %.300s", c.doing, status, body)
	}
	c.compareList(body)
}

func (c *clientOfBadDisk) compareList(body string) {
	var plants []plantJSON
	must.NoError(c.t, json.Unmarshal([]byte(body), &plants))
	have := map[int64]string{}
	for _, p := range plants {
		have[p.ID] = text(p.Name, p.Tag)
	}
	if !maps.Equal(have, c.plants) {
		c.t.Fatalf("%s: the service has %d plants, want %d: other ones than were acknowledged", c.doing, len(have), len(c.plants))
	}
}

// page returns whether a page of the admin listener is 200, and its text.
func (c *clientOfBadDisk) page(path string) (good bool, text string) {
	status, text, err := program.ReadAll(c.web.Get(c.service.AdminURL + path))
	if err != nil {
		return false, err.Error()
	}
	return status == http.StatusOK, text
}
