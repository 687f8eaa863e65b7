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

	"github.com/plantstore/plantstore/gen/plantapi"
)

// header is the first line as export writes it.
const header = "id,name,tag"

// csvReader reads CSV (RFC 4180) as people have it: CRLF or LF, a byte order
// mark or none, columns in any order. encoding/csv cannot be used: it does not
// tell "" from nothing, and it turns CRLF within quotes into LF.
type csvReader struct {
	in      *bufio.Reader
	ended   int // lines
	columns []string

	// The record that was read last.
	text   []byte // of all fields
	raw    []byte // the same as it is in the file
	whole  bool   // raw has all of it
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
		// An empty line is no row.
	}
}

func (c *csvReader) readHeader() error {
	skipBOM(c.in)
	err := c.readRecord()
	if err == io.EOF {
		return fmt.Errorf("the file is empty: the first line of a CSV file names its columns, as in %s", header)
	}
	if err != nil {
		return errors.New(err.Error()) // not a RowError: without a header no row can be read
	}
	var columns []string
	for _, f := range c.fields {
		name := strings.ToLower(strings.TrimSpace(string(c.text[f.begin:f.end])))
		switch {
		case name != "id" && name != "name" && name != "tag" && !isRejectColumn(name):
			hint := ""
			if strings.ContainsAny(name, ";\t|") {
				hint = "; columns are separated by commas"
			}
			return fmt.Errorf("line 1: no column may be called %.100q: the columns are %s%s", name, header, hint)
		case slices.Contains(columns, name):
			return fmt.Errorf("line 1: two columns are called %q", name)
		}
		columns = append(columns, name)
	}
	for _, needed := range []string{"id", "name"} {
		if !slices.Contains(columns, needed) {
			return fmt.Errorf("line 1: there is no column %q: the first line of a CSV file names its columns, as in %s", needed, header)
		}
	}
	c.columns = columns
	return nil
}

// row makes a plant of the record.
func (c *csvReader) row() (Row, error) {
	if len(c.fields) != len(c.columns) {
		return Row{}, c.refuse(fmt.Sprintf("has %d fields and there are %d columns", len(c.fields), len(c.columns)))
	}
	if !utf8.Valid(c.text) {
		return Row{}, c.refuse("is not UTF-8")
	}
	row := Row{Line: c.line}
	for i, f := range c.fields {
		text := string(c.text[f.begin:f.end])
		switch c.columns[i] {
		case "id":
			id, err := parseID(strings.TrimSpace(text))
			if err != nil {
				return Row{}, c.refuse(err.Error())
			}
			row.Plant.ID = id
		case "name":
			row.Plant.Name = text
		case "tag":
			if text != "" || f.quoted {
				row.Plant.Tag = &text
			}
		}
	}
	return row, nil
}

// refuse makes an error of the record.
func (c *csvReader) refuse(reason string) RowError {
	var fields []string
	for i, f := range c.fields {
		if c.whole && (i >= len(c.columns) || !isRejectColumn(c.columns[i])) {
			fields = append(fields, string(c.raw[f.rawBegin:f.rawEnd]))
		}
	}
	return RowError{Line: c.line, Reason: reason, text: strings.Join(fields, ",")}
}

// The columns of a file of refused rows are in the order of this file, as the
// rows that no plant can be made of are copied.

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
		switch p := row.Plant; {
		case name == "id":
			fields = append(fields, strconv.FormatInt(p.ID, 10))
		case name == "name":
			fields = append(fields, quoteField(p.Name, false))
		case name == "tag" && p.Tag == nil:
			fields = append(fields, "")
		case name == "tag":
			fields = append(fields, quoteField(*p.Tag, *p.Tag == ""))
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
	if strings.HasSuffix(bad.text, "\r") { // of the last field, and not of the end of the line
		dst = append(dst, '\r')
	}
	return append(dst, '\n')
}

func parseID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	switch {
	case text == "":
		return 0, errors.New("has no id")
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("the id %.30s does not fit into 64 bits", text)
	case err != nil:
		return 0, fmt.Errorf("the id %.30q is not a whole number", text)
	}
	return id, nil
}

// readRecord reads one record, whatever its fields are. It returns a [RowError]
// once it has read to the end of a record that is none.
func (c *csvReader) readRecord() error {
	c.text, c.raw, c.whole, c.fields, c.line = c.text[:0], c.raw[:0], true, c.fields[:0], c.ended+1
	begin, rawBegin, quoted, closed, empty := 0, 0, false, false, true
	fault := ""
	keep := func(b byte) {
		if c.whole = c.whole && len(c.raw) < maxRow; c.whole {
			c.raw = append(c.raw, b)
		}
	}
	end := func(separator int) { // of so many bytes
		c.fields = append(c.fields, csvField{begin, len(c.text), rawBegin, len(c.raw) - separator, quoted})
		begin, rawBegin, quoted, closed = len(c.text), len(c.raw), false, false
	}
	finish := func(separator int) error {
		end(separator)
		if last := c.ended; fault != "" && last > c.line {
			fault += fmt.Sprintf("; the row goes on to line %d", last)
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
				fault = "a quote is opened and never closed"
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
				fault = `there is text after a closing quote: a quote within a field is written twice, ""`
			}
			continue
		case b == '"' && len(c.text) == begin:
			quoted = true
			continue
		}
		switch {
		case len(c.text) >= maxRow:
			fault = fmt.Sprintf("is larger than %d MiB: is a closing quote missing?", maxRow>>20)
			c.text = c.text[:begin]
		case fault == "":
			c.text = append(c.text, b)
		}
	}
}

// next skips the next byte if it is b.
func (c *csvReader) next(b byte) bool {
	if ahead, _ := c.in.Peek(1); len(ahead) == 0 || ahead[0] != b {
		return false
	}
	_, _ = c.in.Discard(1) // it is there
	return true
}

// csvWriter writes CSV with LF, and quotes only what needs it.
type csvWriter struct {
	out   *bufio.Writer
	begun bool
}

// Errors of the writes show in the last one: a bufio.Writer keeps them.

func (c *csvWriter) Write(p plantapi.NewPlant) error {
	c.begin()
	_, _ = c.out.Write(strconv.AppendInt(c.out.AvailableBuffer(), p.ID, 10))
	_ = c.out.WriteByte(',')
	_, _ = c.out.WriteString(quoteField(p.Name, false))
	_ = c.out.WriteByte(',')
	if p.Tag != nil {
		_, _ = c.out.WriteString(quoteField(*p.Tag, *p.Tag == ""))
	}
	return c.out.WriteByte('\n')
}

func (c *csvWriter) begin() {
	if !c.begun {
		_, _ = c.out.WriteString(header + "\n")
		c.begun = true
	}
}

// quoteField writes a field, in quotes if it needs them or they are asked for.
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
