package plan

import (
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
)

// A wrong credential has the form of a right one, and can be made without one. What has no more than one character cannot be cut.
func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	bearer := &document.Scheme{Type: "http", Scheme: "bearer"}
	basic := &document.Scheme{Type: "http", Scheme: "basic"}
	key := &document.Scheme{Type: "apiKey", In: "cookie", Name: "key"}
	for name, c := range map[string]struct {
		credential string
		scheme     *document.Scheme
		edit       func(string, *document.Scheme) string
		want       string
	}{
		"wrong":                 {"Bearer t", bearer, other, "Bearer not-a-credential"},
		"wrong, as long":        {"Token 12345678901234567890", bearer, other, "Token not-a-credentialnot-"},
		"wrong, of none":        {"", bearer, other, "Bearer not-a-credential"},
		"wrong, basic":          {"Basic YW5uOnNlY3JldA==", basic, other, "Basic bm90Om5vdC1hLQ=="},
		"wrong, basic, of none": {"", basic, other, "Basic bm90LWEtY3JlZGVudGlhbDpub3QtYS1jcmVkZW50aWFs"},
		"wrong, a key":          {"2", key, other, "not-a-credential"},
		"cut":                   {"Bearer token", bearer, cut, "Bearer toke"},
		"cut, basic":            {"Basic YW5uOnNlY3JldA==", basic, cut, "Basic YW5uOnNlY3Jl"},
		"cut, one character":    {"Bearer t", bearer, cut, ""},
		"cut, of none":          {"", bearer, cut, ""},
		"bare":                  {"Bearer t", bearer, bare, "Bearer"},
		"bare, of no form":      {"token", bearer, bare, "not-a"},
	} {
		if got := c.edit(c.credential, c.scheme); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
