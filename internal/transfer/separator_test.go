package transfer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/transfer"
)

// A first line such as sep=; names the separator, as Excel reads it, and is no data. The lines are counted as in the file.
func TestSeparatorByName(t *testing.T) {
	for _, first := range []string{"sep=%s\n", "sep=%s\r\n", "SEP=%s\n", "\"sep=%s\"\r\n", "\ufeffsep=%s\n"} {
		for _, separator := range []string{",", ";", "\t", "|", ":", "x", " "} {
			file := fmt.Sprintf(first, separator) + strings.ReplaceAll("id,name,tag\n1,\"R,sa\",Rosaceae\nno,b,c\n2,\",\",\n", ",", separator)
			rows, refused := read(t, transfer.CSV, strings.NewReader(file))
			if len(rows) != 2 || rows[0].Plant.Name != "R"+separator+"sa" || rows[1].Plant.Name != separator || rows[1].Line != 5 {
				t.Errorf("%q has the rows %v", file, rows)
			}
			if len(refused) != 1 || refused[0] != `line 4: id must be an integer, got "no"` {
				t.Errorf("%q has the refused rows %q", file, refused)
			}
		}
	}
	for file, want := range map[string]string{
		"sep=;":                "the file is empty: ",
		"sep=;\n":              "the file is empty: ",
		"sep=\nid,name\n":      `line 1: the column "id" is missing: `,
		"sep=;;\nid;name\n":    `line 1: the column "id" is missing: `,
		"sep=\"\nid,name\n":    `line 1: the column "id" is missing: `,
		"sep=;\nid;nam\n":      `line 2: unknown column "nam": `,
		"sep=;\nid,name\n":     `line 2: the column "id" is missing: `,
		"id,name\nsep=;\n":     "line 2: the row has 1 fields",
		"sep=ü\nidünameütag\n": `line 1: the column "id" is missing: `,
	} {
		_, err := transfer.NewReader(strings.NewReader(file), transfer.CSV).Read()
		expect.Message(t, fmt.Sprintf("Read of %q", file), err, want)
	}
}
