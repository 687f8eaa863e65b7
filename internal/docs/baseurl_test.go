package docs

import (
	"strings"
	"testing"
)

func TestParseBaseURL(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:8080":              "http://127.0.0.1:8080",
		"https://example.org":                "https://example.org",
		"https://example.org/":               "https://example.org",
		"https://example.org/store":          "https://example.org/store",
		"https://example.org/store/":         "https://example.org/store",
		"HTTPS://Example.ORG/Store":          "https://example.org/Store",
		"https://example.org/a/b":            "https://example.org/a/b",
		"https://[::1]:8443/store":           "https://[::1]:8443/store",
		"https://example.org/caf\u00e9/a b":  "https://example.org/caf%C3%A9/a%20b",
		"https://example.org/a%2Fb":          "https://example.org/a%2Fb",
		`https://example.org/"<x>\`:          "https://example.org/%22%3Cx%3E%5C",
		"https://xn--bcher-kva.example/plan": "https://xn--bcher-kva.example/plan",
	} {
		if u, err := ParseBaseURL(text); err != nil || u.String() != want {
			t.Errorf("ParseBaseURL(%q) = %v, %v, want %s", text, u, err, want)
		}
	}
	for text, want := range map[string]string{
		"example.org":                    "begin with http",
		"//example.org":                  "begin with http",
		"ftp://example.org":              "begin with http",
		"http:example.org":               "name a host",
		"http://":                        "name a host",
		"https://b\u00fccher.example":    "name a host in ASCII",
		`https://example.org"x`:          "name a host",
		"https://example.org:port":       "invalid port",
		"https://flora:s3cret@x.example": "name or a password",
		"https://example.org/?a=b":       "without ? and #",
		"https://example.org?":           "without ? and #",
		"https://example.org/#top":       "without ? and #",
		"https://example.org//store":     "do without //",
		"https://example.org/a/../b":     "do without //",
		"https://example.org//":          "do without //",
		"https://exa mple.org":           "invalid character",
		"https://example.org/\x00":       "invalid control character",
	} {
		u, err := ParseBaseURL(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseBaseURL(%q) = %v, %v, want an error with %q", text, u, err, want)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("ParseBaseURL(%q) gives the password away: %v", text, err)
		}
	}
}
