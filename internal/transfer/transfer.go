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

	"golang.org/x/text/encoding/unicode"

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

// maxHeader limits the bytes of a header that tell the separator.
const maxHeader = 64 << 10

// Row is a plant and its line in the file.
type Row struct {
	Line  int // the first line of the row, counted from 1
	Plant client.Plant

	text   string // as in RowError
	hasTag bool   // the file says whether the plant has a tag
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
	// hasTag reports whether the rows say if their plants have a tag.
	hasTag() bool

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

	wasUTF16 bool // see textReader
}

// NewReader returns a reader of a file in the given format. It ignores the columns of a CSV
// file that have one of the names, ignoring case, and are not those of a plant. Other unknown
// columns are an [UnknownColumnsError].
func NewReader(file io.Reader, format Format, ignored ...string) *Reader {
	input := textReader{Reader: bufio.NewReaderSize(file, maxRow)}
	var rows rowFormat = &ndjsonReader{input: input}
	if format == CSV {
		rows = &csvReader{input: input, ignored: ignored}
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
	return Row{Line: row.line, Plant: plant, text: row.text, hasTag: r.hasTag()}, nil
}

// check returns the plant of a row, or why the row is not valid.
func (r *Reader) check(row fileRow) (client.Plant, error) {
	if row.fault != nil {
		return client.Plant{}, row.fault
	}
	isReplaced := row.wasUTF16 && strings.ContainsRune(row.text, utf8.RuneError)
	if isReplaced || !utf8.ValidString(row.text) {
		return client.Plant{}, errors.New("the row is not UTF-8: " + saveAsUTF8)
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
	if format == CSV {
		return NewCSVWriter(file, CSVStyle{Separator: ','})
	}
	return &ndjsonWriter{Writer: bufio.NewWriterSize(file, 64<<10)}
}

// CSVStyle is how a CSV file is written.
type CSVStyle struct {
	Separator byte // one of [Separators]
	HasMark   bool // begins with a byte order mark: Excel takes a file without one for another encoding
	HasETag   bool // has the version of each plant, for an update
}

// NewCSVWriter returns a writer of CSV.
func NewCSVWriter(file io.Writer, style CSVStyle) Writer {
	output := bufio.NewWriterSize(file, 64<<10)
	if style.HasMark {
		_, _ = output.WriteString(byteOrderMark) // the Writer returns its error later
	}
	columns := members
	if style.HasETag {
		columns = append(slices.Clone(members), etag)
	}
	_, _ = output.WriteString(strings.Join(names(columns), string(style.Separator)) + "\n")
	return csvWriter{Writer: output, separator: style.Separator, columns: columns, isGuarded: style.HasETag}
}

const byteOrderMark = "\ufeff"

// textReader reads UTF-8. If the file was UTF-16, U+FFFD stands for what was not valid in it.
type textReader struct {
	*bufio.Reader
	wasUTF16 bool
}

// asUTF8 returns a reader of the text of a file in UTF-8, without a byte order mark. UTF-16 is
// converted. The error of a file of another kind, which its first bytes show, says what to do.
func asUTF8(input *bufio.Reader) (textReader, error) {
	peeked, _ := input.Peek(4) // less of a shorter file
	first := string(peeked)
	for _, kind := range otherKinds {
		if strings.HasPrefix(first, kind.begin) {
			return textReader{}, errors.New("the file is " + kind.advice)
		}
	}
	if isUTF16(first) {
		order := unicode.LittleEndian // unless the mark or, of a first character in ASCII, the zero tells otherwise
		if strings.HasPrefix(first, "\x00") {
			order = unicode.BigEndian
		}
		decoder := unicode.UTF16(order, unicode.UseBOM).NewDecoder()
		return textReader{bufio.NewReaderSize(decoder.Reader(input), maxRow), true}, nil
	}
	if strings.HasPrefix(first, byteOrderMark) {
		_, _ = input.Discard(len(byteOrderMark)) // it is there
	}
	return textReader{Reader: input}, nil
}

// isUTF16 reports whether the first bytes of a file begin with a mark of UTF-16, or have a zero,
// as a character of ASCII has in UTF-16.
func isUTF16(first string) bool {
	const littleEndian, bigEndian = "\xff\xfe", "\xfe\xff"
	hasMark := strings.HasPrefix(first, littleEndian) || strings.HasPrefix(first, bigEndian)
	return hasMark || strings.Contains(first, "\x00")
}

// The sentences of the page are the same; see TestPageSaysTheSame.
const (
	saveAsUTF8        = "in Excel, save it as “CSV UTF-8 (Comma delimited)”"
	spreadsheetAdvice = "a spreadsheet (.xlsx, .ods, .xls) or an archive: " + saveAsUTF8
	gzipAdvice        = "compressed with gzip: decompress it first, as with gunzip"
)

// otherKinds are files that people take for text.
var otherKinds = []struct{ begin, advice string }{
	{begin: "PK\x03\x04", advice: spreadsheetAdvice},
	{begin: "\xd0\xcf\x11\xe0", advice: spreadsheetAdvice},
	{begin: "\x1f\x8b", advice: gzipAdvice},
}
