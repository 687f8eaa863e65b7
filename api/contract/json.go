package contract

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// decoder decodes one JSON text after the other, with the same buffers.
type decoder struct {
	input     bytes.Buffer
	tokens    jsontext.Decoder
	maxDepth  int
	isChanged bool  // see body
	err       error // the first one; nothing is read after it
}

// jsonDecoders are used again: a new one costs 10 % of the processor time of a small request.
var jsonDecoders = sync.Pool{New: func() any { return new(decoder) }}

// decodeJSON decodes exactly one JSON value (RFC 8259) and refuses what parsers disagree about:
// duplicate names, invalid UTF-8, lone surrogates, and bytes after the value. Objects become
// map[string]any, arrays []any. It keeps what is wanted.
func (b *body) decodeJSON(wanted wanted, maxDepth int) error {
	d := jsonDecoders.Get().(*decoder)
	defer d.release()
	d.input = *bytes.NewBuffer(b.text)
	d.tokens.Reset(&d.input)
	d.maxDepth, d.isChanged, d.err = maxDepth, false, nil
	b.value = d.value(wanted)
	b.isChanged = d.isChanged
	if d.err != nil {
		return explainJSON(d.err, b.text)
	}
	if _, err := d.tokens.ReadToken(); err != io.EOF {
		return fmt.Errorf("something follows the value, at byte %d", d.tokens.InputOffset())
	}
	return nil
}

// release returns the decoder to the pool. The text is not ours.
func (d *decoder) release() {
	d.input = bytes.Buffer{}
	d.tokens.Reset(&d.input)
	jsonDecoders.Put(d)
}

// read reads the next token.
func (d *decoder) read() jsontext.Token {
	token, err := d.tokens.ReadToken()
	if d.tokens.StackDepth() > d.maxDepth {
		err = cmp.Or(err, fmt.Errorf("it is nested deeper than %d", d.maxDepth))
	}
	d.err = cmp.Or(d.err, err)
	return token
}

// hasMore reports whether there is one more item or member before the end of an array or object.
func (d *decoder) hasMore(end jsontext.Kind) bool {
	return d.err == nil && d.tokens.PeekKind() != end
}

// skipTo skips the rest of what is nested deeper than a depth.
func (d *decoder) skipTo(depth int) {
	for d.err == nil && d.tokens.StackDepth() > depth {
		d.read()
	}
}

func (d *decoder) value(wanted wanted) any {
	depth := d.tokens.StackDepth()
	token := d.read()
	switch token.Kind() {
	case '[':
		return d.array(wanted, depth)
	case '{':
		return d.object(wanted, depth)
	case '"':
		return d.text(wanted, token.String())
	case '0':
		return numberOf(token.String())
	case 't', 'f':
		return token.Bool()
	}
	return nil // null, or an error
}

// text returns a text. A time is written in capitals, as [time.Time] reads it.
func (d *decoder) text(wanted wanted, text string) string {
	if !wanted.isTime() {
		return text
	}
	capital := strings.ToUpper(text)
	d.isChanged = d.isChanged || capital != text
	return capital
}

// array decodes the items of an array, whose bracket is read, down to a depth.
func (d *decoder) array(wanted wanted, depth int) []any {
	items := []any{}
	item, most := wanted.items()
	for len(items) < most && d.hasMore(']') {
		items = append(items, d.value(item))
	}
	d.skipTo(depth)
	return items
}

// object decodes the members of an object, whose bracket is read, down to a depth.
func (d *decoder) object(wanted wanted, depth int) map[string]any {
	members := map[string]any{}
	for wanted.hasObject() && d.hasMore('}') {
		name := d.read().String() // the token is void after the next read
		member, isKept := wanted.member(name)
		if !isKept {
			member, isKept = wanted.others()
			d.noteAmbiguity(name, wanted, isKept)
		}
		if wanted.leavesOut(name) {
			d.isChanged, isKept = true, false
		}
		value := d.value(member)
		if isKept {
			members[name] = value
		}
	}
	d.skipTo(depth)
	return members
}

// noteAmbiguity notes that the name of a member that the schema does not have differs from one that it has in
// upper and lower case only. encoding/json would take the member for that one. It is left out if the schema ignores
// unknown members, and is an error otherwise.
func (d *decoder) noteAmbiguity(name string, wanted wanted, isKept bool) {
	for _, schema := range wanted.schemas {
		for known := range schema.members {
			if !strings.EqualFold(known, name) {
				continue
			}
			d.isChanged = true
			if isKept {
				d.err = cmp.Or(d.err, fmt.Errorf("a member differs from the member %s in upper and lower case only", known))
			}
		}
	}
}

// syntaxErrors are the reasons for an error, by what the text goes on with there.
var syntaxErrors = []struct {
	rest   *regexp.Regexp
	reason string
}{
	{regexp.MustCompile(`^\\u[dD][89a-fA-F][[:xdigit:]]{2}`), "a string is not valid Unicode"}, // half of a surrogate pair
	{regexp.MustCompile(`^\\(["\\/bfnrt]|$)`), "a backslash is not in a string: remove it"},
	{regexp.MustCompile(`^\\`), `a string has an unknown escape: write a backslash as \\`},
}

// explainJSON describes the error in our own words, which do not change with the version of the
// decoder and do not quote the body.
func explainJSON(err error, body []byte) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return err // of read
	}
	reason := "a member name occurs twice in one object"
	if !errors.Is(err, jsontext.ErrDuplicateName) {
		reason = reasonOf(body[min(syntactic.ByteOffset, int64(len(body))):])
	}
	return fmt.Errorf("%s, at byte %d", reason, syntactic.ByteOffset)
}

func reasonOf(rest []byte) string {
	if letter, size := utf8.DecodeRune(rest); letter == utf8.RuneError && size == 1 {
		return "a string is not valid Unicode"
	}
	for _, known := range syntaxErrors {
		if known.rest.Match(rest) {
			return known.reason
		}
	}
	return "syntax error"
}
