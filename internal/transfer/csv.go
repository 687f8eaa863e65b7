package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plantstore/plantstore/api/client"
)

// header is the first line as export writes it.
var header = memberNames(",")

// csvReader reads CSV (RFC 4180) with CRLF or LF, with or without a byte order
// mark, and with its columns in any order. encoding/csv cannot be used: it does
// not distinguish "" from an empty field, and it turns CRLF within quotes into
// LF.
type csvReader struct {
	in      *bufio.Reader
	columns []string
	ended   int // number of lines read

	// The current record.
	line   int // its first one
	record []byte
	commas []int // between the fields
	fields []string
}

func (c *csvReader) Read() (Row, error) {
	if c.columns == nil {
		if err := c.readHeader(); err != nil {
			return Row{}, err
		}
	}
	for {
		text, fault, err := c.readRecord()
		if err != nil {
			return Row{}, err
		}
		if fault == nil && text == "" {
			continue // an empty line
		}
		row := Row{Line: c.line, text: text}
		if slices.ContainsFunc(c.columns, isRejectColumn) {
			row.text = c.withoutRejectColumns(c.fields)
		}
		if fault == nil {
			fault = c.readPlant(&row.Plant)
		}
		if fault != nil {
			return Row{}, RowError{row.Line, fault.Error(), row.text}
		}
		return row, nil
	}
}

func (c *csvReader) readHeader() error {
	if err := checkText(c.in); err != nil {
		return err
	}
	_, fault, err := c.readRecord()
	switch {
	case err == io.EOF:
		return fmt.Errorf("the file is empty: the first line of a CSV file must name its columns, as in %s", header)
	case err != nil:
		return err
	case fault != nil:
		return fmt.Errorf("line 1: %w", fault)
	}
	var columns []string
	for _, field := range c.fields {
		value, err := unquote(field)
		if err != nil {
			return fmt.Errorf("line 1: %w", err)
		}
		name := strings.ToLower(strings.TrimSpace(value))
		switch {
		case memberIndex(name) < 0 && !isRejectColumn(name):
			hint := ""
			if strings.ContainsAny(name, ";\t|") {
				hint = "; columns are separated by commas"
			}
			return fmt.Errorf("line 1: unknown column %.100q: the columns are %s%s", name, header, hint)
		case slices.Contains(columns, name):
			return fmt.Errorf("line 1: duplicate column %q", name)
		}
		columns = append(columns, name)
	}
	for _, m := range members {
		if !m.isOptional() && !slices.Contains(columns, m.name) {
			return fmt.Errorf("line 1: the column %q is missing: the first line of a CSV file must name its columns, as in %s",
				m.name, header)
		}
	}
	c.columns = columns
	return nil
}

// readRecord reads a record and returns its text. The text and the fields are as they
// are in the file. If the fault is not nil, the record is invalid, and the next one can
// still be read.
func (c *csvReader) readRecord() (text string, fault, err error) {
	const (
		begin  = iota // of a field
		plain         // within a field that does not begin with a quote
		quoted        // within quotes
		closed        // after a quote that closes the field, unless another one follows
	)
	c.line, c.record, c.commas, c.fields = c.ended+1, c.record[:0], c.commas[:0], c.fields[:0]
	state := begin
	size := 0 // of the record, which has only the first maxRow bytes
	for {
		part, err := c.in.ReadSlice('\n')
		switch {
		case err == io.EOF && size+len(part) == 0, err != nil && err != io.EOF && err != bufio.ErrBufferFull:
			return "", nil, err
		}
		size += len(part)
		for i, b := range part {
			switch {
			case state == quoted && b == '"':
				state = closed
			case state == quoted:
			case b == '"' && state != plain:
				state = quoted
			case b == ',' && size <= maxRow:
				c.commas = append(c.commas, len(c.record)+i)
				fallthrough
			case b == ',':
				state = begin
			default:
				state = plain
			}
		}
		if size <= maxRow {
			c.record = append(c.record, part...)
		}
		if err != bufio.ErrBufferFull {
			c.ended++
		}
		if err == io.EOF || err == nil && state != quoted {
			break
		}
	}
	if size > maxRow {
		fault = fmt.Errorf("the row is larger than %d MiB: check for a missing closing quote", maxRow>>20)
		c.record, c.commas = nil, nil
	} else if state == quoted {
		fault = errors.New("a quoted field is not closed")
	}
	if fault != nil && c.ended > c.line {
		fault = fmt.Errorf("%w; the row ends at line %d", fault, c.ended)
	}
	text, ended := strings.CutSuffix(string(c.record), "\n")
	if ended {
		text = strings.TrimSuffix(text, "\r")
	}
	from := 0
	for _, comma := range c.commas {
		c.fields = append(c.fields, text[from:comma])
		from = comma + 1
	}
	c.fields = append(c.fields, text[from:])
	return text, fault, nil
}

// readPlant reads the fields of a record.
func (c *csvReader) readPlant(p *client.Plant) error {
	if len(c.fields) != len(c.columns) {
		return fmt.Errorf("the row has %d fields but the header has %d columns", len(c.fields), len(c.columns))
	}
	for i, field := range c.fields {
		if !utf8.ValidString(field) {
			return errors.New("the row is not valid UTF-8")
		}
		value, err := unquote(field)
		if err != nil {
			return err
		}
		i := memberIndex(c.columns[i])
		if i < 0 {
			continue // line or reason, in a file of refused rows
		}
		m := members[i]
		if m.isInteger() {
			value = strings.TrimSpace(value)
		}
		if m.isOptional() && field == "" {
			continue
		}
		if err := m.set(p, value); err != nil {
			return err
		}
	}
	return nil
}

// unquote returns the value of a field.
func unquote(field string) (string, error) {
	inner, quoted := strings.CutPrefix(field, `"`)
	if !quoted {
		return field, nil
	}
	inner, closed := strings.CutSuffix(inner, `"`)
	if !closed || strings.Contains(strings.ReplaceAll(inner, `""`, ""), `"`) {
		return "", errors.New(`text after a closing quote: inside a quoted field write a quote twice, as ""`)
	}
	return strings.ReplaceAll(inner, `""`, `"`), nil
}

// A file of refused rows has its columns in the order of the file that was
// read, because invalid rows are copied as they are.

func (c *csvReader) rejectHeader() string {
	return lineColumn + "," + reasonColumn + "," + c.withoutRejectColumns(c.columns) + "\n"
}

// withoutRejectColumns returns the text of a record without its line and reason.
func (c *csvReader) withoutRejectColumns(fields []string) string {
	var kept []string
	for i, field := range fields {
		if i >= len(c.columns) || !isRejectColumn(c.columns[i]) {
			kept = append(kept, field)
		}
	}
	return strings.Join(kept, ",")
}

func (c *csvReader) appendReject(dst []byte, bad RowError) []byte {
	dst = fmt.Appendf(dst, "%d,%s", bad.Line, quoteField(bad.Reason, false))
	if bad.text != "" {
		dst = append(append(dst, ','), bad.text...)
	}
	if strings.HasSuffix(bad.text, "\r") { // it belongs to the last field, not to the end of the line
		dst = append(dst, '\r')
	}
	return append(dst, '\n')
}

// csvWriter writes CSV with LF, and quotes only the fields that need it.
type csvWriter struct{ *bufio.Writer }

// A bufio.Writer keeps its first error, so only the last write is checked.

func (c csvWriter) Write(p client.Plant) error {
	for i, m := range members {
		if i > 0 {
			_ = c.WriteByte(',')
		}
		value, present := m.get(&p)
		// An absent member is an empty field; an empty one that could be absent is "".
		_, _ = c.WriteString(quoteField(value, m.isOptional() && present && value == ""))
	}
	return c.WriteByte('\n')
}

// quoteField returns text as a field: in quotes if it needs them or if quote is
// true.
func quoteField(text string, quote bool) string {
	if !quote && !strings.ContainsAny(text, ",\"\r\n") {
		return text
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}
