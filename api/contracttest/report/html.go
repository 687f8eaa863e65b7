package report

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed report.html
var pageText string

var page = template.Must(template.New("report").Parse(pageText))

// HTML writes the report as a page.
func (r Report) HTML(w io.Writer) error {
	return page.Execute(w, struct {
		Report
		Groups []*group
	}{r, r.groups})
}
