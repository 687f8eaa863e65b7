package contracttest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/toy"
)

// parcelService is a service of testdata/shipping.yaml: composed schemas, API
// keys, and identities that the client chooses.
func parcelService(c *Contract, fault toy.Fault) *service {
	failure := func(status int) *reply { return newReply(status, map[string]any{"reason": http.StatusText(status)}) }
	s := &service{
		contract: c, failure: failure, isExact: true,
		credentials: Credentials{"apiKey": "key", "account": "7", "staff": "fern:moss", "signature": "abc", "session": "s1"},
		respond: map[string]func(call) *reply{
			"status": func(call) *reply {
				up := newReply(200, nil)
				up.header.Set("Content-Type", "text/plain; charset=utf-8")
				up.body = "ok"
				return up
			},
			"quote": func(call) *reply {
				price := newReply(200, map[string]any{"amount": 4.9, "currency": "EUR"})
				price.header.Set("X-Cache", "miss, stale")
				return price
			},
		},
	}
	parcels := toy.New(toy.Habits{Name: "code", Counts: "version"})
	s.store(func(q call) *toy.Response { return parcels.RespondWith(fault, q.Request) })
	return s
}

func TestComposedDocument(t *testing.T) {
	c := contractOf(t, "shipping.yaml", Options{Service: Service{Rules: Rules{Exact: true}}})
	query := func(old, new string) func(*http.Request) {
		return func(r *http.Request) { r.URL.RawQuery = strings.Replace(r.URL.RawQuery, old, new, 1) }
	}
	header := func(name string) func(*http.Request) { return func(r *http.Request) { r.Header.Del(name) } }
	proof(t, c, func(fault toy.Fault) *service { return parcelService(c, fault) }, map[string]wrong{
		"an item that is neither":          {by: "read sees", response: edit("GET", func(o map[string]any) { change(o, "item", map[string]any{"kind": "bag"}) })},
		"an item with members of both":     {by: "read sees", response: edit("GET", func(o map[string]any) { addTo(o, "item", "pages", 1, "width", 5) })},
		"an address that is neither":       {by: "read sees", response: edit("GET", func(o map[string]any) { change(o, "to", 7) })},
		"a parcel without the part of all": {by: "read sees", response: edit("GET", func(o map[string]any) { delete(o, "code") })},
		"a forbidden note":                 {by: "read sees", response: edit("GET", func(o map[string]any) { o["note"] = "none" })},
		"a currency of two letters":        {by: "quote", response: edit("GET", func(o map[string]any) { change(o, "currency", "EU") })},
		"an unlisted value in a header":    {by: "quote", response: func(_ *http.Request, a *reply) { setHeader(a, "X-Cache", "hit, cold") }},
		"a wrong plain text":               {by: "status", response: func(_ *http.Request, a *reply) { a.body = strings.Replace(a.body, "ok", "up", 1) }},
		"an open operation is closed":      {by: "status", response: func(r *http.Request, a *reply) { closeIf(r, a) }},
		"takes any API key":                {by: "credentials", request: func(r *http.Request) { setIfSent(r, "X-Api-Key", "key") }},
		"takes an API key without account": {by: "credentials", request: func(r *http.Request) { addAccount(r) }},
		"takes any password":               {by: "credentials", request: func(r *http.Request) { setIfSent(r, "Authorization", "Basic ZmVybjptb3Nz") }},
		"refuses staff":                    {by: "credentials", request: header("Authorization")},
		"refuses a session":                {by: "credentials", request: header("Cookie")},
		"takes a weight of 0":              {by: "weight", request: query("weight=0&", "weight=1&")},
		"takes a weight between steps":     {by: "weight", request: query("weight=1.75", "weight=1")},
		"takes a weight above":             {by: "weight", request: query("weight=32", "weight=1")},
		"refuses the largest weight":       {by: "weight", request: query("weight=31.5", "weight=99")},
		"takes no weight":                  {by: "weight", request: func(r *http.Request) { addWeight(r) }},
		"takes a zone that is unknown":     {by: "zones", request: query("north%3F", "south")},
		"takes a zone twice":               {by: "zones", request: query("north%7Cnorth", "north")},
		"reads only one zone":              {by: "zones", request: query("%7C", "%2C")},
		"takes a tag of one letter":        {by: "tags", request: query("tags=x", "tags=xx")},
		"takes a size of 0":                {by: "size", request: query("size%5Bx%5D=0", "size%5Bx%5D=1")},
		"takes any trace":                  {by: "Trace", request: func(r *http.Request) { setIfSent(r, "X-Trace", "0123abcd") }},
		"takes insured=maybe":              {by: "insured", request: query("insured=maybe", "insured=true")},
		"takes a box of no width":          {by: "oneOf", request: replaceBody(`"item":{"fragile":true,"kind":"box"}`, `"item":{"kind":"box","width":5}`)},
		"takes a width between steps":      {by: "multipleOf", request: replaceBody(`"width":6`, `"width":5`)},
		"takes the note that is not":       {by: "not", request: replaceBody(`"note":"none"`, `"note":"some"`)},
		"refuses letters":                  {by: "oneOf", request: replaceBody(`"kind":"letter"`, `"kind":"paper"`)},
		"refuses an address as text":       {by: "anyOf", request: replaceBody(`"to":"ficus@plants.example"`, `"to":7`)},
		"ignores If-Match":                 {by: "effect", Fault: toy.Fault{Before: toy.Without("If-Match")}},
		"ignores If-None-Match":            {by: "effect", Fault: toy.Fault{Before: toy.Without("If-None-Match")}},
		"changes when it refuses":          {by: "item", request: replaceBody(`"item":[]`, `"item":{"kind":"letter","pages":2}`), response: func(r *http.Request, a *reply) { status(r, a, "PUT", 200, 400) }},
		"has an ETag on replace": {by: "replaceParcel", response: func(r *http.Request, a *reply) {
			if r.Method == "PUT" {
				a.header.Set("ETag", `"v1"`)
			}
		}},
	})
}

func addTo(o map[string]any, name string, pairs ...any) {
	if object, ok := o[name].(map[string]any); ok {
		for i := 0; i < len(pairs); i += 2 {
			object[pairs[i].(string)] = pairs[i+1]
		}
	}
}

func setIfSent(r *http.Request, name, value string) {
	if r.Header[http.CanonicalHeaderKey(name)] != nil {
		r.Header.Set(name, value)
	}
}

func closeIf(r *http.Request, a *reply) {
	if r.URL.Path == "/status" && r.Method == "GET" {
		*a = *newReply(401, map[string]any{"reason": "no"})
	}
}

func addAccount(r *http.Request) {
	if query := r.URL.Query(); r.Header.Get("X-Api-Key") != "" {
		query.Set("account", "7")
		r.URL.RawQuery = query.Encode()
	}
}

func addWeight(r *http.Request) {
	if query := r.URL.Query(); r.URL.Path == "/quotes" && !query.Has("weight") {
		query.Set("weight", "1")
		r.URL.RawQuery = query.Encode()
	}
}
