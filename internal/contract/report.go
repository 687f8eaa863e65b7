package contract

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"slices"
	"strings"
)

// reportVariable names the file that [Main] writes the report to.
const reportVariable = "CONTRACT_REPORT"

//go:embed report.html
var reportText string

var reportPage = template.Must(template.New("report").Parse(reportText))

// reportedGroup is an operation, or what is true of the service as a whole.
type reportedGroup struct {
	Name, Summary   string
	Kinds           []reportedKind
	Received, Total int
}

// reportedKind is a row of the matrix: promises of one kind.
type reportedKind struct {
	Name  string
	Cells []reportedCell
}

// reportedCell is one promise and the test that has received it.
type reportedCell struct{ Promise, Test string }

// writeReport writes what the ledger knows as an HTML page to path, and a
// summary to w.
func writeReport(path string, w io.Writer) error {
	ds, err := documents()
	if err != nil {
		return err
	}
	groups := matrix(ds.api, received)
	all := reportedGroup{}
	for _, g := range groups {
		all.Received += g.Received
		all.Total += g.Total
		fmt.Fprintf(w, "%-16s %4d of %4d\n", g.Name, g.Received, g.Total)
	}
	fmt.Fprintf(w, "%-16s %4d of %4d promises received, %d%%; see %s\n", "the document", all.Received, all.Total, all.Received*100/all.Total, path)
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = reportPage.Execute(f, map[string]any{
		"Title": ds.api.doc.Info.Title, "Version": ds.api.doc.Info.Version, "Groups": groups, "All": all,
	})
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// matrix arranges the promises of a document by operation and kind.
func matrix(d *document, l *ledger) []reportedGroup {
	l.mu.Lock()
	defer l.mu.Unlock()
	groups := []reportedGroup{}
	byName := map[string]int{}
	for _, r := range d.routes {
		byName[r.operation.OperationID] = len(groups)
		groups = append(groups, reportedGroup{Name: r.operation.OperationID, Summary: r.method + " " + r.template})
	}
	service := len(groups)
	groups = append(groups, reportedGroup{Name: "the service", Summary: "paths, methods, sequences, and answers that operations share"})
	for _, promise := range promises(d) {
		name, rest, _ := strings.Cut(promise, ", ")
		i, ofOperation := byName[name]
		if !ofOperation {
			i, rest = service, promise
		}
		g := &groups[i]
		kind := kindOf(rest)
		at := slices.IndexFunc(g.Kinds, func(k reportedKind) bool { return k.Name == kind })
		if at < 0 {
			at = len(g.Kinds)
			g.Kinds = append(g.Kinds, reportedKind{Name: kind})
		}
		g.Kinds[at].Cells = append(g.Kinds[at].Cells, reportedCell{rest, l.seen[promise]})
		g.Total++
		if l.seen[promise] != "" {
			g.Received++
		}
	}
	return groups
}

// kindOf tells what sort of promise this is.
func kindOf(promise string) string {
	word, _, _ := strings.Cut(strings.TrimSuffix(promise, ","), " ")
	word = strings.TrimSuffix(word, ",")
	switch {
	case len(word) == 3 && word[0] >= '1' && word[0] <= '5':
		return "answers"
	case strings.HasPrefix(promise, "any operation"), strings.Contains(promise, ", example "):
		return "shared answers"
	case word == "methods", word == "OPTIONS", word == "no":
		return "paths and methods"
	case word == "request":
		return "request examples"
	case word == "media":
		return "media types"
	case word == "unknown", word == "parameter", word == "example":
		return "parameters"
	default:
		return word
	}
}
