package transfer

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file of refused rows has the complete rows: reading it gives the same
// plants and the same errors. Refusing its rows again gives the same file.
func TestRejects(t *testing.T) {
	for name, test := range map[string]struct {
		format Format
		file   string
		want   string
	}{
		"columns in another order": {
			CSV, "tag,ID, name\nRosaceae,1,Rosa\n\"\",2,\"a,\"\"b\"\"\"\n,x,y\n",
			"line,reason,tag,id,name\n2,r,Rosaceae,1,Rosa\n3,r,\"\",2,\"a,\"\"b\"\"\"\n4,\"id must be an integer, got \"\"x\"\"\",,x,y\n",
		},
		"semicolons": {
			CSV, "id;name\n1;Rosa\nx;b\n", "line;reason;id;name\n2;r;1;Rosa\n3;\"id must be an integer, got \"\"x\"\"\";x;b\n",
		},
		"a separator by name": {
			CSV, "\"SEP=|\"\r\nid|name\r\n1|Rosa, red; wild\r\nx|b\r\n",
			"sep=|\nline|reason|id|name\n3|r|1|Rosa, red; wild\n4|\"id must be an integer, got \"\"x\"\"\"|x|b\n",
		},
		"fields that are not right": {
			CSV, "id,name\r\n1,\"a\"b\r\n\xff,\"\xff\"\r\n,\"a\nb\"\r\n1\r\n1,2,3,\"4\"\r\n",
			"line,reason,id,name\n2,\"text after a closing quote: inside a quoted field write a quote twice, as \"\"\"\"\",1,\"a\"b\n" +
				"3,\"the row is not UTF-8: in Excel, save it as “CSV UTF-8 (Comma delimited)”\",\xff,\"\xff\"\n4,id is missing,,\"a\nb\"\n6,the row has 1 fields but the header has 2 columns,1\n" +
				"7,the row has 4 fields but the header has 2 columns,1,2,3,\"4\"\n",
		},
		"a CR at the end of the file": {CSV, "id,name\n,a\r", "line,reason,id,name\n2,id is missing,,a\r\r\n"},
		"a quote that is never closed": {
			CSV, "id,name\n1,\"a\n2,b",
			"line,reason,id,name\n2,a quoted field is not closed; the row ends at line 3,1,\"a\n2,b\n",
		},
		"a row without end": {
			CSV, "id,name\n1,\"" + strings.Repeat("y", 2<<20) + "\"\n2,Rosa\n",
			"line,reason,id,name\n2,the row is larger than 1 MiB: check for a missing closing quote\n3,r,2,Rosa\n",
		},
		"members": {
			NDJSON, strings.Join([]string{
				`{"tag":null,"name":"Rosa","id":1}`, `{}`, ` {"id":1 , "family":"b"} `, `{"id":1,,"name":"a"}`, `{"id":1,"name":"a"} {}`,
				`{"id":1,"name":"a","id":2}`, `{"id"`, `{"id":1,`, `{`, `[1]`, `x`, `{"name":"b","line":7,"reason":"old"}`, "{\"id\":\"\xff\"}",
				strings.Repeat("y", 2<<20),
			}, "\n"),
			strings.Join([]string{
				`{"line":1,"reason":"r","tag":null,"name":"Rosa","id":1}`,
				`{"line":2,"reason":"id is missing"}`,
				`{"line":3,"reason":"unknown member \"family\": the members are ` + strings.Join(names(members), ", ") + `","id":1 , "family":"b"}`,
				`{"line":4,"reason":"the line is not a JSON object: invalid character ',' at start of value","id":1,,"name":"a"}`,
				`{"line":5,"reason":"the line has more than one JSON value","id":1,"name":"a"} {}`,
				`{"line":6,"reason":"the line is not a JSON object: duplicate object member name \"id\"","id":1,"name":"a","id":2}`,
				`{"line":7,"reason":"the line is not a JSON object: unexpected end of line","id"`,
				`{"line":8,"reason":"the line is not a JSON object: unexpected end of line","id":1,`,
				`{"line":9,"reason":"the line is not a JSON object: unexpected end of line"`,
				`{"line":10,"reason":"the line is not a JSON object","row":"[1]"}`,
				`{"line":11,"reason":"the line is not a JSON object: invalid character 'x' at start of value","row":"x"}`,
				`{"line":12,"reason":"id is missing","name":"b","line":7,"reason":"old"}`,
				"{\"line\":13,\"reason\":\"the row is not UTF-8: in Excel, save it as “CSV UTF-8 (Comma delimited)”\",\"id\":\"\xff\"}",
				`{"line":14,"reason":"the row is larger than 1 MiB"}`,
			}, "\n") + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			first := rejectAll(t, test.format, test.file)
			if diff := cmp.Diff(test.want, first); diff != "" {
				t.Errorf("the file of refused rows (-want +got):\n%.2000s", diff)
			}
			if strings.Contains(first, "is not closed") {
				return // the end of the file is within the quotes
			}
			second := rejectAll(t, test.format, first)
			third := rejectAll(t, test.format, second)
			if diff := cmp.Diff(second, third); diff != "" {
				t.Errorf("the file of its own refused rows (-want +got):\n%.2000s", diff)
			}
		})
	}
}

// A batch has few refused rows if they are large.
func TestRefusedRowsAreBounded(t *testing.T) {
	file := strings.Repeat(strings.Repeat("y", maxBatchBytes+1)+"\n", 3)
	reader := NewReader(strings.NewReader(file), NDJSON)
	for isLast := false; !isLast; {
		b := readBatch(reader)
		isLast = b.isLast
		if len(b.refused) > 1 {
			t.Errorf("a batch has %d refused rows of %d bytes", len(b.refused), b.size)
		}
	}
}

// rejectAll refuses every row of a file.
func rejectAll(t *testing.T, format Format, file string) string {
	t.Helper()
	r := NewReader(strings.NewReader(file), format)
	var text []byte
	for {
		row, err := r.Read()
		bad, refused := errors.AsType[RowError](err)
		switch {
		case err == io.EOF:
			return r.rejectHeader() + string(text)
		case err != nil && !refused:
			t.Fatal(err)
		case !refused:
			bad = RowError{Line: row.Line, Reason: "r", text: row.text}
		}
		text = r.appendReject(text, bad)
	}
}
