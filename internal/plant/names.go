package plant

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// keyCharacters is the largest number of characters in a key. The document allows 50 for
// the beginning of a name, and NFC makes at most three of one.
const keyCharacters = 3 * 50

// NameKey returns the key of a name: the order of names is that of the bytes of their
// keys. The key of the beginning of a name is the beginning of its key, unless a
// combining character follows.
//
// A key is the name in NFC, with each character replaced by the smallest one that differs
// from it only in case (simple case folding), without what follows the first 150
// characters. It has at most 600 bytes. Full case folding (cases.Fold) would make "ss" of
// "ß", and it leaves NFC for some characters.
func NameKey(name string) string {
	var bytes [utf8.UTFMax * keyCharacters]byte
	return string(fold(bytes[:0], name, keyCharacters))
}

// fold appends to a text the first characters of a name, in the form that [NameKey] describes.
func fold(text []byte, name string, characters int) []byte {
	for _, r := range norm.NFC.String(name) {
		if characters--; characters < 0 {
			break
		}
		smallest := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			smallest = min(smallest, other)
		}
		text = utf8.AppendRune(text, smallest)
	}
	return text
}

// NameKeyVersion identifies what [NameKey] does. Keys of different versions cannot be
// compared: a new version of Unicode adds characters, with their cases and their NFC.
var NameKeyVersion, _ = strconv.ParseInt(strings.ReplaceAll(unicode.Version, ".", ""), 10, 64)

// ErrOtherUnicode is the cause of an [ErrUnavailable] when the keys of the names in a store
// are of another [NameKeyVersion]. A copy of the store has new keys.
var ErrOtherUnicode = errors.New("the store has the order of names of another version of Unicode: " +
	"stop the service, and copy the store to a new one with plantstore copy")

// ByName selects plants in the order of their names, and of their IDs if the keys of
// their names are equal.
type ByName struct {
	Prefix string     // the beginning of the keys of their names; empty: all plants
	After  *NamePlace // only the plants after this place; nil: all plants
}

// NamePlace is a place in the order of names: that of a plant, which need not exist.
type NamePlace struct {
	Key string
	ID  int64
}

// Range returns where the plants are in the order of names: at the place from or after it,
// with a key that is less than until.
func (b ByName) Range() (from NamePlace, until string) {
	from, until = NamePlace{b.Prefix, minID}, b.Prefix+lastByte
	if after := b.After; after != nil && after.Key >= b.Prefix {
		from = NamePlace{after.Key, after.ID + 1}
		if after.ID == maxID {
			from = NamePlace{next(after.Key), minID}
		}
	}
	from.Key = min(from.Key, until) // a client can send the cursor of another list
	return from, until
}

// RangeDescending returns where the plants are in the reverse order of names: before a place,
// with a key of at least from.
func (b ByName) RangeDescending() (before NamePlace, from string) {
	before = NamePlace{b.Prefix + lastByte, minID}
	if after := b.After; after != nil && after.Key < before.Key {
		before = *after
	}
	if before.Key < b.Prefix { // a client can send the cursor of another list
		before = NamePlace{b.Prefix, minID}
	}
	return before, b.Prefix
}

// TagPage selects tags in the order of their bytes, which is that of their code points.
type TagPage struct {
	Prefix string  // only tags that begin with it
	After  *string // only tags after this one; nil: all tags
	Limit  int     // maximum number of tags, at least 1
}

// Range returns which tags a page can have: from is the smallest one, and all are less than
// until.
func (p TagPage) Range() (from, until string) {
	from = p.Prefix
	if p.After != nil {
		from = max(from, next(*p.After))
	}
	return from, p.Prefix + lastByte
}

// lastByte is greater than every byte of a text in UTF-8.
const lastByte = "\xff"

// next returns the smallest text that is greater.
func next(text string) string { return text + "\x00" }
