package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// Modules say the oldest release of Go that builds them, for people who import them, and name no toolchain, so that nobody
// downloads one. What is built and checked has the newest patch of it.
func TestVersionsOfGo(t *testing.T) {
	files := map[string]string{ // what each mention of Go in them must be
		"../go.mod":                          "go 1.26.0",
		"workshop/go.mod":                    "go 1.26.0",
		"workshop/*/go.mod":                  "go 1.26.0",
		"workshop/bench/peers/*/go.mod":      "go 1.26.0",
		"workshop/recall/mutants/*/go.mod":   "go 1.26.0",
		"../.github/workflows/*.yml":         "go-version: '1.26', check-latest: true",
		"../cmd/*/*/.github/workflows/*.yml": "go-version: '1.26', check-latest: true",
		"../cmd/plantstore/Dockerfile":       "golang:1.26 ",
	}
	mention := regexp.MustCompile(`(?m)^(go|toolchain) .*$|go-version[^,}]*(, check-latest: true)?|golang:\S+ `)
	for pattern, want := range files {
		names, err := filepath.Glob(pattern)
		must.NoError(t, err)
		if len(names) == 0 {
			t.Errorf("no file is named %s", pattern)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			must.NoError(t, err)
			mentions := mention.FindAllString(string(text), -1)
			if len(mentions) == 0 {
				t.Errorf("%s does not say which Go it needs, want %q", name, want)
			}
			for _, got := range mentions {
				if got != want {
					t.Errorf("%s has %q, want %q", name, got, want)
				}
			}
		}
	}
}
