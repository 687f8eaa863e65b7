package schema_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/internal/testing/golden"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// TestValues judges the values in testdata/values.txt by the schemas before them.
func TestValues(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/values.txt")
	must.NoError(t, err)
	var lines []string
	var read *document.Document
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSuffix(line, "\n")
		switch value, isValue := strings.CutPrefix(line, "  "); {
		case isValue && strings.HasPrefix(value, " "): // a fault
			continue
		case isValue:
			decoded, err := jsonvalue.Decode([]byte(value))
			must.NoError(t, err)
			lines = append(lines, line)
			var faults []string
			for _, fault := range schema.Faults("body", read.Component("Wanted", schema.Received), decoded) {
				faults = append(faults, "    "+fault.String())
			}
			slices.Sort(faults)
			lines = append(lines, faults...)
			continue
		case strings.HasPrefix(line, "{"):
			read, err = document.Parse([]byte("openapi: 3.0.3\ninfo: {title: One, version: '1'}\npaths: {}\ncomponents: {schemas: {Wanted: " + line + "}}"))
			must.NoError(t, err)
		}
		lines = append(lines, line)
	}
	golden.Compare(t, "testdata/values.txt", strings.Join(lines, "\n")+"\n")
}
