package contracttest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/toy"
)

// stub is a service of any document that responds with generated values. It keeps nothing.
func stub(c *Contract) *service {
	g := values.New(values.Settings{})
	s := &service{contract: c, respond: map[string]func(call) *reply{}, credentials: Credentials{}, keepsNothing: true}
	for name := range c.document.Schemes {
		s.credentials[name] = name + ":secret"
	}
	respond := func(r *document.Operation, status int) *reply {
		response := r.Response(status)
		made := newReply(status, nil)
		if mediaType, schema := document.JSONOf(response.Content); schema != nil {
			made = newReply(status, g.Base(schema))
			made.header.Set("Content-Type", mediaType)
		}
		return made
	}
	for _, r := range c.document.Operations {
		status := 0
		for code := 200; code < 400 && status == 0; code++ {
			if r.Lists(code) {
				status = code
			}
		}
		s.respond[r.ID] = func(call) *reply { return respond(r, status) }
	}
	s.failureOf = respond
	s.failure = func(status int) *reply { return newReply(status, map[string]any{"error": "failed"}) }
	return s
}

func TestLargeDocument(t *testing.T) {
	must.HaveTime(t)
	c := contractOf(t, "hydra.yaml", Options{Service: Service{Rules: Rules{Exact: true}}})
	for _, want := range []string{"oauth2TokenExchange", "application/x-www-form-urlencoded"} {
		if !slices.ContainsFunc(notTestedOf(c), func(skipped string) bool { return strings.Contains(skipped, want) }) {
			t.Errorf("what is not tested does not name %s:\n%s", want, strings.Join(notTestedOf(c), "\n"))
		}
	}
	at := func(path string, f wrong) wrong { // the fault is in one operation
		change := f.response
		if change != nil {
			f.response = func(r *http.Request, a *reply) {
				if strings.HasPrefix(r.URL.Path, path) && a.status < 300 {
					change(r, a)
				}
			}
		}
		return f
	}
	body := func(old, new string) func(*http.Request, *reply) {
		return func(_ *http.Request, a *reply) { a.body = strings.Replace(a.body, old, new, 1) }
	}
	proof(t, c, func(toy.Fault) *service { return stub(c) }, map[string]wrong{
		"201 is 200":                    {by: "createOAuth2Client", response: func(r *http.Request, a *reply) { status(r, a, "POST", 201, 200) }},
		"an alive service is not":       at("/health/alive", wrong{by: "isAlive", response: func(_ *http.Request, a *reply) { a.status = 404 }}),
		"a version as a number":         at("/version", wrong{by: "getVersion", response: body(`"version":"Ficus"`, `"version":1`)}),
		"a key set without keys' types": at("/.well-known/jwks.json", wrong{by: "discoverJson", response: body(`"kty":"RSA",`, ``)}),
		"a key with an unnamed member":  at("/.well-known/jwks.json", wrong{by: "discoverJson", response: body(`"kty":`, `"secret":1,"kty":`)}),
		"a configuration cut short":     at("/.well-known/openid", wrong{by: "discoverOidc", response: func(_ *http.Request, a *reply) { a.body = a.body[:len(a.body)/2] }}),
		"a client with a number as id":  at("/admin/clients", wrong{by: "getOAuth2Client", response: body(`"client_id":"Ficus"`, `"client_id":5`)}),
		"a lifespan in no unit":         at("/admin/clients", wrong{by: "getOAuth2Client", response: body(`_lifespan":"`, `_lifespan":"x`)}),
		"a time that is no time":        at("/admin/clients", wrong{by: "getOAuth2Client", response: body(`"created_at":"2026-11-20T`, `"created_at":"T`)}),
		"clients as an object":          at("/admin/clients", wrong{by: "listOAuth2Clients", response: func(_ *http.Request, a *reply) { a.body = strings.Trim(a.body, "[]") }}),
		"a body with a deletion":        at("/admin/clients", wrong{by: "deleteOAuth2Client", response: func(r *http.Request, a *reply) { fill(r, a, "DELETE") }}),
		"user information for nobody":   {by: "getOidcUserInfo", request: func(r *http.Request) { userInfo(r) }},
		"a page size of 0": {by: "page_size", request: func(r *http.Request) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "page_size=0", "page_size=1", 1)
		}},
		"a page size of 501": {by: "page_size", request: func(r *http.Request) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "page_size=501", "page_size=1", 1)
		}},
		"a patch without operations": {by: "patchOAuth2Client", request: replaceBody(`"path":"Ficus"`, `"path":"/"`), response: func(r *http.Request, a *reply) { status(r, a, "PATCH", 400, 200) }},
		"no Allow":                   {by: "methods", response: func(_ *http.Request, a *reply) { a.header.Del("Allow") }},
		"everything exists":          {by: "no path", response: func(_ *http.Request, a *reply) { found(a) }},
	})
}

func fill(r *http.Request, a *reply, method string) {
	if r.Method == method {
		a.body = "{}"
	}
}

func userInfo(r *http.Request) {
	if r.URL.Path == "/userinfo" {
		r.Header.Set("Authorization", "Bearer oauth2:secret")
	}
}

func found(a *reply) {
	if a.status == 404 {
		a.status = 200
	}
}
