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
	"strings"

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
func (f Format) Valid() bool { return f == CSV || f == NDJSON }

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
type Reader interface {
	// Read returns the next plant. It returns io.EOF after the last one and a
	// [RowError] for an invalid row. After any other error nothing more can be
	// read.
	Read() (Row, error)

	// The other methods make a file of refused rows in the same format. Each
	// row begins with its line number and the reason, which a Reader ignores.

	// rejectHeader returns the beginning of that file. Read must have returned
	// a row or io.EOF.
	rejectHeader() string
	// appendReject appends a refused row.
	appendReject(dst []byte, bad RowError) []byte
}

// NewReader returns a reader of a file in the given format.
func NewReader(r io.Reader, f Format) Reader {
	in := bufio.NewReaderSize(r, maxRow)
	if f == CSV {
		return &csvReader{in: in}
	}
	return &ndjsonReader{in: in}
}

// Writer writes plants.
type Writer interface {
	Write(client.Plant) error
	// Flush writes the buffered data.
	Flush() error
}

// NewWriter returns a writer of a file in the given format. The same plants
// always give the same file.
func NewWriter(w io.Writer, f Format) Writer {
	out := bufio.NewWriterSize(w, 64<<10)
	if f == CSV {
		_, _ = out.WriteString(header + "\n")
		return csvWriter{out}
	}
	return &ndjsonWriter{Writer: out}
}

// The additional columns, or members, of a file of refused rows.
const (
	lineColumn   = "line"
	reasonColumn = "reason"
)

func isRejectColumn(name string) bool { return name == lineColumn || name == reasonColumn }

// checkText returns an error that says what to do if a file is not UTF-8 but of a kind that
// its first bytes show. It skips a byte order mark.
func checkText(in *bufio.Reader) error {
	peeked, _ := in.Peek(4) // less of a shorter file
	first := string(peeked)
	switch {
	case first == "PK\x03\x04" || first == "\xd0\xcf\x11\xe0":
		return errors.New("the file is a spreadsheet (.xlsx, .ods, .xls) or an archive: save the spreadsheet as CSV UTF-8")
	case strings.HasPrefix(first, "\x1f\x8b"):
		return errors.New("the file is compressed with gzip: decompress it first, as with gunzip")
	case strings.Contains(first, "\x00"):
		return errors.New("the file is UTF-16: save it as UTF-8, which spreadsheet programs call CSV UTF-8")
	case strings.HasPrefix(first, "\ufeff"):
		_, _ = in.Discard(3) // they are there
	}
	return nil
}
