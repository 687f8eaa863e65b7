package contracttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/toy"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	sch "github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// commentService is a service of testdata/comments.yaml: its schemas are
// recursive, and it assigns identities.
func commentService(c *Contract, fault toy.Fault) *service {
	problem := func(status int) *reply {
		failed := newReply(status, map[string]any{"title": http.StatusText(status), "status": status})
		failed.header.Set("Content-Type", "application/problem+json")
		return failed
	}
	comments := toy.New(toy.Habits{
		Assigns: true, NewID: func(n int) any { return fmt.Sprintf("01935a7e-8d3c-7c1e-9a55-%012d", n-1000) },
		Sets: map[string]any{"created": "2026-11-20T09:00:00Z"}, Items: "items", Limit: 5, Newest: true,
	})
	s := &service{contract: c, credentials: Credentials{"token": "letmein"}, failure: problem, isExact: true, respond: map[string]func(call) *reply{}}
	s.store(func(q call) *toy.Response { return comments.RespondWith(fault, q.Request) })
	return s
}

func TestRecursiveDocument(t *testing.T) {
	must.HaveTime(t)
	c := contractOf(t, "comments.yaml", Options{Service: Service{Rules: Rules{Exact: true}, Lists: []List{{
		Operation: "listComments", Create: "createComment", ID: "id", Items: "items", Limit: "limit", Filters: map[string]string{"author": "author"},
	}}}})
	proof(t, c, func(fault toy.Fault) *service { return commentService(c, fault) }, map[string]wrong{
		"a reply without author":   {by: "read sees", response: edit("GET", inReply(func(reply map[string]any) { delete(reply, "author") }))},
		"a reply with an unnamed":  {by: "read sees", response: edit("GET", inReply(func(reply map[string]any) { reply["likes"] = 1 }))},
		"a time without zone":      {by: "read sees", response: edit("GET", func(o map[string]any) { change(o, "created", "2026-11-20T09:00:00") })},
		"a 30th of February":       {by: "read sees", response: edit("GET", func(o map[string]any) { change(o, "created", "2026-02-30T09:00:00Z") })},
		"an id that is not a UUID": {by: "createComment, cred", response: edit("POST", func(o map[string]any) { change(o, "id", "1") })},
		"the secret is sent back":  {by: "createComment, cred", response: edit("POST", func(o map[string]any) { o["secret"] = "x" })},
		"replies are lost":         {by: "read sees", response: edit("GET", func(o map[string]any) { delete(o, "replies") })},
		"a problem as JSON": {response: func(_ *http.Request, a *reply) {
			if a.status >= 400 {
				a.header.Set("Content-Type", "application/json")
			}
		}},
		"a problem with a cause without title": {response: func(_ *http.Request, a *reply) {
			if a.status >= 400 {
				a.body = strings.Replace(a.body, "{", `{"causes":[{"status":1}],`, 1)
			}
		}},
		"no Location":                       {by: "createComment, cred", response: func(_ *http.Request, a *reply) { a.header.Del("Location") }},
		"200 for a create":                  {by: "createComment, cred", response: func(r *http.Request, a *reply) { status(r, a, "POST", 201, 200) }},
		"a failure for a create":            {by: "createComment, cred", response: func(r *http.Request, a *reply) { a.header.Del("Location"); status(r, a, "POST", 201, 507) }},
		"ignores the author":                {by: "effect of parameter author", Fault: toy.Fault{At: "^GET /comments[?]", Before: toy.Without("author")}},
		"ignores the limit":                 {by: "effect of parameter limit", Fault: toy.Fault{At: "^GET /comments[?]", Before: toy.Without("limit")}},
		"refuses a cookie":                  {by: "theme", response: func(r *http.Request, a *reply) { refuse(a, r.Header.Get("Cookie") != "") }},
		"takes any theme":                   {by: "theme", request: func(r *http.Request) { r.Header.Del("Cookie") }},
		"takes a long text of a reply":      {by: "/text maxLength, refused", request: replaceBody(strings.Repeat("x", 41), "x")},
		"counts bytes":                      {by: "/text maxLength, accepted", request: replaceBody(strings.Repeat("蘭", 40), strings.Repeat("x", 41))},
		"takes ten stars":                   {by: "/stars exclusiveMaximum", request: replaceBody(`"stars":10`, `"stars":9`)},
		"takes unknown members of a folder": {by: "additionalProperties, refused", request: replaceOdd(`,N:1}`, `}`)},
		"takes four replies":                {by: "/replies maxItems", request: func(r *http.Request) { dropReplies(r, 4) }},
		"takes an empty label":              {by: "pattern, refused", request: replaceOdd(`N:""`, `"label":"abc"`)},
		"takes any address":                 {by: "/author format, refused", request: replaceBody(`"author":"ficus"`, `"author":"a@b.example"`)},
		"takes bytes without padding":       {by: "/attachment format, refused", request: replaceBody(`"attachment":"RmljdXM"`, `"attachment":"RmljdXM="`)},
		"takes what is not a day":           {by: "/day format, refused", request: replaceBody(`"day":"20.11.2026"`, `"day":"2026-11-20"`)},
		"takes a text for a reply":          {by: "/replies/* type, refused", request: replaceBody(`},[]]`, `}]`)},
		"reads another comment":             {by: "read sees", Fault: toy.Fault{At: "^GET /comments/", Before: readsFirst}},
		"Location of another comment": {response: func(_ *http.Request, a *reply) {
			setHeader(a, "Location", "/comments/01935a7e-8d3c-7c1e-9a55-000000000001")
		}},
		"does not delete":        {by: "is gone", Fault: toy.Fault{At: "^DELETE", Before: toy.Method("GET"), After: toy.Responds(204)}},
		"needs no token":         {request: func(r *http.Request) { r.Header.Set("Authorization", "Bearer letmein") }},
		"has two types of an id": {by: "read sees", response: edit("GET", func(o map[string]any) { change(o, "id", 7) })},
	})
}

// named leaves out what schemas do not name and what is writeOnly: it is not sent back.
func named(schemas []*sch.Schema, value any) any {
	schemas = sch.Parts(schemas...)
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			properties := sch.Members(schemas, name)
			if len(properties) == 0 || slices.ContainsFunc(properties, sch.IsForbidden) {
				delete(value, name)
				continue
			}
			value[name] = named(properties, member)
		}
	case []any:
		for _, s := range schemas {
			for i := range value {
				value[i] = named([]*sch.Schema{sch.Of(s.Items2020)}, value[i])
			}
		}
	}
	return value
}

// dropReplies takes the replies out of a comment that has n of them.
func dropReplies(r *http.Request, n int) {
	text, _ := io.ReadAll(r.Body)
	var comment map[string]any
	if json.Unmarshal(text, &comment) == nil {
		if replies, ok := comment["replies"].([]any); ok && len(replies) == n {
			delete(comment, "replies")
			text = jsonvalue.Encode(comment)
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
}

// inReply applies a change to the first reply of a comment.
func inReply(change func(map[string]any)) func(map[string]any) {
	return func(o map[string]any) {
		if replies, ok := o["replies"].([]any); ok && len(replies) > 0 {
			change(replies[0].(map[string]any))
		}
	}
}

func change(o map[string]any, name string, value any) {
	if o[name] != nil {
		o[name] = value
	}
}

func status(r *http.Request, a *reply, method string, from, to int) {
	if r.Method == method && a.status == from {
		a.status = to
	}
}

func refuse(a *reply, condition bool) {
	if condition {
		a.status, a.body = 400, `{"title":"no","status":400}`
		a.header.Set("Content-Type", "application/problem+json")
	}
}

// readsFirst makes a request be for the first comment.
func readsFirst(_ *toy.Garden, r *http.Request) {
	r.URL.Path = "/comments/01935a7e-8d3c-7c1e-9a55-000000000001"
}

func setHeader(a *reply, name, value string) {
	if a.header.Get(name) != "" {
		a.header.Set(name, value)
	}
}
