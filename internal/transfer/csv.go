package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
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
	ended   int // number of lines read
	columns []string

	// The current record.
	text   []byte // of all fields
	raw    []byte // the same as it is in the file
	whole  bool   // raw is complete
	fields []csvField
	line   int
}

type csvField struct {
	begin, end       int // in the text
	rawBegin, rawEnd int // in the raw text
	quoted           bool
}

func (c *csvReader) Read() (Row, error) {
	if c.columns == nil {
		if err := c.readHeader(); err != nil {
			return Row{}, err
		}
	}
	for {
		if err := c.readRecord(); err != nil {
			return Row{}, err
		}
		if len(c.fields) > 1 || c.fields[0].quoted || len(c.text) > 0 {
			return c.row()
		}
		// Skip an empty line.
	}
}

func (c *csvReader) readHeader() error {
	skipBOM(c.in)
	err := c.readRecord()
	if err == io.EOF {
		return fmt.Errorf("the file is empty: the first line of a CSV file must name its columns, as in %s", header)
	}
	if err != nil {
		return errors.New(err.Error()) // not a RowError: without a header no row can be read
	}
	var columns []string
	for _, f := range c.fields {
		name := strings.ToLower(strings.TrimSpace(string(c.text[f.begin:f.end])))
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
		if !m.optional && !slices.Contains(columns, m.name) {
			return fmt.Errorf("line 1: the column %q is missing: the first line of a CSV file must name its columns, as in %s", m.name, header)
		}
	}
	c.columns = columns
	return nil
}

// row makes a plant of the record.
func (c *csvReader) row() (Row, error) {
	if len(c.fields) != len(c.columns) {
		return Row{}, c.refuse(fmt.Sprintf("the row has %d fields but the header has %d columns", len(c.fields), len(c.columns)))
	}
	if !utf8.Valid(c.text) {
		return Row{}, c.refuse("the row is not valid UTF-8")
	}
	row := Row{Line: c.line}
	for i, f := range c.fields {
		i := memberIndex(c.columns[i])
		if i < 0 {
			continue // line or reason, in a file of refused rows
		}
		m, value := members[i], string(c.text[f.begin:f.end])
		if m.integer {
			value = strings.TrimSpace(value)
		}
		if m.optional && value == "" && !f.quoted {
			continue
		}
		if err := m.set(&row.Plant, value); err != nil {
			return Row{}, c.refuse(err.Error())
		}
	}
	return row, nil
}

// refuse returns the error of the current record.
func (c *csvReader) refuse(reason string) RowError {
	var fields []string
	for i, f := range c.fields {
		if c.whole && (i >= len(c.columns) || !isRejectColumn(c.columns[i])) {
			fields = append(fields, string(c.raw[f.rawBegin:f.rawEnd]))
		}
	}
	return RowError{Line: c.line, Reason: reason, text: strings.Join(fields, ",")}
}

// A file of refused rows has its columns in the order of the file that was
// read, because invalid rows are copied as they are.

func (c *csvReader) rejectHeader() string {
	header := lineColumn + "," + reasonColumn
	for _, name := range c.columns {
		if !isRejectColumn(name) {
			header += "," + name
		}
	}
	return header + "\n"
}

func (c *csvReader) textOf(row Row) string {
	var fields []string
	for _, name := range c.columns {
		if i := memberIndex(name); i >= 0 {
			fields = append(fields, fieldOf(members[i], &row.Plant))
		}
	}
	return strings.Join(fields, ",")
}

func (c *csvReader) appendReject(dst []byte, bad RowError) []byte {
	dst = strconv.AppendInt(dst, int64(bad.Line), 10)
	dst = append(dst, ',')
	dst = append(dst, quoteField(bad.Reason, false)...)
	if bad.text != "" {
		dst = append(dst, ',')
		dst = append(dst, bad.text...)
	}
	if strings.HasSuffix(bad.text, "\r") { // it belongs to the last field, not to the end of the line
		dst = append(dst, '\r')
	}
	return append(dst, '\n')
}

// readRecord reads one record with any number of fields. For an invalid record
// it returns a [RowError] after it has read all of it.
func (c *csvReader) readRecord() error {
	c.text, c.raw, c.whole, c.fields, c.line = c.text[:0], c.raw[:0], true, c.fields[:0], c.ended+1
	begin, rawBegin, quoted, closed, empty := 0, 0, false, false, true
	fault := ""
	keep := func(b byte) {
		if c.whole = c.whole && len(c.raw) < maxRow; c.whole {
			c.raw = append(c.raw, b)
		}
	}
	end := func(separator int) { // the length of the separator in bytes
		c.fields = append(c.fields, csvField{begin, len(c.text), rawBegin, len(c.raw) - separator, quoted})
		begin, rawBegin, quoted, closed = len(c.text), len(c.raw), false, false
	}
	finish := func(separator int) error {
		end(separator)
		if last := c.ended; fault != "" && last > c.line {
			fault += fmt.Sprintf("; the row ends at line %d", last)
		}
		if fault != "" {
			return c.refuse(fault)
		}
		return nil
	}
	for {
		b, err := c.in.ReadByte()
		switch {
		case err == io.EOF && empty:
			return io.EOF
		case err == io.EOF:
			if quoted && !closed {
				fault = "a quoted field is not closed"
			}
			c.ended++
			return finish(0)
		case err != nil:
			return err
		}
		empty = false
		keep(b)
		switch {
		case quoted && !closed:
			if b == '"' {
				if !c.next('"') {
					closed = true
					continue
				}
				keep(b)
			}
			if b == '\n' {
				c.ended++
			}
		case b == ',':
			end(1)
			continue
		case b == '\r' && c.next('\n'), b == '\n':
			c.ended++
			return finish(1)
		case closed:
			if fault == "" {
				fault = `text after a closing quote: inside a quoted field write a quote twice, as ""`
			}
			continue
		case b == '"' && len(c.text) == begin:
			quoted = true
			continue
		}
		switch {
		case len(c.text) >= maxRow:
			fault = fmt.Sprintf("the row is larger than %d MiB: check for a missing closing quote", maxRow>>20)
			c.text = c.text[:begin]
		case fault == "":
			c.text = append(c.text, b)
		}
	}
}

// next skips the next byte if it is b, and reports whether it was.
func (c *csvReader) next(b byte) bool {
	if ahead, _ := c.in.Peek(1); len(ahead) == 0 || ahead[0] != b {
		return false
	}
	_, _ = c.in.Discard(1) // it is there
	return true
}

// csvWriter writes CSV with LF, and quotes only the fields that need it.
type csvWriter struct {
	out   *bufio.Writer
	begun bool
}

// A bufio.Writer keeps its first error, so only the last write is checked.

func (c *csvWriter) Write(p client.Plant) error {
	c.begin()
	for i, m := range members {
		if i > 0 {
			_ = c.out.WriteByte(',')
		}
		_, _ = c.out.WriteString(fieldOf(m, &p))
	}
	return c.out.WriteByte('\n')
}

func (c *csvWriter) begin() {
	if !c.begun {
		_, _ = c.out.WriteString(header + "\n")
		c.begun = true
	}
}

// fieldOf returns a member of a plant as a field: an absent one is empty, and an
// empty one that could be absent is "".
func fieldOf(m member, p *client.Plant) string {
	value, present := m.get(p)
	return quoteField(value, m.optional && present && value == "")
}

// quoteField returns text as a field: in quotes if it needs them or if quote is
// true.
func quoteField(text string, quote bool) string {
	if !quote && !strings.ContainsAny(text, ",\"\r\n") {
		return text
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}

func (c *csvWriter) Flush() error {
	c.begin()
	return c.out.Flush()
}
