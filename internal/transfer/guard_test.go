package transfer

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// In a file for a spreadsheet no cell begins like a formula, and what is read is what was written.
// Without the column etag a file has the texts as they are.
func TestGuard(t *testing.T) {
	for _, style := range []CSVStyle{{Separator: ','}, {Separator: ';', HasETag: true}} {
		for _, text := range []string{"=1+1", "+1", "-1", "@a", "\tb", "\rb", "\nb", "＝1", "＋1", "－1", "＠a", "'=c", "''-d", "'single", "plain", ""} {
			var file strings.Builder
			written := client.Plant{ID: -5, Name: text, Tag: &text}
			if style.HasETag {
				written.ETag = "0d5d3v4tjg00bqk9h2m6s8v1p4"
			}
			w := NewCSVWriter(&file, style)
			must.NoError(t, w.Write(written))
			must.NoError(t, w.Flush())
			isFormula := regexp.MustCompile(`;"?[=+\-@＝＋－＠\t\r\n]`).MatchString(file.String())
			if style.HasETag && isFormula {
				t.Errorf("%q is written as %q", text, file.String())
			}
			read, err := NewReader(strings.NewReader(file.String()), CSV).Read()
			must.NoError(t, err)
			if diff := cmp.Diff(written, read.Plant); diff != "" {
				t.Errorf("%q, %+v: the plant that is read differs (-written +read):\n%s", text, style, diff)
			}
		}
	}
}
