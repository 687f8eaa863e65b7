// Package transfer moves plants between files and a running service, as
// `plantstore import` and `plantstore export` do. Files are CSV for people and
// their spreadsheets, or NDJSON (a JSON object in each line) for programs.
//
// Both carry a plant byte for byte, so what was read from one file makes the
// same file when it is written again. An absent tag is not an empty one: in CSV
// a field with nothing in it is no tag and a quoted nothing, "", is an empty
// tag; in NDJSON no member `tag` (or null) is no tag.
//
// Nothing here holds more than a batch of rows, so files may be of any length.
package transfer

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// Format is how a file is written.
type Format string

// The formats.
const (
	CSV    Format = "csv"
	NDJSON Format = "ndjson"
)

// FormatOf tells the format of a file by its name; it is empty if the name does
// not tell.
func FormatOf(name string) Format {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv":
		return CSV
	case ".ndjson", ".jsonl":
		return NDJSON
	}
	return ""
}

// Valid reports whether f is one of the formats.
func (f Format) Valid() bool { return f == CSV || f == NDJSON }

// maxRow is the most bytes that a row may have. A service takes bodies of 1 MiB
// unless told otherwise, and the same text in a file may be escaped at length.
const maxRow = 8 << 20

// Row is a plant and where it stands.
type Row struct {
	Line  int // the first line of the row, counted from 1
	Plant plantapi.NewPlant
}

// RowError says what is wrong with one row. Those that follow can be read.
type RowError struct {
	Line   int // the first line of the row, counted from 1
	Reason string

	text string // of the row, for a file of refused rows
}

func (e RowError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Reader reads plants.
type Reader interface {
	// Read returns the next plant. It returns io.EOF after the last one and a
	// [RowError] for a row that is no plant; after any other error there is
	// nothing more to read.
	Read() (Row, error)

	// What follows makes a file of refused rows, which is of the same format:
	// each row has its line and the reason before what it had in this file, and a
	// Reader takes no notice of them.

	// rejectHeader returns what the file begins with. It is known once the first
	// row was read.
	rejectHeader() string
	// textOf returns the text of a row for a RowError.
	textOf(Row) string
	// appendReject appends a refused row.
	appendReject(dst []byte, bad RowError) []byte
}

// NewReader returns a reader of a file in the given format.
func NewReader(r io.Reader, f Format) Reader {
	in := bufio.NewReaderSize(r, 64<<10)
	if f == CSV {
		return &csvReader{in: in}
	}
	return newNDJSONReader(in)
}

// Writer writes plants.
type Writer interface {
	Write(plantapi.NewPlant) error
	// Flush writes what is still held back.
	Flush() error
}

// NewWriter returns a writer of a file in the given format. What it writes is
// the same for the same plants.
func NewWriter(w io.Writer, f Format) Writer {
	out := bufio.NewWriterSize(w, 64<<10)
	if f == CSV {
		return &csvWriter{out: out}
	}
	return &ndjsonWriter{out: out}
}

// The columns, and members, that a file of refused rows has more.
const (
	lineColumn   = "line"
	reasonColumn = "reason"
)

func isRejectColumn(name string) bool { return name == lineColumn || name == reasonColumn }

// skipBOM leaves out the mark that some programs put before UTF-8.
func skipBOM(in *bufio.Reader) {
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(3) // they are there
	}
}
