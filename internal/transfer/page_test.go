package transfer

import (
	"os"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// The page says of a file what the command line says of it.
func TestPageSaysTheSame(t *testing.T) {
	code, err := os.ReadFile("../page/files/csv.js")
	must.NoError(t, err)
	for _, sentence := range []string{
		saveAsUTF8, strings.TrimSuffix(spreadsheetAdvice, saveAsUTF8), gzipAdvice,
		"the file is empty: ", "the first line of a CSV file must name its columns, as in " + header,
		"the column ", " is missing: ", "unknown column", ": the columns are " + header, "duplicate column ",
		"a quoted field is not closed", `text after a closing quote: inside a quoted field write a quote twice, as ""`,
		`"?sep=([ !#-~\t])"?\r?`, formula.String(), "the row has ", " fields but the header has ", " columns", "id is missing",
	} {
		if !strings.Contains(string(code), sentence) {
			t.Errorf("internal/page/files/csv.js does not say %q", sentence)
		}
	}
}
