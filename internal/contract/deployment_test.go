//go:build deployment

package contract

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// TestDeployment tries every promise of the document on the service at
// BASE_URL, with the token in PLANTSTORE_TOKEN, which must allow everything. It
// stores plants under random ids and under those at the ends of the range, which
// it removes first: point it at nothing that somebody needs.
func TestDeployment(t *testing.T) {
	target := Target{URL: strings.TrimSuffix(os.Getenv("BASE_URL"), "/"), Token: os.Getenv("PLANTSTORE_TOKEN")}
	if target.URL == "" || target.Token == "" {
		t.Fatal("BASE_URL and PLANTSTORE_TOKEN are needed")
	}
	tests, err := Generated(1_000_000 + rand.Int64N(1<<60))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) { test.Run(t, target) })
	}
	t.Logf("%d tests", len(tests))
}
