package report

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed report.html
var pageText string

// page is parsed when the program starts: a mistake in it is then found by any test.
var page = template.Must(template.New("report").Parse(pageText))

// HTML writes the report as a page.
func (r Report) HTML(w io.Writer) error {
	return page.Execute(w, struct {
		Report
		Groups []*group
	}{r, r.groups})
}
