package contract

import (
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// reportVariable names the files that [Contract.Main] writes reports to.
const reportVariable = "CONTRACT_REPORT"

//go:embed report.html
var reportText string

var reportPage = template.Must(template.New("report").Parse(reportText))

// report is what is written: the promises of the document and what became of them.
type report struct {
	Title, Version  string
	Groups          []reportGroup
	Observed, Total int
	Skipped         []string
	Causes          []Cause
}

// reportGroup is an operation, or what is true of the service as a whole.
type reportGroup struct {
	Name, Summary   string
	Kinds           []reportKind
	Observed, Total int
}

// reportKind is a row of a group: promises of one kind.
type reportKind struct {
	Name  string
	Cells []reportCell
}

// reportCell is one promise, and the test that has observed it or what is wrong.
type reportCell struct{ Promise, Test, Failed, Skipped string }

// Result says in a word or two what became of a promise.
func (c reportCell) Result() string {
	switch {
	case c.Failed != "":
		return "failed: " + c.Failed
	case c.Test != "":
		return c.Test
	case c.Skipped != "":
		return "skipped: " + c.Skipped
	}
	return "no test"
}

// Kept reports whether a test has observed the promise and none saw it broken.
func (c reportCell) Kept() bool { return c.Failed == "" && c.Test != "" }

// Report writes what is known so far as text, HTML and JUnit XML: to path with
// the endings .txt, .html and .xml (an ending of path is replaced). A summary
// goes to w.
func (c *Contract) Report(path string, w io.Writer) error {
	r := c.report()
	path = strings.TrimSuffix(path, filepath.Ext(path))
	write := func(ending string, write func(io.Writer) error) error {
		f, err := os.Create(path + ending)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	r.summary(w)
	fmt.Fprintf(w, "see %s.txt, .html and .xml\n", path)
	return errors.Join(
		write(".txt", r.text),
		write(".html", func(w io.Writer) error { return reportPage.Execute(w, r) }),
		write(".xml", r.junit))
}

// report arranges the promises of the document by operation and kind.
func (c *Contract) report() report {
	promised := c.promises()
	r := report{Title: c.document.doc.Info.Title, Version: c.document.doc.Info.Version, Skipped: c.Skipped(), Causes: c.Causes()}
	c.coverage.mu.Lock()
	defer c.coverage.mu.Unlock()
	byName := map[string]int{}
	for _, route := range c.document.routes {
		byName[route.operation.OperationID] = len(r.Groups)
		r.Groups = append(r.Groups, reportGroup{Name: route.operation.OperationID, Summary: route.method + " " + route.template})
	}
	service := len(r.Groups)
	r.Groups = append(r.Groups, reportGroup{Name: "the service", Summary: "paths, methods, sequences, and responses that operations share"})
	for _, promise := range promised {
		name, rest, _ := strings.Cut(promise, ", ")
		i, ofOperation := byName[name]
		if !ofOperation {
			i, rest = service, promise
		}
		g := &r.Groups[i]
		kind := kindOf(rest)
		at := slices.IndexFunc(g.Kinds, func(k reportKind) bool { return k.Name == kind })
		if at < 0 {
			at = len(g.Kinds)
			g.Kinds = append(g.Kinds, reportKind{Name: kind})
		}
		cell := reportCell{rest, c.coverage.observed[promise], c.coverage.failed[promise], c.coverage.skipped[promise]}
		g.Kinds[at].Cells = append(g.Kinds[at].Cells, cell)
		g.Total++
		r.Total++
		if cell.Kept() {
			g.Observed++
			r.Observed++
		}
	}
	return r
}

func (r report) summary(w io.Writer) {
	for _, g := range r.Groups {
		fmt.Fprintf(w, "%-16s %4d of %4d\n", g.Name, g.Observed, g.Total)
	}
	fmt.Fprintf(w, "%-16s %4d of %4d promises observed, %d%%; %d skipped\n",
		"the document", r.Observed, r.Total, r.Observed*100/max(1, r.Total), len(r.Skipped))
}

// text writes the report for people: first what is wrong, then everything.
func (r report) text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: what the document promises\n\n", r.Title, r.Version)
	r.summary(&b)
	for _, cause := range r.Causes {
		fmt.Fprintf(&b, "\nFAILED %s\n", cause)
	}
	for _, g := range r.Groups {
		fmt.Fprintf(&b, "\n%s (%s)\n", g.Name, g.Summary)
		for _, k := range g.Kinds {
			for _, c := range k.Cells {
				if c.Failed != "" {
					fmt.Fprintf(&b, "  failed   %s\n", c.Promise)
				} else if c.Test != "" {
					fmt.Fprintf(&b, "  ok       %s (%s)\n", c.Promise, c.Test)
				} else {
					fmt.Fprintf(&b, "  untested %s\n", c.Promise)
				}
			}
		}
	}
	if len(r.Skipped) > 0 {
		fmt.Fprintf(&b, "\nSkipped: the document has this, and no generated test tries it\n")
		for _, skipped := range r.Skipped {
			fmt.Fprintf(&b, "  %s\n", skipped)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// The elements of JUnit XML, as CI systems read it.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitMessage `xml:"failure,omitempty"`
		Skipped *junitMessage `xml:"skipped,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

func (r report) junit(w io.Writer) error {
	causes := junitSuite{Name: "causes", Tests: len(r.Causes), Failures: len(r.Causes)}
	for _, c := range r.Causes {
		causes.Cases = append(causes.Cases, junitCase{Class: "causes", Name: c.ID + " " + c.Cause, Failure: &junitMessage{c.First.Message, c.String()}})
	}
	all := junitSuites{Name: r.Title + " " + r.Version, Suites: []junitSuite{causes}}
	for _, g := range r.Groups {
		suite := junitSuite{Name: g.Name}
		for _, k := range g.Kinds {
			for _, c := range k.Cells {
				one := junitCase{Class: g.Name, Name: c.Promise}
				switch {
				case c.Failed != "":
					first, _, _ := strings.Cut(c.Failed, "\n")
					one.Failure = &junitMessage{first, c.Failed}
					suite.Failures++
				case c.Test == "":
					one.Skipped = &junitMessage{Message: c.Result()}
					suite.Skipped++
				}
				suite.Cases = append(suite.Cases, one)
			}
		}
		suite.Tests = len(suite.Cases)
		all.Suites = append(all.Suites, suite)
	}
	skipped := junitSuite{Name: "skipped", Tests: len(r.Skipped), Skipped: len(r.Skipped)}
	for _, text := range r.Skipped {
		skipped.Cases = append(skipped.Cases, junitCase{Class: "skipped", Name: text, Skipped: &junitMessage{Message: "no generated test tries it"}})
	}
	all.Suites = append(all.Suites, skipped)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	return enc.Encode(all)
}

// kindOf tells what sort of promise this is.
func kindOf(promise string) string {
	word, _, _ := strings.Cut(strings.TrimSuffix(promise, ","), " ")
	word = strings.TrimSuffix(word, ",")
	switch {
	case len(word) == 3 && word[0] >= '1' && word[0] <= '5':
		return "responses"
	case strings.HasPrefix(promise, "any operation"):
		return "shared responses"
	case word == "methods", word == "OPTIONS", word == "no":
		return "paths and methods"
	case word == "request":
		return "request examples"
	case word == "media":
		return "media types"
	case word == "unknown", word == "parameter", word == "example":
		return "parameters"
	case word == "effect", word == "default":
		return "effects"
	default:
		return word
	}
}
