// Package page serves a page for people: it shows the plants, finds them and changes them.
// Everything that it does it asks of the API, with the token of the person.
//
// The page is HTML, CSS and ES modules without a build step; internal/workshop/tools checks their
// types against the document. It loads nothing from other hosts, and every reference in it is
// relative, so it works below any path that a proxy adds.
package page

import (
	"embed"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/plantstore/plantstore/internal/docs"
)

//go:embed files
var files embed.FS

// SignIn is what the page needs so that a person can sign in at an identity provider, with the
// authorization code flow and PKCE (RFC 7636).
type SignIn struct {
	ClientID, Audience, Scope string
	Authorization, Token      string // endpoints of the provider
}

// policy is that of the documentation, and makes the browser refuse to read text as HTML or
// as a script (Trusted Types).
const policy = docs.Policy + "; require-trusted-types-for 'script'; trusted-types 'none'"

// mediaTypes are those of the files, by extension. The package mime would read tables of the
// system, which say other things on some machines.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".csv":  "text/csv; charset=utf-8",
}

// Handlers returns the handlers of GET requests, by path: / for the page, and /page/ with
// the files that it needs. People can sign in with what signIn returns; it is nil, or returns
// nil, if they cannot.
func Handlers(signIn func() *SignIn) map[string]http.Handler {
	handlers := map[string]http.Handler{}
	entries, _ := files.ReadDir("files") // a part of the program, so there is no error
	for _, entry := range entries {
		content, _ := files.ReadFile("files/" + entry.Name())
		file := docs.File{
			MediaType: mediaTypes[path.Ext(entry.Name())],
			Content:   string(content),
			Policy:    policy,
		}
		if entry.Name() == "index.html" {
			handlers["/"] = index(file, signIn)
			continue
		}
		handlers["/page/"+entry.Name()] = file.Handler()
	}
	return handlers
}

// index serves the page, with what signIn returns in its element meta.
func index(file docs.File, signIn func() *SignIn) http.Handler {
	plain := file.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var provider *SignIn
		if signIn != nil {
			provider = signIn()
		}
		if provider == nil {
			plain.ServeHTTP(w, r)
			return
		}
		withSignIn(file, provider).Handler().ServeHTTP(w, r)
	})
}

// withSignIn adds a provider to the page. The page may send requests to the host of its token
// endpoint, and to no other.
func withSignIn(file docs.File, provider *SignIn) docs.File {
	const placeholder = `<meta name="sign-in">`
	file.Content = strings.Replace(file.Content, placeholder, fmt.Sprintf(
		`<meta name="sign-in" data-client="%s" data-audience="%s" data-scope="%s" data-authorization="%s" data-token="%s">`,
		html.EscapeString(provider.ClientID), html.EscapeString(provider.Audience), html.EscapeString(provider.Scope),
		html.EscapeString(provider.Authorization), html.EscapeString(provider.Token)), 1)
	if endpoint, err := url.Parse(provider.Token); err == nil {
		file.Policy = strings.Replace(file.Policy, "connect-src 'self'", "connect-src 'self' "+endpoint.Scheme+"://"+endpoint.Host, 1)
	}
	return file
}
