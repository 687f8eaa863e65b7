package plant

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A prefix finds a name if the key of the name begins with that of the prefix; see "The
// order of names" in the document.
func TestNameKey(t *testing.T) {
	for prefix, c := range map[string]struct{ finds, not []string }{
		"fic":        {finds: []string{"Ficus lyrata", "FICUS"}, not: []string{"Monstera", "Le ficus"}},
		"fi":         {finds: []string{"FIcus"}, not: []string{"\ufb01cus"}},
		"É":          {finds: []string{"étoile", "e\u0301", "E\u0301"}, not: []string{"Etoile", "e\u0300"}},
		"e\u0301":    {finds: []string{"É", "é"}, not: []string{"e"}},
		"e":          {finds: []string{"Etoile"}, not: []string{"étoile", "e\u0301toile"}},
		"ß":          {finds: []string{"ẞ", "Straße"[4:]}, not: []string{"ss", "SS"}},
		"ss":         {finds: []string{"SS", "ſS"}, not: []string{"ß", "ẞ"}},
		"k":          {finds: []string{"K", "\u212aelvin"}, not: []string{"κ"}},
		"\u212a":     {finds: []string{"k", "K"}},
		"ſ":          {finds: []string{"s", "S"}},
		"\u2126":     {finds: []string{"ω", "Ω"}},
		"ω":          {finds: []string{"\u2126", "Ω"}, not: []string{"ώ"}},
		"ΟΔΟΣ":       {finds: []string{"οδος", "οδοσ"}},
		"i":          {finds: []string{"I"}, not: []string{"ı", "İ"}},
		"a":          {not: []string{"\x00a", ""}},
		"a\x00":      {finds: []string{"A\x00b"}, not: []string{"a", "ab"}},
		"\x00":       {finds: []string{"\x00", "\x00\x00"}, not: []string{"", "0"}},
		"\U0010ffff": {finds: []string{"\U0010ffff\U0010ffff"}, not: []string{"\U0010fffe"}},
		"":           {finds: []string{"", "\x00", "\U0010ffff"}},
		strings.Repeat("\ufb2c", 50): {
			finds: []string{strings.Repeat("\ufb2c", 51)}, not: []string{strings.Repeat("\ufb2c", 49)},
		},
	} {
		for _, name := range c.finds {
			if !strings.HasPrefix(NameKey(name), NameKey(prefix)) {
				t.Errorf("%q does not find %q: the keys are %q and %q", prefix, name, NameKey(prefix), NameKey(name))
			}
		}
		for _, name := range c.not {
			if strings.HasPrefix(NameKey(name), NameKey(prefix)) {
				t.Errorf("%q finds %q: the keys are %q and %q", prefix, name, NameKey(prefix), NameKey(name))
			}
		}
	}
}

// Every character has the key of the others of its case, in both forms of normalization.
func TestNameKeyOfEachCharacter(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		if !utf8.ValidRune(r) {
			continue
		}
		key := NameKey(string(r))
		if decomposed := norm.NFD.String(string(r)); NameKey(decomposed) != key {
			t.Errorf("the keys of %q and %q are %q and %q, want the same", r, decomposed, key, NameKey(decomposed))
		}
		if !norm.NFC.IsNormalString(string(r)) {
			continue
		}
		if other := unicode.SimpleFold(r); norm.NFC.IsNormalString(string(other)) && NameKey(string(other)) != key {
			t.Errorf("the keys of %q and %q are %q and %q, want the same", r, other, key, NameKey(string(other)))
		}
	}
}

// A key is a text of at most 600 bytes. The key of the first characters of a name, up to 50,
// is the beginning of its key, unless the next one may combine with them.
func FuzzNameKey(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{
		"a", "A", "ß", "é", "e", "\u0301", "\u0344", "\u212a", "ς", "\u1100", "\u1161", "\u11a8",
		"\ufb2c", "\U0001d160", "\u0958", "\x00", "\uffff", "\U0010ffff", string(unicode.MaxASCII),
	}
	for range 2000 {
		var name strings.Builder
		some := parts[random.IntN(len(parts)):] // so that some are long runs of one character
		for range random.IntN(MaxName / 5) {
			name.WriteString(some[random.IntN(min(len(some), 1+random.IntN(len(parts))))])
		}
		f.Add(name.String())
	}
	f.Add(strings.Repeat("\U0010ffff", MaxName))
	f.Fuzz(func(t *testing.T, name string) {
		if !utf8.ValidString(name) {
			t.Skip()
		}
		key := NameKey(name)
		if len(key) > 600 || !utf8.ValidString(key) || utf8.RuneCountInString(key) > keyCharacters {
			t.Fatalf("the key of %q is %q", name, key)
		}
		characters := []rune(name)
		for n := range min(len(characters), 50) + 1 {
			rest := string(characters[n:])
			if rest != "" && !norm.NFC.PropertiesString(rest).BoundaryBefore() {
				continue
			}
			if prefix := NameKey(string(characters[:n])); !strings.HasPrefix(key, prefix) {
				t.Fatalf("the key of %q is %q, but that of its first %d characters %q", name, key, n, prefix)
			}
		}
	})
}

// Both tables have the same version of Unicode. Else keys would change without
// [NameKeyVersion].
func TestNameKeyVersion(t *testing.T) {
	if norm.Version != unicode.Version {
		t.Errorf("normalization has Unicode %s and the cases have %s, want the same", norm.Version, unicode.Version)
	}
	if unicode.Version == "15.0.0" && NameKeyVersion != 1500 {
		t.Errorf("NameKeyVersion = %d, want 1500", NameKeyVersion)
	}
}

// Keys of a text are in the order of its bytes, which [ByName.Range] relies on: the first
// place after a key, and the end of those with a prefix.
func TestByNameRange(t *testing.T) {
	for _, c := range []struct {
		page         ByName
		from, before NamePlace // of the ascending and of the descending order
		until        string
	}{
		{ByName{}, NamePlace{"", minID}, NamePlace{"\xff", minID}, "\xff"},
		{ByName{Prefix: "b"}, NamePlace{"b", minID}, NamePlace{"b\xff", minID}, "b\xff"},
		{ByName{Prefix: "b", After: &NamePlace{"a", 5}}, NamePlace{"b", minID}, NamePlace{"b", minID}, "b\xff"},
		{ByName{Prefix: "b", After: &NamePlace{"b", 5}}, NamePlace{"b", 6}, NamePlace{"b", 5}, "b\xff"},
		{ByName{Prefix: "b", After: &NamePlace{"ba", maxID}}, NamePlace{"ba\x00", minID}, NamePlace{"ba", maxID}, "b\xff"},
		{ByName{Prefix: "b", After: &NamePlace{"c", 5}}, NamePlace{"b\xff", 6}, NamePlace{"b\xff", minID}, "b\xff"},
		{ByName{After: &NamePlace{"", minID}}, NamePlace{"", minID + 1}, NamePlace{"", minID}, "\xff"},
	} {
		if from, until := c.page.Range(); from != c.from || until != c.until {
			t.Errorf("%+v.Range() = %v, %q, want %v, %q", c.page, from, until, c.from, c.until)
		}
		if before, from := c.page.RangeDescending(); before != c.before || from != c.page.Prefix {
			t.Errorf("%+v.RangeDescending() = %v, %q, want %v and the prefix", c.page, before, from, c.before)
		}
	}
}
