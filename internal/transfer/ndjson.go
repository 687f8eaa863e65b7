package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plantstore/plantstore/api/client"
)

// ndjsonReader reads NDJSON. It refuses duplicate members, unknown members and
// invalid UTF-8.
type ndjsonReader struct {
	in    *bufio.Reader
	begun bool
	line  int
	text  []byte
	dec   *jsontext.Decoder
}

func newNDJSONReader(in *bufio.Reader) *ndjsonReader {
	return &ndjsonReader{in: in, dec: jsontext.NewDecoder(bytes.NewReader(nil))}
}

func (n *ndjsonReader) Read() (Row, error) {
	if !n.begun {
		skipBOM(n.in)
		n.begun = true
	}
	for {
		if err := n.readLine(); err != nil {
			return Row{}, err
		}
		if len(bytes.TrimSpace(n.text)) > 0 {
			break
		}
	}
	plant, err := n.plant()
	if err != nil {
		return Row{}, RowError{n.line, err.Error(), membersOf(n.text)}
	}
	return Row{Line: n.line, Plant: plant}, nil
}

// readLine reads a line of any length and keeps at most maxRow bytes of it.
func (n *ndjsonReader) readLine() error {
	n.text = n.text[:0]
	n.line++
	tooLarge := false
	for {
		part, err := n.in.ReadSlice('\n')
		if tooLarge = tooLarge || len(n.text)+len(part) > maxRow; !tooLarge {
			n.text = append(n.text, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(n.text) == 0 && !tooLarge:
			return io.EOF
		case err != nil && err != io.EOF:
			return err
		case tooLarge:
			return RowError{n.line, fmt.Sprintf("the row is larger than %d MiB", maxRow>>20), "}"}
		}
		return nil
	}
}

// plant reads the object in the line.
func (n *ndjsonReader) plant() (p client.Plant, err error) {
	n.dec.Reset(bytes.NewReader(n.text))
	malformed := func(err error) error {
		if !utf8.Valid(n.text) {
			return errors.New("the row is not valid UTF-8")
		}
		if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok && e.Err != nil {
			err = e.Err
		}
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("the line is not a JSON object: unexpected end of line")
		}
		return fmt.Errorf("the line is not a JSON object: %.200s", err)
	}
	if n.dec.PeekKind() != '{' {
		if _, err := n.dec.ReadToken(); err != nil {
			return p, malformed(err)
		}
		return p, errors.New("the line is not a JSON object")
	}
	if _, err := n.dec.ReadToken(); err != nil {
		return p, malformed(err)
	}
	var present uint64 // one bit for each of members
	for n.dec.PeekKind() != '}' {
		token, err := n.dec.ReadToken()
		if err != nil {
			return p, malformed(err)
		}
		name := token.String()
		if isRejectColumn(name) || name == rowMember {
			if err := n.dec.SkipValue(); err != nil {
				return p, malformed(err)
			}
			continue
		}
		i := memberIndex(name)
		if i < 0 {
			return p, fmt.Errorf("unknown member %.100q: the members are %s", name, memberNames(", "))
		}
		m := members[i]
		token, err = n.dec.ReadToken()
		if err != nil {
			return p, malformed(err)
		}
		switch kind := token.Kind(); {
		case kind == 'n' && m.optional:
			continue
		case m.integer && kind != '0':
			return p, fmt.Errorf("%s must be an integer", name)
		case !m.integer && kind != '"':
			return p, fmt.Errorf("%s must be a string", name)
		}
		if err := m.set(&p, token.String()); err != nil {
			return p, err
		}
		present |= 1 << i
	}
	if _, err := n.dec.ReadToken(); err != nil {
		return p, malformed(err)
	}
	if _, err := n.dec.ReadToken(); err != io.EOF {
		return p, errors.New("the line has more than one JSON value")
	}
	for i, m := range members {
		if !m.optional && present&(1<<i) == 0 {
			return p, fmt.Errorf("%s is missing", m.name)
		}
	}
	return p, nil
}

// rowMember is the member of a file of refused rows that holds a line that is not
// a JSON object.
const rowMember = "row"

func (n *ndjsonReader) rejectHeader() string { return "" }

func (n *ndjsonReader) textOf(row Row) string { return string(AppendJSON(nil, row.Plant)[1:]) }

func (n *ndjsonReader) appendReject(dst []byte, bad RowError) []byte {
	dst = append(dst, `{"line":`...)
	dst = strconv.AppendInt(dst, int64(bad.Line), 10)
	dst = append(dst, `,"reason":`...)
	dst = appendText(dst, bad.Reason)
	if bad.text != "" && bad.text[0] != '}' {
		dst = append(dst, ',')
	}
	dst = append(dst, bad.text...)
	return append(dst, '\n')
}

// membersOf returns the members of the object in a line, and the rest of the
// line, without the opening brace and without the members line and reason.
// Malformed JSON stays as it is, so that a person can correct it.
func membersOf(line []byte) string {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return string(append(appendText([]byte(`"`+rowMember+`":`), string(line)), '}'))
	}
	dec := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_, _ = dec.ReadToken() // the brace
	var members []string
	for {
		begin := dec.InputOffset()
		if dec.PeekKind() == '}' {
			_, _ = dec.ReadToken()
			return strings.Join(members, ",") + "}" + string(line[dec.InputOffset():])
		}
		name, err := dec.ReadToken()
		key := name.String()
		if err == nil {
			_, err = dec.ReadValue()
		}
		switch {
		case err != nil:
			if rest := withoutComma(line[begin:]); rest != "" {
				members = append(members, rest)
			}
			return strings.Join(members, ",")
		case !isRejectColumn(key):
			members = append(members, withoutComma(line[begin:dec.InputOffset()]))
		}
	}
}

// withoutComma removes the comma before a member.
func withoutComma(member []byte) string {
	member, _ = bytes.CutPrefix(bytes.TrimSpace(member), []byte(","))
	return string(bytes.TrimSpace(member))
}

// ndjsonWriter writes NDJSON.
type ndjsonWriter struct {
	out *bufio.Writer
	buf []byte
}

func (n *ndjsonWriter) Write(p client.Plant) error {
	n.buf = append(AppendJSON(n.buf[:0], p), '\n')
	_, err := n.out.Write(n.buf)
	return err
}

func (n *ndjsonWriter) Flush() error { return n.out.Flush() }

// AppendJSON appends a plant as JSON in as few bytes as possible: it escapes
// only what JSON requires, so that a plant that once fitted into a request fits
// again. The strings of the plant must be valid UTF-8.
func AppendJSON(dst []byte, p client.Plant) []byte {
	dst = append(dst, '{')
	for i, m := range members {
		value, present := m.get(&p)
		if !present {
			continue
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, m.name), ':')
		if m.integer {
			dst = append(dst, value...)
		} else {
			dst = appendText(dst, value)
		}
	}
	return append(dst, '}')
}

func appendText(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text) // its only error is invalid UTF-8, which it replaces
	return dst
}
