package token

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		stored, text := New("n", nil, 0)
		id, secret, ok := parse(text)
		if !ok || id != stored.ID || len(text) != textLen || !strings.HasPrefix(text, "pst_") || !isB64Token(text) {
			t.Fatalf("parse(%q) = %q, %v", text, id, ok)
		}
		if seen[id] || seen[secret] {
			t.Fatal("an id or a secret came twice")
		}
		seen[id], seen[secret] = true, true
	}
}

func TestParseRefusesTypingMistakes(t *testing.T) {
	_, text := New("n", nil, 0)
	for i := range text {
		typo := []byte(text)
		typo[i] ^= 1
		if _, _, ok := parse(string(typo)); ok {
			t.Errorf("parse took a token with byte %d changed", i)
		}
	}
	for _, bad := range []string{"", "pst_", text[:len(text)-1], text + "0", " " + text} {
		if _, _, ok := parse(bad); ok {
			t.Errorf("parse(%q) took it", bad)
		}
	}
}
