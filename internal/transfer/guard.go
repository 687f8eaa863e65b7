package transfer

import (
	"regexp"
	"strings"

	"github.com/plantstore/plantstore/api/client"
)

// A file with the column etag is for a spreadsheet, which runs a cell that begins like a formula, in some languages
// also with a full-width sign (OWASP, CSV injection). So such a text has an apostrophe before it in the file, and so has
// one that begins with apostrophes already: a reader takes one away. internal/page/files/csv.js does the same.
var formula = regexp.MustCompile(`^'*[=+\-@＝＋－＠\t\r\n]`)

func guard(text string) string {
	if formula.MatchString(text) {
		return "'" + text
	}
	return text
}

func withoutGuard(text string) string {
	if formula.MatchString(text) {
		return strings.TrimPrefix(text, "'")
	}
	return text
}

// withTexts returns the plant with what change makes of its texts.
func withTexts(plant client.Plant, change func(string) string) client.Plant {
	plant.Name = change(plant.Name)
	if plant.Tag != nil {
		plant.Tag = new(change(*plant.Tag))
	}
	return plant
}
