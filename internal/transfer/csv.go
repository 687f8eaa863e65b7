package transfer

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/client"
)

// header is the first line as export writes it.
var header = strings.Join(names(members), ",")

// csvReader reads CSV (RFC 4180) with CRLF or LF, with or without a byte order
// mark, with commas, semicolons or tabs between the fields, and with its columns in
// any order. encoding/csv cannot be used: it does
// not distinguish "" from an empty field, and it turns CRLF within quotes into
// LF.
type csvReader struct {
	input     textReader
	ignored   []string // names of columns that are not imported
	separator byte
	begin     string   // a line that names the separator, if the file has one; see separatorLine
	columns   []member // of the file
	isGuarded bool     // see formula
	tagColumn bool
	lines     int // number of lines read
}

func (c *csvReader) readHeader() (err error) {
	if c.input, err = asUTF8(c.input.Reader); err != nil {
		return err
	}
	c.separator = findSeparator(c.input.Reader)
	line := peekLine(c.input.Reader)
	if named := separatorLine.FindSubmatch(line); named != nil {
		c.separator, c.begin, c.lines = named[1][0], "sep="+string(named[1])+"\n", 1
		_, _ = c.input.Discard(len(line) + len("\n")) // the file may end with the line
	}
	first, err := c.readRow()
	if err == io.EOF {
		return fmt.Errorf("the file is empty: the first line of a CSV file must name its columns, as in %s", header)
	}
	if err != nil {
		return err
	}
	c.columns, err = columnsOf(first, c.ignored)
	if err != nil {
		return fmt.Errorf("line %d: %w", first.line, err)
	}
	c.isGuarded = slices.Contains(names(c.columns), etag.name)
	c.tagColumn = slices.Contains(names(c.columns), "tag")
	return nil
}

// Separators are the characters that can be between the fields of a CSV file. Which one a
// spreadsheet program writes depends on the language of its user.
var Separators = map[string]byte{"comma": ',', "semicolon": ';', "tab": '\t'}

// separatorLine matches a first line that names the separator for Excel, as in sep=; which is not data.
var separatorLine = regexp.MustCompile(`^"?(?i:sep)=([ !#-~\t])"?\r?$`)

// findSeparator returns the separator that the first line has most often.
func findSeparator(input *bufio.Reader) byte {
	line := peekLine(input)
	return slices.MaxFunc([]byte{',', ';', '\t'}, func(one, other byte) int {
		return cmp.Compare(bytes.Count(line, []byte{one}), bytes.Count(line, []byte{other}))
	})
}

// peekLine returns the next line, or what the file or maxHeader leaves of it. It does not wait
// for more than the line, because a terminal has no more.
func peekLine(input *bufio.Reader) []byte {
	for size := 64; ; size *= 2 {
		begin, err := input.Peek(size)
		line, _, hasEnd := bytes.Cut(begin, []byte("\n"))
		if hasEnd || err != nil || size >= maxHeader {
			return line
		}
	}
}

// columnsOf returns the columns that a header names.
func columnsOf(first fileRow, ignored []string) ([]member, error) {
	if first.fault != nil {
		return nil, first.fault
	}
	isIgnored := func(name string) bool {
		return slices.ContainsFunc(ignored, func(other string) bool { return strings.ToLower(strings.TrimSpace(other)) == name })
	}
	var found []member
	var unknown []string
	for _, field := range first.fields {
		text, err := unquote(field)
		if err != nil {
			return nil, err
		}
		name := strings.ToLower(strings.TrimSpace(text))
		column, isKnown := membersByName[name]
		switch {
		case isIgnored(name) && !isKnown:
			column = member{name: name, isIgnored: true, set: ignore}
		case !isKnown:
			unknown = append(unknown, name)
		case slices.Contains(names(found), name):
			return nil, fmt.Errorf("duplicate column %q", name)
		}
		found = append(found, column)
	}
	isHeader := len(unknown) < len(found) // otherwise it is a row of a file without a header
	if isHeader && len(unknown) > 0 {
		return nil, UnknownColumnsError{unknown}
	}
	if missing := missingMember(names(found)); missing != "" {
		return nil, fmt.Errorf("the column %q is missing: the first line of a CSV file must name its columns, as in %s",
			missing, header)
	}
	return found, nil
}

// Columns returns the names of the columns that a plant can have.
func Columns() []string { return names(members) }

// UnknownColumnsError means that a CSV file has columns that are not those of a plant. It
// can be imported without them; see [NewReader].
type UnknownColumnsError struct{ Names []string }

func (e UnknownColumnsError) Error() string {
	noun := "unknown column"
	if len(e.Names) > 1 {
		noun += "s"
	}
	quoted := make([]string, len(e.Names))
	for i, name := range e.Names {
		quoted[i] = fmt.Sprintf("%.100q", name)
	}
	return fmt.Sprintf("%s %s: the columns are %s", noun, strings.Join(quoted, ", "), header)
}

// hasTag reports whether the file has the column tag.
func (c *csvReader) hasTag() bool { return c.tagColumn }

// readRow reads a row: a line, or more of them if there are line ends within quotes.
func (c *csvReader) readRow() (fileRow, error) {
	row := fileRow{line: c.lines + 1, wasUTF16: c.input.wasUTF16}
	text, state, err := c.readText()
	if err != nil {
		return fileRow{}, err
	}
	end := ""
	if c.lines > row.line {
		end = fmt.Sprintf("; the row ends at line %d", c.lines)
	}
	switch {
	case len(text) > maxRow:
		row.fault = fmt.Errorf("the row is larger than %d MiB: check for a missing closing quote%s", maxRow>>20, end)
		return row, nil
	case state == fieldQuoted:
		row.fault = fmt.Errorf("a quoted field is not closed%s", end)
	}
	record := withoutLineEnd(string(text))
	row.isEmpty = record == ""
	row.fields = splitFields(record, c.separator)
	row.text = c.withoutRejectColumns(row.fields)
	return row, nil
}

// readText reads the text of a row, of which it returns at most one byte more than a row may
// have, and the state at its end.
func (c *csvReader) readText() ([]byte, rowState, error) {
	text := make([]byte, 0, 128)
	state := fieldBegin
	for state != rowEnd {
		char, err := c.input.ReadByte()
		if err == io.EOF && len(text) > 0 {
			c.lines++ // the last line needs no end
			return text, state, nil
		}
		if err != nil {
			return nil, state, err
		}
		if char == '\n' {
			c.lines++
		}
		text = append(text, char)
		text = text[:min(len(text), maxRow+1)]
		state = state.after(char, c.separator)
	}
	return text, state, nil
}

// rowState is a place in a row.
type rowState int

const (
	fieldBegin  rowState = iota
	fieldPlain           // in a field that does not begin with a quote, or after its closing quote
	fieldQuoted          // within quotes
	fieldClosed          // after a quote that closes the field, unless another one follows
	rowEnd
)

// nextStates are the states after a quote, a separator, a line end or another byte.
var nextStates = [...]struct{ quote, separator, lineEnd, other rowState }{
	fieldBegin:  {quote: fieldQuoted, separator: fieldBegin, lineEnd: rowEnd, other: fieldPlain},
	fieldPlain:  {quote: fieldPlain, separator: fieldBegin, lineEnd: rowEnd, other: fieldPlain},
	fieldQuoted: {quote: fieldClosed, separator: fieldQuoted, lineEnd: fieldQuoted, other: fieldQuoted},
	fieldClosed: {quote: fieldQuoted, separator: fieldBegin, lineEnd: rowEnd, other: fieldPlain},
}

// after returns the state after the next byte.
func (r rowState) after(char, separator byte) rowState {
	next := nextStates[r]
	switch char {
	case '"':
		return next.quote
	case separator:
		return next.separator
	case '\n':
		return next.lineEnd
	}
	return next.other
}

// splitFields returns the fields of a row, with their quotes.
func splitFields(row string, separator byte) []string {
	var fields []string
	state, begin := fieldBegin, 0
	for i := range len(row) {
		state = state.after(row[i], separator)
		if state == fieldBegin { // after a separator
			fields = append(fields, row[begin:i])
			begin = i + 1
		}
	}
	return append(fields, row[begin:])
}

// withoutLineEnd removes LF or CRLF. A CR at the end of a file belongs to the last field.
func withoutLineEnd(record string) string {
	line, ended := strings.CutSuffix(record, "\n")
	if !ended {
		return record
	}
	return strings.TrimSuffix(line, "\r")
}

func (c *csvReader) plantFrom(row fileRow) (client.Plant, error) {
	var plant client.Plant
	if len(row.fields) != len(c.columns) {
		return plant, fmt.Errorf("the row has %d fields but the header has %d columns", len(row.fields), len(c.columns))
	}
	for i, field := range row.fields {
		if err := setField(&plant, c.columns[i], field); err != nil {
			return plant, err
		}
	}
	if c.isGuarded {
		return withTexts(plant, withoutGuard), nil
	}
	return plant, nil
}

// setField sets a member of a plant.
func setField(plant *client.Plant, column member, field string) error {
	text, err := unquote(field)
	if err != nil {
		return err
	}
	if column.isOptional && field == "" {
		return nil
	}
	return column.set(plant, text)
}

// unquote returns the text of a field.
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
	separator := string(c.separator)
	return c.begin + lineColumn + separator + reasonColumn + separator + c.withoutRejectColumns(names(c.columns)) + "\n"
}

// withoutRejectColumns returns the text of a record without its line and reason.
func (c *csvReader) withoutRejectColumns(fields []string) string {
	kept := make([]string, 0, len(fields))
	for i, field := range fields {
		hasColumn := i < len(c.columns)
		if !hasColumn || !c.columns[i].isIgnored {
			kept = append(kept, field)
		}
	}
	return strings.Join(kept, string(c.separator))
}

func (c *csvReader) appendReject(buffer []byte, refused RowError) []byte {
	buffer = fmt.Appendf(buffer, "%d%c%s", refused.Line, c.separator, quoteIfNeeded(refused.Reason, c.separator))
	if refused.text != "" {
		buffer = append(append(buffer, c.separator), refused.text...)
	}
	if strings.HasSuffix(refused.text, "\r") { // it belongs to the last field, not to the end of the line
		buffer = append(buffer, '\r')
	}
	return append(buffer, '\n')
}

// csvWriter writes CSV with LF, and quotes only the fields that need it.
type csvWriter struct {
	*bufio.Writer
	separator byte
	columns   []member
	isGuarded bool // see formula
}

func (c csvWriter) Write(plant client.Plant) error {
	if c.isGuarded {
		plant = withTexts(plant, guard)
	}
	fields := make([]string, len(c.columns))
	for i, m := range c.columns {
		fields[i] = m.field(&plant, c.separator)
	}
	_, err := c.WriteString(strings.Join(fields, string(c.separator)) + "\n")
	return err
}

// field returns the member of a plant as a field. An absent member is an empty field; an
// empty one that could be absent is "".
func (m member) field(plant *client.Plant, separator byte) string {
	text := m.get(plant)
	if text == nil {
		return ""
	}
	if m.isOptional && *text == "" {
		return `""`
	}
	return quoteIfNeeded(*text, separator)
}

// quoteIfNeeded returns text as a field.
func quoteIfNeeded(text string, separator byte) string {
	if !strings.ContainsAny(text, "\"\r\n"+string(separator)) {
		return text
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}
