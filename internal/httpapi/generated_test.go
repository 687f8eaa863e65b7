package httpapi_test

import (
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/contract"
	"github.com/plantstore/plantstore/internal/token"
)

// TestGenerated tries on the service everything that the document promises. No
// test of it is written here: the document makes them.
func TestGenerated(t *testing.T) {
	s := start(t, nil)
	target := contract.Target{URL: s.url, Token: staticToken}
	for scope, text := range map[token.Scope]*string{token.Read: &target.ReadOnly, token.Write: &target.WriteOnly} {
		stored, issued := token.New("may only "+string(scope), []token.Scope{scope}, time.Hour)
		if err := s.store.CreateToken(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		*text = issued
	}
	tests, err := contract.Generated(1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) { test.Run(t, target) })
	}
}
