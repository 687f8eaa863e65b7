// Package transfer moves plants between files and a running service, as
// `plantstore import` and `plantstore export` do. Files are CSV for people and
// their spreadsheets, or NDJSON (a JSON object in each line) for programs.
//
// Both keep every byte of a plant: reading a file and writing it again gives the
// same file. An absent tag is not an empty one. In CSV an empty field is no tag
// and a quoted empty field, "", is an empty tag; in NDJSON a missing or null
// member `tag` is no tag.
//
// Memory holds a few batches of rows, so files may have any length.
//
// [Copy] moves plants and tokens between two stores, without a service.
package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/plantstore/plantstore/api/client"
)

// Format is a file format.
type Format string

// The formats.
const (
	CSV    Format = "csv"
	NDJSON Format = "ndjson"
)

// FormatOf returns the format that the extension of a file name stands for, or
// an empty Format.
func FormatOf(name string) Format {
	return map[string]Format{".csv": CSV, ".ndjson": NDJSON, ".jsonl": NDJSON}[strings.ToLower(filepath.Ext(name))]
}

// Valid reports whether f is one of the formats.
func (f Format) Valid() bool { return slices.Contains([]Format{CSV, NDJSON}, f) }

// maxRow limits the bytes of a row. The largest plant that a service stores needs
// 15 KB, so a larger row is a mistake, as is a missing quote.
const maxRow = 1 << 20

// Row is a plant and its line in the file.
type Row struct {
	Line  int // the first line of the row, counted from 1
	Plant client.Plant

	text string // as in RowError
}

// RowError says what is wrong with one row. The following rows can still be read.
type RowError struct {
	Line   int // the first line of the row, counted from 1
	Reason string

	text string // of the row as it is in the file, for a file of refused rows
}

func (e RowError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Reader reads plants.
type Reader struct {
	rowFormat
	begin func() error // reads the header once
}

// rowFormat reads the rows of a file, and makes a file of refused rows in the same format.
type rowFormat interface {
	// readHeader reads what is before the first row.
	readHeader() error
	// readRow returns the next row, or io.EOF after the last one.
	readRow() (fileRow, error)
	// plantFrom returns the plant of a row of valid UTF-8, or why the row is not valid.
	plantFrom(fileRow) (client.Plant, error)

	// rejectHeader returns the beginning of a file of refused rows. Read must have returned
	// a row or io.EOF.
	rejectHeader() string
	// appendReject appends a refused row. It begins with its line number and the reason,
	// which a Reader ignores.
	appendReject(buffer []byte, refused RowError) []byte
}

// fileRow is a row as it is in the file.
type fileRow struct {
	line    int
	text    string   // as in RowError
	fields  []string // of CSV
	isEmpty bool     // it is an empty line
	fault   error    // why the row is not valid, if that is known already
}

// NewReader returns a reader of a file in the given format.
func NewReader(file io.Reader, format Format) *Reader {
	input := bufio.NewReaderSize(file, maxRow)
	var rows rowFormat = &ndjsonReader{input: input}
	if format == CSV {
		rows = &csvReader{input: input}
	}
	return &Reader{rowFormat: rows, begin: sync.OnceValue(rows.readHeader)}
}

// Read returns the next plant. It returns io.EOF after the last one and a
// [RowError] for an invalid row. After any other error nothing more can be
// read.
func (r *Reader) Read() (Row, error) {
	if err := r.begin(); err != nil {
		return Row{}, err
	}
	row, err := r.readRow()
	for row.isEmpty {
		row, err = r.readRow()
	}
	if err != nil {
		return Row{}, err
	}
	plant, err := r.check(row)
	if err != nil {
		return Row{}, RowError{Line: row.line, Reason: err.Error(), text: row.text}
	}
	return Row{Line: row.line, Plant: plant, text: row.text}, nil
}

// check returns the plant of a row, or why the row is not valid.
func (r *Reader) check(row fileRow) (client.Plant, error) {
	if row.fault != nil {
		return client.Plant{}, row.fault
	}
	if !utf8.ValidString(row.text) {
		return client.Plant{}, errors.New("the row is not valid UTF-8")
	}
	return r.plantFrom(row)
}

// Writer writes plants.
type Writer interface {
	Write(client.Plant) error
	// Flush writes the buffered data.
	Flush() error
}

// NewWriter returns a writer of a file in the given format. The same plants
// always give the same file.
func NewWriter(file io.Writer, format Format) Writer {
	output := bufio.NewWriterSize(file, 64<<10)
	if format == CSV {
		_, _ = output.WriteString(header + "\n") // the Writer returns its error later
		return csvWriter{output}
	}
	return &ndjsonWriter{Writer: output}
}

// checkText returns an error that says what to do if a file is not UTF-8 but of a kind that
// its first bytes show. It skips a byte order mark.
func checkText(input *bufio.Reader) error {
	peeked, _ := input.Peek(4) // less of a shorter file
	first := string(peeked)
	for _, kind := range otherKinds {
		if strings.HasPrefix(first, kind.begin) {
			return errors.New("the file is " + kind.advice)
		}
	}
	if strings.Contains(first, "\x00") {
		return errors.New("the file is UTF-16: save it as UTF-8, which spreadsheet programs call CSV UTF-8")
	}
	if strings.HasPrefix(first, "\ufeff") {
		_, _ = input.Discard(3) // they are there
	}
	return nil
}

// otherKinds are files that people take for text.
var otherKinds = []struct{ begin, advice string }{
	{begin: "PK\x03\x04", advice: spreadsheetAdvice},
	{begin: "\xd0\xcf\x11\xe0", advice: spreadsheetAdvice},
	{begin: "\x1f\x8b", advice: "compressed with gzip: decompress it first, as with gunzip"},
}

const spreadsheetAdvice = "a spreadsheet (.xlsx, .ods, .xls) or an archive: save the spreadsheet as CSV UTF-8"
