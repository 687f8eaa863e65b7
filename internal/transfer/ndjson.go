package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plantstore/plantstore/api/client"
)

// ndjsonReader reads NDJSON. It refuses duplicate members, unknown members and
// invalid UTF-8.
type ndjsonReader struct {
	in   *bufio.Reader
	line int
	dec  jsontext.Decoder
}

func (n *ndjsonReader) Read() (Row, error) {
	if n.line == 0 {
		if err := checkText(n.in); err != nil {
			return Row{}, err
		}
	}
	for {
		line, err := n.readLine()
		if err != nil {
			return Row{}, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		row := Row{Line: n.line, text: string(line)}
		if row.Plant, err = n.plant(line); err != nil {
			return Row{}, RowError{n.line, explainJSON(line, err), row.text}
		}
		return row, nil
	}
}

// readLine returns the next line, until the next call.
func (n *ndjsonReader) readLine() ([]byte, error) {
	n.line++
	line, err := n.in.ReadSlice('\n')
	tooLarge := err == bufio.ErrBufferFull
	for err == bufio.ErrBufferFull {
		_, err = n.in.ReadSlice('\n')
	}
	switch {
	case err != nil && err != io.EOF:
		return nil, err
	case tooLarge:
		return nil, RowError{n.line, fmt.Sprintf("the row is larger than %d MiB", maxRow>>20), "{}"}
	case len(line) == 0:
		return nil, io.EOF
	}
	return line, nil
}

// plant reads the object in a line.
func (n *ndjsonReader) plant(line []byte) (p client.Plant, err error) {
	// The members line and reason may be there twice; see appendReject.
	n.dec.Reset(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true))
	if begin, err := n.dec.ReadToken(); err != nil {
		return p, err
	} else if begin.Kind() != '{' {
		return p, errors.New("the line is not a JSON object")
	}
	present := make([]bool, len(members))
	for n.dec.PeekKind() != '}' {
		token, err := n.dec.ReadToken()
		if err != nil {
			return p, err
		}
		name := token.String()
		if isRejectColumn(name) || name == rowMember {
			if err := n.dec.SkipValue(); err != nil {
				return p, err
			}
			continue
		}
		i := memberIndex(name)
		if i < 0 {
			return p, fmt.Errorf("unknown member %.100q: the members are %s", name, memberNames(", "))
		}
		if present[i] {
			return p, fmt.Errorf("the line is not a JSON object: duplicate object member name %q", name)
		}
		present[i] = true
		if token, err = n.dec.ReadToken(); err != nil {
			return p, err
		}
		m := members[i]
		switch kind := token.Kind(); {
		case kind == 'n' && m.isOptional():
			continue
		case m.isInteger() && kind != '0':
			return p, fmt.Errorf("%s must be an integer", name)
		case !m.isInteger() && kind != '"':
			return p, fmt.Errorf("%s must be a string", name)
		}
		if err := m.set(&p, token.String()); err != nil {
			return p, err
		}
	}
	if _, err := n.dec.ReadToken(); err != nil {
		return p, err
	}
	if _, err := n.dec.ReadToken(); err != io.EOF {
		return p, errors.New("the line has more than one JSON value")
	}
	for i, m := range members {
		if !m.isOptional() && !present[i] {
			return p, fmt.Errorf("%s is missing", m.name)
		}
	}
	return p, nil
}

// explainJSON says what is wrong with a line.
func explainJSON(line []byte, err error) string {
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !utf8.Valid(line):
		return "the row is not valid UTF-8"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the line is not a JSON object: unexpected end of line"
	case ok:
		return fmt.Sprintf("the line is not a JSON object: %.200s", syntax.Err)
	}
	return err.Error()
}

// rowMember is the member of a file of refused rows that holds a line that is not
// a JSON object.
const rowMember = "row"

func (n *ndjsonReader) rejectHeader() string { return "" }

// rejected matches what appendReject puts before the rest of a line.
var rejected = regexp.MustCompile(`^\{"line":\d+,"reason":"(\\.|[^"\\])*",?`)

// appendReject keeps the line as it is, so that a person can correct it.
func (n *ndjsonReader) appendReject(dst []byte, bad RowError) []byte {
	dst = fmt.Appendf(dst, `{"line":%d,"reason":`, bad.Line)
	dst = appendText(dst, bad.Reason)
	rest, isObject := strings.CutPrefix(rejected.ReplaceAllString(bad.text, "{"), "{")
	if !isObject {
		rest = string(append(appendText([]byte(`"`+rowMember+`":`), bad.text), '}'))
	}
	if rest = strings.TrimSpace(rest); rest != "" && rest[0] != '}' {
		dst = append(dst, ',')
	}
	return append(append(dst, rest...), '\n')
}

// ndjsonWriter writes NDJSON.
type ndjsonWriter struct {
	*bufio.Writer
	buf []byte
}

func (n *ndjsonWriter) Write(p client.Plant) error {
	n.buf = append(appendJSON(n.buf[:0], &p), '\n')
	_, err := n.Writer.Write(n.buf)
	return err
}

// appendJSON appends a plant as JSON. The strings of the plant must be valid UTF-8.
func appendJSON(dst []byte, p *client.Plant) []byte {
	separator := byte('{')
	for _, m := range members {
		value, present := m.get(p)
		if !present {
			continue
		}
		dst = append(appendText(append(dst, separator), m.name), ':')
		if m.isInteger() {
			dst = append(dst, value...)
		} else {
			dst = appendText(dst, value)
		}
		separator = ','
	}
	return append(dst, '}')
}

func appendText(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text) // its only error is invalid UTF-8, which it replaces
	return dst
}
