package plan

import (
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Behind a proxy, Location may lead to another host, and shows nothing then.
func TestLeadsElsewhere(t *testing.T) {
	t.Parallel()
	created := scenario.Interaction{URL: "http://pots.example/api/pots?dry=true", Path: "/pots"}
	for location, want := range map[string]bool{
		"/api/pots/7":                    false,
		"pots/7":                         false,
		"http://pots.example/api/pots/7": false,
		"https://proxy.example/pots/7":   true,
		"//proxy.example/api/pots/7":     true,
		"/pots/7":                        true,
	} {
		if got := leadsElsewhere(created, location); got != want {
			t.Errorf("%q leads elsewhere: %v, want %v", location, got, want)
		}
	}
}
