package document

import (
	"strings"
	"testing"
)

// What WWW-Authenticate may name depends on the type of a scheme. One with OpenID Connect takes bearer tokens.
func TestChallengeSchemes(t *testing.T) {
	t.Parallel()
	const text = `{"openapi":"3.0.3","info":{"title":"Locked","version":"1"},"paths":{},"components":{"securitySchemes":{"lock":SCHEME}}}`
	for scheme, want := range map[string]string{
		`{"type":"http","scheme":"Basic"}`:                                          "basic",
		`{"type":"http","scheme":"bearer"}`:                                         "bearer",
		`{"type":"openIdConnect","openIdConnectUrl":"https://plants.example/oidc"}`: "bearer",
		`{"type":"apiKey","in":"header","name":"X-Key"}`:                            "",
	} {
		names := parsed(t, strings.Replace(text, "SCHEME", scheme, 1)).ChallengeSchemes()
		if got := strings.Join(names, " "); got != want {
			t.Errorf("of %s the schemes are %q, want %q", scheme, got, want)
		}
	}
}
