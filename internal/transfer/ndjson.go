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

	"github.com/plantstore/plantstore/gen/plantapi"
)

// ndjsonReader reads NDJSON. Each line is as strict as a request: no member
// twice, no member that a plant does not have, no invalid UTF-8.
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

// readLine reads a line of any length and keeps no more of it than a row may
// have.
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
			return RowError{n.line, fmt.Sprintf("is larger than %d MiB", maxRow>>20), "}"}
		}
		return nil
	}
}

// plant reads the object in the line.
func (n *ndjsonReader) plant() (p plantapi.NewPlant, err error) {
	n.dec.Reset(bytes.NewReader(n.text))
	malformed := func(err error) error {
		if !utf8.Valid(n.text) {
			return errors.New("is not UTF-8")
		}
		if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok && e.Err != nil {
			err = e.Err
		}
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("is not a JSON object: it ends too early")
		}
		return fmt.Errorf("is not a JSON object: %.200s", err)
	}
	if n.dec.PeekKind() != '{' {
		if _, err := n.dec.ReadToken(); err != nil {
			return p, malformed(err)
		}
		return p, errors.New("is not a JSON object")
	}
	if _, err := n.dec.ReadToken(); err != nil {
		return p, malformed(err)
	}
	hasID, hasName := false, false
	for n.dec.PeekKind() != '}' {
		token, err := n.dec.ReadToken()
		if err != nil {
			return p, malformed(err)
		}
		member := token.String()
		if isRejectColumn(member) || member == rowMember {
			if err := n.dec.SkipValue(); err != nil {
				return p, malformed(err)
			}
			continue
		}
		if member != "id" && member != "name" && member != "tag" {
			return p, fmt.Errorf("a plant has no member %.100q: the members are id, name and tag", member)
		}
		token, err = n.dec.ReadToken()
		if err != nil {
			return p, malformed(err)
		}
		switch kind := token.Kind(); {
		case member == "id" && kind == '0':
			if p.ID, err = parseID(token.String()); err != nil {
				return p, err
			}
			hasID = true
		case member == "name" && kind == '"':
			p.Name, hasName = token.String(), true
		case member == "tag" && kind == '"':
			p.Tag = new(token.String())
		case member == "tag" && kind == 'n':
		case member == "id":
			return p, errors.New("the id is not a whole number")
		default:
			return p, fmt.Errorf("the %s is not a text", member)
		}
	}
	if _, err := n.dec.ReadToken(); err != nil {
		return p, malformed(err)
	}
	if _, err := n.dec.ReadToken(); err != io.EOF {
		return p, errors.New("there is more in the line than one JSON object")
	}
	switch {
	case !hasID:
		return p, errors.New("has no id")
	case !hasName:
		return p, errors.New("has no name")
	}
	return p, nil
}

// rowMember is where a file of refused rows has a line that is not an object.
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

// membersOf returns the members of the object in a line, and what follows them,
// without its opening brace and without what a file of refused rows has more. It
// is malformed wherever the line is, so that a person can correct it.
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

// withoutComma removes the comma between a member and the one before.
func withoutComma(member []byte) string {
	member, _ = bytes.CutPrefix(bytes.TrimSpace(member), []byte(","))
	return string(bytes.TrimSpace(member))
}

// ndjsonWriter writes NDJSON.
type ndjsonWriter struct {
	out *bufio.Writer
	buf []byte
}

func (n *ndjsonWriter) Write(p plantapi.NewPlant) error {
	n.buf = append(AppendJSON(n.buf[:0], p), '\n')
	_, err := n.out.Write(n.buf)
	return err
}

func (n *ndjsonWriter) Flush() error { return n.out.Flush() }

// AppendJSON appends a plant as JSON in as few bytes as it can have: nothing is
// escaped that need not be, so that a plant which once fitted into a request
// does so again. Its texts are valid UTF-8.
func AppendJSON(dst []byte, p plantapi.NewPlant) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, p.ID, 10)
	dst = append(dst, `,"name":`...)
	dst = appendText(dst, p.Name)
	if p.Tag != nil {
		dst = append(dst, `,"tag":`...)
		dst = appendText(dst, *p.Tag)
	}
	return append(dst, '}')
}

func appendText(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text) // it fails on invalid UTF-8 alone, and replaces it
	return dst
}
