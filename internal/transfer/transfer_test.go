package transfer_test

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/transfer"
)

var formats = []transfer.Format{transfer.CSV, transfer.NDJSON}

// awkward are plants that a wrong reader or writer would change.
var awkward = []client.Plant{
	{ID: 1, Name: "Ficus lyrata", Tag: new("Moraceae")},
	{ID: 0, Name: "no tag"},
	{ID: -1, Name: "an empty tag", Tag: new("")},
	{ID: math.MinInt64, Name: ""},
	{ID: math.MaxInt64, Name: "", Tag: new("")},
	{ID: 2, Name: "zero\x00byte", Tag: new("\x00")},
	{ID: 3, Name: `"`, Tag: new(`""`)},
	{ID: 4, Name: `a "quoted" word`, Tag: new(`ends with a quote"`)},
	{ID: 5, Name: "a\nb", Tag: new("\n")},
	{ID: 6, Name: "a\rb", Tag: new("\r")},
	{ID: 7, Name: "a\r\nb", Tag: new("\r\n")},
	{ID: 8, Name: "ends with CR\r", Tag: new("ends with CR\r")},
	{ID: 9, Name: ",", Tag: new(",,")},
	{ID: 10, Name: " spaces ", Tag: new("\ttabs\t")},
	{ID: 11, Name: "\ufeffa byte order mark", Tag: new("\ufeff")},
	{ID: 12, Name: "line \u2028 paragraph \u2029", Tag: new("<&>")},
	{ID: 13, Name: "銀杏 Ginkgo — Isoëtes 🌱", Tag: new(`\back/slash`)},
	{ID: 14, Name: strings.Repeat("x", 100_000), Tag: new(strings.Repeat("\x01", 100_000))},
	{ID: 15, Name: "null", Tag: new("null")},
	{ID: 16, Name: "\ufffd", Tag: new("\U0010ffff")},
	{ID: 17, Name: `a "quote", then a comma`, Tag: new("\"\n")},
}

func TestRoundTrip(t *testing.T) {
	for _, format := range formats {
		wantAwkward(t, format, write(t, format, awkward))
	}
}

// wantAwkward fails unless a file has the awkward plants.
func wantAwkward(t *testing.T, format transfer.Format, file string) {
	t.Helper()
	rows, refused := read(t, format, strings.NewReader(file))
	var plants []client.Plant
	for _, row := range rows {
		plants = append(plants, row.Plant)
	}
	if diff := cmp.Diff(awkward, plants); diff != "" || len(refused) > 0 {
		t.Errorf("the file that begins with %.20q has the refused rows %q (-written +read):\n%.2000s", file, refused, diff)
	}
}

func TestNoPlantsRoundTrip(t *testing.T) {
	for format, want := range map[transfer.Format]string{transfer.CSV: `^id,name,tag[a-z_,]*\n$`, transfer.NDJSON: "^$"} {
		file := write(t, format, nil)
		if !regexp.MustCompile(want).MatchString(file) {
			t.Errorf("%s of no plants is %q, want %q", format, file, want)
		}
		if rows, refused := read(t, format, strings.NewReader(file)); len(rows)+len(refused) > 0 {
			t.Errorf("%s of no plants has %v, %q", format, rows, refused)
		}
	}
}

// Files of common programs can be read, and an invalid row does not affect the
// others.
func TestRead(t *testing.T) {
	rose := func(line int) transfer.Row {
		return transfer.Row{Line: line, Plant: client.Plant{ID: 1, Name: "Rosa", Tag: new("Rosaceae")}}
	}
	for name, test := range map[string]struct {
		format  transfer.Format
		file    string
		want    []transfer.Row
		refused []string
	}{
		"a byte order mark":         {transfer.CSV, "\ufeffid,name,tag\n1,Rosa,Rosaceae\n", []transfer.Row{rose(2)}, nil},
		"CRLF":                      {transfer.CSV, "id,name,tag\r\n1,Rosa,Rosaceae\r\n1,\"Rosa\",\"Rosaceae\"\r\n", []transfer.Row{rose(2), rose(3)}, nil},
		"no end of the last line":   {transfer.CSV, "id,name,tag\n1,Rosa,Rosaceae", []transfer.Row{rose(2)}, nil},
		"columns in another order":  {transfer.CSV, "tag,id,name\nRosaceae,1,Rosa\n", []transfer.Row{rose(2)}, nil},
		"columns written otherwise": {transfer.CSV, "ID, Name ,\"TAG\"\n1,Rosa,Rosaceae\n", []transfer.Row{rose(2)}, nil},
		"everything quoted":         {transfer.CSV, "\"id\",\"name\",\"tag\"\n\"1\",\"Rosa\",\"Rosaceae\"\n", []transfer.Row{rose(2)}, nil},
		"semicolons":                {transfer.CSV, "id;name;tag\r\n1;Rosa;\"Rosaceae\"\r\n2;\"a;b\";c,d\r\n", []transfer.Row{rose(2), {Line: 3, Plant: client.Plant{ID: 2, Name: "a;b", Tag: new("c,d")}}}, nil},
		"tabs":                      {transfer.CSV, "id\tname\ttag\n1\tRosa\tRosaceae\n", []transfer.Row{rose(2)}, nil},
		"UTF-16LE with a mark":      {transfer.CSV, wide(binary.LittleEndian, "\ufeffid,name,tag\n1,Rosa,Rosaceae\n"), []transfer.Row{rose(2)}, nil},
		"UTF-16BE with a mark":      {transfer.CSV, wide(binary.BigEndian, "\ufeffid,name,tag\n1,Rosa,Rosaceae\n"), []transfer.Row{rose(2)}, nil},
		"UTF-16LE":                  {transfer.CSV, wide(binary.LittleEndian, "id\tname\ttag\n1\tRosa\tRosaceae\n"), []transfer.Row{rose(2)}, nil},
		"UTF-16BE":                  {transfer.CSV, wide(binary.BigEndian, "id,name,tag\n1,Rosa,Rosaceae\n"), []transfer.Row{rose(2)}, nil},
		"UTF-16 that is not valid": {
			transfer.CSV, wide(binary.LittleEndian, "id,name,tag\n1,Rosa,Rosaceae\n2,") + "\x00\xd8,\x00\n\x00" + wide(binary.LittleEndian, "3,a,b") + "c",
			[]transfer.Row{rose(2)},
			[]string{
				"line 3: the row is not UTF-8: in Excel, save it as “CSV UTF-8 (Comma delimited)”",
				"line 4: the row is not UTF-8: in Excel, save it as “CSV UTF-8 (Comma delimited)”",
			},
		},
		"UTF-16 JSON":            {transfer.NDJSON, wide(binary.LittleEndian, `{"id":1,"name":"Rosa","tag":"Rosaceae"}`), []transfer.Row{rose(1)}, nil},
		"empty lines":            {transfer.CSV, "id,name,tag\n\n\r\n1,Rosa,Rosaceae\n\n", []transfer.Row{rose(4)}, nil},
		"spaces around the id":   {transfer.CSV, "id,name,tag\n 1 ,Rosa,Rosaceae\n", []transfer.Row{rose(2)}, nil},
		"no column for the tag":  {transfer.CSV, "id,name\n1,Rosa\n", []transfer.Row{{Line: 2, Plant: client.Plant{ID: 1, Name: "Rosa"}}}, nil},
		"a quote within a field": {transfer.CSV, "id,name,tag\n1,Rosa \"Peace\",\n", []transfer.Row{{Line: 2, Plant: client.Plant{ID: 1, Name: `Rosa "Peace"`}}}, nil},
		"lines are counted within quotes too": {
			transfer.CSV, "id,name,tag\n2,\"a\nb\r\nc\",\n1,Rosa,Rosaceae\nx,y,z\n",
			[]transfer.Row{{Line: 2, Plant: client.Plant{ID: 2, Name: "a\nb\r\nc"}}, rose(5)},
			[]string{`line 6: id must be an integer, got "x"`},
		},
		"rows that are no plants": {
			transfer.CSV, "id,name,tag\n,a,b\n1.0,a,b\n9223372036854775808,a,b\n2,a\n2,a,b,c\n2,\xff,b\n2,\"a\"b,c\n1,Rosa,Rosaceae\n",
			[]transfer.Row{rose(9)},
			[]string{
				"line 2: id is missing", `line 3: id must be an integer, got "1.0"`,
				"line 4: id 9223372036854775808 is out of range for a 64-bit integer", "line 5: the row has 2 fields but the header has 3 columns",
				"line 6: the row has 4 fields but the header has 3 columns", "line 7: the row is not UTF-8: in Excel, save it as “CSV UTF-8 (Comma delimited)”",
				`line 8: text after a closing quote: inside a quoted field write a quote twice, as ""`,
			},
		},
		"members in any order": {
			transfer.NDJSON, "\ufeff{\"tag\":\"Rosaceae\",\"name\":\"Rosa\",\"id\":1}\r\n\n" +
				"  {\"id\": 1, \"name\": \"R\\u006fsa\", \"tag\": \"Rosaceae\"}\n" +
				`{"line":7,"reason":"the line is not a JSON object","row":"[1]","id":1,"name":"Rosa","tag":"Rosaceae"}`,
			[]transfer.Row{rose(1), rose(3), rose(4)},
			nil,
		},
		"null is no tag": {transfer.NDJSON, `{"id":1,"name":"Rosa","tag":null}`, []transfer.Row{{Line: 1, Plant: client.Plant{ID: 1, Name: "Rosa"}}}, nil},
		"lines that are no plants": {
			transfer.NDJSON, strings.Join([]string{
				`{"id":1}`, `{"name":"a"}`, `{"id":"1","name":"a"}`, `{"id":1.0,"name":"a"}`, `{"id":1,"name":7}`,
				`{"id":1,"name":"a","tag":[]}`, `{"id":1,"name":"a","family":"b"}`, `{"id":1,"id":1,"name":"a"}`,
				`{"id":1,"name":"a"} {}`, `[1]`, `{"id":1`, "{\"id\":1,\"name\":\"\xff\"}", `{"id":1,"name":"\ud800"}`,
				`{"id":9223372036854775808,"name":"a"}`, `{"id":1,"name":"Rosa","tag":"Rosaceae"}`,
			}, "\n"),
			[]transfer.Row{rose(15)},
			[]string{
				"line 1: name is missing", "line 2: id is missing", "line 3: id must be an integer",
				`line 4: id must be an integer, got "1.0"`, "line 5: name must be a string", "line 6: tag must be a string",
				`line 7: unknown member "family": the members are id, name, tag`,
				`line 8: the line is not a JSON object: duplicate object member name`,
				"line 9: the line has more than one JSON value", "line 10: the line is not a JSON object",
				"line 11: the line is not a JSON object: unexpected end of line", "line 12: the row is not UTF-8: in Excel, save it as “CSV UTF-8 (Comma delimited)”",
				`line 13: the line is not a JSON object: invalid surrogate pair`,
				"line 14: id 9223372036854775808 is out of range for a 64-bit integer",
			},
		},
		"a line without end": {
			transfer.NDJSON, strings.Repeat("y", 2<<20) + "\n{\"id\":1,\"name\":\"Rosa\",\"tag\":\"Rosaceae\"}",
			[]transfer.Row{rose(2)},
			[]string{"line 1: the row is larger than 1 MiB"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rows, refused := read(t, test.format, strings.NewReader(test.file))
			if diff := cmp.Diff(test.want, rows, cmpopts.IgnoreUnexported(transfer.Row{})); diff != "" {
				t.Errorf("rows:\n%s", diff)
			}
			if len(refused) != len(test.refused) {
				t.Fatalf("the refused rows are %q, want %q", refused, test.refused)
			}
			for i, want := range test.refused {
				if !strings.HasPrefix(refused[i], want) {
					t.Errorf("a refused row is %q, want %q", refused[i], want)
				}
			}
		})
	}
}

// An invalid header ends the reading, and the message says what is wrong with
// it.
func TestHeader(t *testing.T) {
	columns := strings.TrimSuffix(write(t, transfer.CSV, nil), "\n")
	for file, want := range map[string]string{
		"":                           "the file is empty: the first line of a CSV file must name its columns, as in " + columns,
		"id,name,family\n1,a,b\n":    `line 1: unknown column "family": the columns are ` + columns,
		"id\tcolour\tname\theight\n": `line 1: unknown columns "colour", "height": the columns are ` + columns,
		"id|name|tag\n":              `line 1: the column "id" is missing: the first line of a CSV file must name its columns, as in ` + columns,
		"1,Rosa,Rosaceae\n":          `line 1: the column "id" is missing: the first line of a CSV file must name its columns, as in ` + columns,
		"id,name,tag,name\n":         `line 1: duplicate column "name"`,
		"id,tag\n":                   `line 1: the column "name" is missing: the first line of a CSV file must name its columns, as in ` + columns,
		"name,tag\n":                 `line 1: the column "id" is missing: the first line of a CSV file must name its columns, as in ` + columns,
		"id,name,\n":                 `line 1: unknown column "": the columns are ` + columns,
		"id,\"name\n1,Rosa,Rosaceae": "line 1: a quoted field is not closed; the row ends at line 2",
	} {
		_, err := transfer.NewReader(strings.NewReader(file), transfer.CSV).Read()
		if err == nil || err.Error() != want {
			t.Errorf("reading %q returns %v, want %s", file, err, want)
		}
		if _, ok := errors.AsType[transfer.RowError](err); ok {
			t.Errorf("after the wrong header of %q rows can still be read", file)
		}
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]transfer.Format{
		"a.csv": transfer.CSV, "A.CSV": transfer.CSV, "b/a.ndjson": transfer.NDJSON, "a.jsonl": transfer.NDJSON,
		"a.json": "", "csv": "", "-": "", "": "",
	} {
		if got := transfer.FormatOf(name); got != want {
			t.Errorf("FormatOf(%q) = %q, want %q", name, got, want)
		}
	}
}

// A read error is not a RowError.
func TestReadErrorEndsTheReading(t *testing.T) {
	broken := errors.New("broken")
	for format, begin := range map[transfer.Format]string{transfer.CSV: "id,name\n1", transfer.NDJSON: `{"id":1`} {
		r := transfer.NewReader(io.MultiReader(strings.NewReader(begin), errorReader{broken}), format)
		_, err := r.Read()
		expect.Error(t, string(format)+": Read()", err, broken)
	}
}

type errorReader struct{ err error }

func (e errorReader) Read([]byte) (int, error) { return 0, e.err }

// Plants that can be read are written in one way, and reading that gives the same
// plants.
func FuzzRoundTrip(f *testing.F) {
	f.Add("id,name,tag\n1,\"a \"\"b\"\"\r\n\",\"\"\n", true)
	f.Add("tag,id,name\r\n,1,\"\x00\"\r\n", true)
	f.Add("{\"id\":-1,\"name\":\"\\u0000\\u2028\"}\n", false)
	f.Fuzz(func(t *testing.T, file string, isCSV bool) {
		format := transfer.NDJSON
		if isCSV {
			format = transfer.CSV
		}
		var plants []client.Plant
		for r := transfer.NewReader(strings.NewReader(file), format); ; {
			row, err := r.Read()
			if _, bad := errors.AsType[transfer.RowError](err); bad {
				continue
			}
			if err != nil {
				break
			}
			plants = append(plants, row.Plant)
		}
		for _, other := range formats {
			rows, refused := read(t, other, strings.NewReader(write(t, other, plants)))
			if len(refused) > 0 || len(rows) != len(plants) {
				t.Fatalf("%s of %+v reads as %+v, %q", other, plants, rows, refused)
			}
			for i := range rows {
				if !cmp.Equal(rows[i].Plant, plants[i]) {
					t.Fatalf("%s of %+v reads as %+v", other, plants[i], rows[i].Plant)
				}
			}
		}
	})
}

// read reads a whole file.
func read(t *testing.T, format transfer.Format, file io.Reader) (rows []transfer.Row, refused []string) {
	t.Helper()
	for r := transfer.NewReader(file, format); ; {
		row, err := r.Read()
		switch bad, ok := errors.AsType[transfer.RowError](err); {
		case ok:
			refused = append(refused, bad.Error())
		case err == io.EOF:
			return rows, refused
		case err != nil:
			t.Fatal(err)
		default:
			rows = append(rows, row)
		}
	}
}

func write(t *testing.T, format transfer.Format, plants []client.Plant) string {
	t.Helper()
	var file strings.Builder
	w := transfer.NewWriter(&file, format)
	for _, p := range plants {
		must.NoError(t, w.Write(p))
	}
	must.NoError(t, w.Flush())
	return file.String()
}

// A file that is not UTF-8 text is refused with what it is, in both formats. Of no file is that
// said wrongly.
func TestFilesOfOtherKinds(t *testing.T) {
	for name, c := range map[string]struct{ file, words string }{
		"an .xlsx file": {"PK\x03\x04\x14\x00\x06\x00", "in Excel, save it as “CSV UTF-8 (Comma delimited)”"},
		"an .xls file":  {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "in Excel, save it as “CSV UTF-8 (Comma delimited)”"},
		"gzip":          {"\x1f\x8b\x08\x00", "compressed with gzip"},
	} {
		for _, format := range formats {
			_, err := transfer.NewReader(strings.NewReader(c.file), format).Read()
			expect.Message(t, name+" as "+string(format), err, c.words)
		}
	}
	for _, file := range []string{"", "i", "id", "\ufeff", "\ufeffid,name\n", "P", "PK,id,name\n", "%,id\n"} {
		_, err := transfer.NewReader(strings.NewReader(file), transfer.NDJSON).Read()
		if err != nil && strings.Contains(err.Error(), "the file is") {
			t.Errorf("%q is refused: %v", file, err)
		}
	}
}

// wide returns a text in UTF-16.
func wide(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

// Columns that are not those of a plant are ignored if the person says so.
func TestIgnoredColumns(t *testing.T) {
	const file = "id;Colour;name\n1;red;Rosa\nx;blue;Rosa\n"
	r := transfer.NewReader(strings.NewReader(file), transfer.CSV, "Colour", "id")
	row, err := r.Read()
	must.NoError(t, err)
	if row.Plant.ID != 1 || row.Plant.Name != "Rosa" {
		t.Errorf("the row is %+v", row)
	}
	_, err = r.Read()
	expect.Message(t, "a row without an id", err, `line 3: id must be an integer, got "x"`)
	_, err = transfer.NewReader(strings.NewReader(file), transfer.CSV, "height").Read()
	expect.Message(t, "another column", err, `line 1: unknown column "colour"`)
}

// A file for a spreadsheet program of another language can be read again.
func TestSeparators(t *testing.T) {
	for name, separator := range transfer.Separators {
		var file strings.Builder
		w := transfer.NewCSVWriter(&file, transfer.CSVStyle{Separator: separator, HasMark: true})
		for _, plant := range awkward {
			must.NoError(t, w.Write(plant))
		}
		must.NoError(t, w.Flush())
		if want := "\ufeffid" + string(separator) + "name"; !strings.HasPrefix(file.String(), want) {
			t.Errorf("%s: the file begins with %.20q, want %q", name, file.String(), want)
		}
		wantAwkward(t, transfer.CSV, file.String())
	}
}
