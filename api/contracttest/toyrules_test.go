package contracttest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/internal/testing/toy"
)

// What single toy services do: the identities that they assign, and what they want, refuse and store beside the document.

// text makes identities that are texts, and naming is of a service that assigns them.
func text(kind string) func(int) any { return func(n int) any { return fmt.Sprint(kind, "-", n) } }

func naming(kind string) toy.Habits { return toy.Habits{Assigns: true, NewID: text(kind)} }

// mixed are identities in no order.
func mixed(n int) any { return fmt.Sprintf("o%x", sha256.Sum256([]byte{byte(n), byte(n >> 8)}))[:9] }

// oldOrders are more than a page.
func oldOrders(g *toy.Garden) {
	for range 11 {
		request, _ := http.NewRequest(http.MethodPost, "/orders", strings.NewReader(`{"name":"old"}`))
		g.Respond(request)
	}
}

var declaredOrders = Options{Service: Service{Lists: []List{{
	Operation: "listOrders", Create: "createOrder", ID: "id", Limit: "limit", After: "after", Filters: map[string]string{"name": "name"},
}}}}

// wantsCrew wants a name that is not taken, a crew that exists, and one of two zones.
func wantsCrew(g *toy.Garden, q call) *toy.Response {
	hasMember := func(name string, value any) func(*toy.Planted) bool {
		return func(p *toy.Planted) bool { return p.Members[name] == value }
	}
	zone, hasZone := q.body["zone"]
	_, crew := g.Find([]string{"crews", fmt.Sprint(q.body["crew_id"])})
	switch {
	case q.URL.Path == "/crews/" && slices.ContainsFunc(g.Beds["/crews"], hasMember("name", q.body["name"])):
		return toy.Status(http.StatusConflict)
	case q.URL.Path == "/shifts" && hasZone && zone != "UTC" && zone != "CET":
		return toy.Status(http.StatusBadRequest)
	case q.URL.Path == "/shifts" && crew == nil:
		return toy.Status(http.StatusNotFound)
	}
	if _, crew := g.Find([]string{"crews", q.id}); q.Method == http.MethodGet && crew != nil {
		others := slices.DeleteFunc(slices.Clone(g.Beds["/shifts"]), hasMember("crew_id", q.id))
		return &toy.Response{Status: http.StatusOK, Body: len(g.Beds["/shifts"]) - len(others)}
	}
	return nil
}

var hexColour = regexp.MustCompile(`^[0-9a-f]{6}$`)

func wantsHexColour(_ *toy.Garden, q call) *toy.Response {
	if colour, has := q.body["colour"]; has && !hexColour.MatchString(fmt.Sprint(colour)) {
		return toy.Status(http.StatusBadRequest)
	}
	return nil
}

// wantsNoQuotes takes a text, but not the JSON of one.
func wantsNoQuotes(_ *toy.Garden, q call) *toy.Response {
	if sent, _ := io.ReadAll(q.Body); string(sent) == `"Ficus"` || len(sent) == 0 {
		return toy.Status(http.StatusBadRequest)
	}
	return toy.Status(http.StatusNoContent)
}

func wantsNorth(_ *toy.Garden, q call) *toy.Response {
	isWrong := q.body != nil && q.body["region"] != "north"
	if isWrong || q.Header.Get("X-Version") != "7" {
		return toy.Status(http.StatusBadRequest)
	}
	return nil
}

// refusesAll hides buckets, and knows no token.
func refusesAll(_ *toy.Garden, q call) *toy.Response {
	isHidden := strings.HasPrefix(q.URL.Path, "/buckets/") && !q.URL.Query().Has("_token")
	if isHidden || q.URL.Query().Has("page-token") {
		return toy.Status(http.StatusForbidden)
	}
	return toy.Status(http.StatusBadRequest)
}

// storesNothing succeeds.
func storesNothing(*toy.Garden, call) *toy.Response { return toy.Status(http.StatusNoContent) }

// refusesMembers refuses some bodies.
func refusesMembers(refuses func(body map[string]any) bool) func(*toy.Garden, call) *toy.Response {
	return func(_ *toy.Garden, q call) *toy.Response {
		if refuses(q.body) {
			return toy.Status(http.StatusBadRequest)
		}
		return toy.Status(http.StatusNoContent)
	}
}

// failsOnPlace is a service that cannot store a place.
func failsOnPlace(_ *toy.Garden, q call) *toy.Response {
	if q.body["place"] != nil {
		return toy.Status(http.StatusInternalServerError)
	}
	return nil
}

// storesRefused stores a room with a long name, and refuses it.
func storesRefused(g *toy.Garden, q call) *toy.Response {
	if len([]rune(fmt.Sprint(q.body["room"]))) <= 30 {
		return nil
	}
	q.Body = io.NopCloser(bytes.NewReader(jsonvalue.Encode(q.body)))
	g.Respond(q.Request)
	return toy.Status(http.StatusBadRequest)
}

// takesDeleted takes the ETag of what was deleted for that of what is at its path now.
func takesDeleted(g *toy.Garden, r *http.Request) {
	const deleted = "/deleted"
	names := strings.Split(r.URL.Path, "/")
	_, found := g.Find(names[1:])
	isOld := func(p *toy.Planted) bool { return p.ID == names[2] && p.ETag() == r.Header.Get("If-Match") }
	switch {
	case found != nil && r.Method == http.MethodDelete:
		g.Beds[deleted] = append(g.Beds[deleted], found)
	case found != nil && slices.ContainsFunc(g.Beds[deleted], isOld):
		r.Header.Del("If-Match")
	}
}

// plantsDesk makes the desk of a path.
func plantsDesk(g *toy.Garden, r *http.Request) {
	names := strings.Split(r.URL.Path, "/")
	if _, found := g.Find(names[1:3]); found == nil {
		g.Beds["/desks"] = append(g.Beds["/desks"], &toy.Planted{ID: names[2], Members: map[string]any{"id": toy.Number(names[2])}})
	}
}

// insteadOf responds with another status.
func insteadOf(from, to int) func(*http.Request, *toy.Response) {
	return func(_ *http.Request, a *toy.Response) {
		if a.Status == from {
			*a = toy.Response{Status: to, Header: http.Header{}, Body: map[string]any{"name": "found"}}
		}
	}
}

func butFirst(all []any) []any { return all[min(len(all), 1):] }
