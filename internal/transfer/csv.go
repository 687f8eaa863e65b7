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
	fields []csvField
	line   int
}

type csvField struct {
	begin, end int // in the text
	quoted     bool
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
		case name != "id" && name != "name" && name != "tag":
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
		return Row{}, RowError{c.line, fmt.Sprintf("has %d fields and there are %d columns", len(c.fields), len(c.columns))}
	}
	if !utf8.Valid(c.text) {
		return Row{}, RowError{c.line, "is not UTF-8"}
	}
	row := Row{Line: c.line}
	for i, f := range c.fields {
		text := string(c.text[f.begin:f.end])
		switch c.columns[i] {
		case "id":
			id, err := parseID(strings.TrimSpace(text))
			if err != nil {
				return Row{}, RowError{c.line, err.Error()}
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
	c.text, c.fields, c.line = c.text[:0], c.fields[:0], c.ended+1
	begin, quoted, closed, empty := 0, false, false, true
	fault := ""
	end := func() {
		c.fields = append(c.fields, csvField{begin, len(c.text), quoted})
		begin, quoted, closed = len(c.text), false, false
	}
	finish := func() error {
		end()
		if last := c.ended; fault != "" && last > c.line {
			fault += fmt.Sprintf("; the row goes on to line %d", last)
		}
		if fault != "" {
			return RowError{c.line, fault}
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
			return finish()
		case err != nil:
			return err
		}
		empty = false
		switch {
		case quoted && !closed:
			if b == '"' && !c.next('"') {
				closed = true
				continue
			}
			if b == '\n' {
				c.ended++
			}
		case b == ',':
			end()
			continue
		case b == '\r' && c.next('\n'), b == '\n':
			c.ended++
			return finish()
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
	c.field(p.Name, false)
	_ = c.out.WriteByte(',')
	if p.Tag != nil {
		c.field(*p.Tag, *p.Tag == "")
	}
	return c.out.WriteByte('\n')
}

func (c *csvWriter) begin() {
	if !c.begun {
		_, _ = c.out.WriteString(header + "\n")
		c.begun = true
	}
}

func (c *csvWriter) field(text string, quote bool) {
	if !quote && !strings.ContainsAny(text, ",\"\r\n") {
		_, _ = c.out.WriteString(text)
		return
	}
	_ = c.out.WriteByte('"')
	for {
		before, after, found := strings.Cut(text, `"`)
		_, _ = c.out.WriteString(before)
		if !found {
			break
		}
		_, _ = c.out.WriteString(`""`)
		text = after
	}
	_ = c.out.WriteByte('"')
}

func (c *csvWriter) Flush() error {
	c.begin()
	return c.out.Flush()
}
