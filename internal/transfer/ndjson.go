package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plantstore/plantstore/api/client"
)

// ndjsonReader reads NDJSON. It refuses duplicate members, unknown members and
// invalid UTF-8.
type ndjsonReader struct {
	input   textReader
	lines   int // number of lines read
	decoder jsontext.Decoder
}

func (n *ndjsonReader) readHeader() (err error) {
	n.input, err = asUTF8(n.input.Reader)
	return err
}

// hasTag: a plant without the member tag has no tag.
func (n *ndjsonReader) hasTag() bool { return true }

func (n *ndjsonReader) readRow() (fileRow, error) {
	n.lines++
	line, err := n.input.ReadSlice('\n')
	if len(line) == 0 {
		return fileRow{}, err
	}
	row := fileRow{line: n.lines, text: string(bytes.TrimSpace(line)), wasUTF16: n.input.wasUTF16}
	for err == bufio.ErrBufferFull {
		row.text, row.fault = "{}", fmt.Errorf("the row is larger than %d MiB", maxRow>>20)
		_, err = n.input.ReadSlice('\n')
	}
	row.isEmpty = row.text == ""
	if err == io.EOF {
		err = nil // the last line needs no end
	}
	return row, err
}

func (n *ndjsonReader) plantFrom(row fileRow) (client.Plant, error) {
	plant, err := n.decode(row.text)
	return plant, explainJSON(err)
}

// decode returns the plant of a JSON object.
func (n *ndjsonReader) decode(text string) (client.Plant, error) {
	var plant client.Plant
	// The members line and reason may be there twice; see appendReject.
	n.decoder.Reset(bytes.NewBufferString(text), jsontext.AllowDuplicateNames(true))
	begin, err := n.decoder.ReadToken()
	if err != nil {
		return plant, err
	}
	if begin.Kind() != jsontext.KindBeginObject {
		return plant, errors.New("the line is not a JSON object")
	}
	var present []string
	for n.decoder.PeekKind() != jsontext.KindEndObject {
		name, err := n.readMember(&plant, present)
		if err != nil {
			return plant, err
		}
		present = append(present, name)
	}
	if _, err := n.decoder.ReadToken(); err != nil {
		return plant, err
	}
	if _, err := n.decoder.ReadToken(); err != io.EOF {
		return plant, errors.New("the line has more than one JSON value")
	}
	if missing := missingMember(present); missing != "" {
		return plant, fmt.Errorf("%s is missing", missing)
	}
	return plant, nil
}

// readMember sets the next member of a plant, which must not be present yet, and returns its
// name.
func (n *ndjsonReader) readMember(plant *client.Plant, present []string) (string, error) {
	token, err := n.decoder.ReadToken()
	if err != nil {
		return "", err
	}
	name := token.String()
	m, isKnown := membersByName[name]
	if m.isIgnored || name == rowMember {
		return name, n.decoder.SkipValue()
	}
	if !isKnown {
		return "", fmt.Errorf("unknown member %.100q: the members are %s", name, strings.Join(names(members), ", "))
	}
	if slices.Contains(present, name) {
		return "", fmt.Errorf("the line is not a JSON object: duplicate object member name %q", name)
	}
	return name, n.readValue(plant, m)
}

// readValue sets a member of a plant to the next value.
func (n *ndjsonReader) readValue(plant *client.Plant, m member) error {
	value, err := n.decoder.ReadToken()
	if err != nil {
		return err
	}
	if value.Kind() == jsontext.KindNull && m.isOptional {
		return nil
	}
	if value.Kind() != m.kind {
		return fmt.Errorf("%s must be %s", m.name, kindNames[m.kind])
	}
	return m.set(plant, value.String())
}

// kindNames says what the value of a member must be.
var kindNames = map[jsontext.Kind]string{jsontext.KindNumber: "an integer", jsontext.KindString: "a string"}

// explainJSON returns an error that says what is wrong with a line.
func explainJSON(err error) error {
	syntax, isSyntax := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the line is not a JSON object: unexpected end of line")
	case isSyntax:
		return fmt.Errorf("the line is not a JSON object: %.200s", syntax.Err)
	}
	return err
}

// rowMember is the member of a file of refused rows that holds a line that is not
// a JSON object.
const rowMember = "row"

func (n *ndjsonReader) rejectHeader() string { return "" }

// rejected matches what appendReject puts before the rest of a line.
var rejected = regexp.MustCompile(`^\{"line":\d+,"reason":"(\\.|[^"\\])*",?`)

// appendReject keeps the line as it is, so that a person can correct it.
func (n *ndjsonReader) appendReject(buffer []byte, refused RowError) []byte {
	buffer = fmt.Appendf(buffer, `{"line":%d,"reason":`, refused.Line)
	buffer = appendText(buffer, refused.Reason)
	rest, isObject := strings.CutPrefix(rejected.ReplaceAllString(refused.text, "{"), "{")
	if !isObject {
		rest = string(append(appendText([]byte(`"`+rowMember+`":`), refused.text), '}'))
	}
	rest = strings.TrimSpace(rest)
	if rest != "" && rest[0] != '}' { // members follow
		buffer = append(buffer, ',')
	}
	return append(append(buffer, rest...), '\n')
}

// ndjsonWriter writes NDJSON.
type ndjsonWriter struct {
	*bufio.Writer
	buffer []byte
}

func (n *ndjsonWriter) Write(plant client.Plant) error {
	n.buffer = append(appendJSON(n.buffer[:0], &plant), '\n')
	_, err := n.Writer.Write(n.buffer)
	return err
}

// appendJSON appends a plant as JSON. The strings of the plant must be valid UTF-8.
func appendJSON(buffer []byte, plant *client.Plant) []byte {
	separator := byte('{')
	for _, m := range members {
		text := m.get(plant)
		if text == nil {
			continue
		}
		buffer = append(appendText(append(buffer, separator), m.name), ':')
		if m.kind == jsontext.KindString {
			buffer = appendText(buffer, *text)
		} else {
			buffer = append(buffer, *text...)
		}
		separator = ','
	}
	return append(buffer, '}')
}

func appendText(buffer []byte, text string) []byte {
	buffer, _ = jsontext.AppendQuote(buffer, text) // its only error is invalid UTF-8, which it replaces
	return buffer
}
