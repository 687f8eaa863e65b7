package contracttest

import (
	"cmp"
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
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

// Report is what tests have shown of a service so far.
type Report struct {
	Title, Version string   // of the document
	Seed           uint64   // draws the same requests again, see [Options.Seed]
	Inferred       []string // a sentence for each thing that was inferred from the shape of the document
	Count                   // of Promises
	Promises       []Promise
	Causes         []Cause  // of what failed: crashes first, then what fails most often
	Lost           []string // what [Options.Known] has and was not found: id and reason
	groups         []*reportGroup
}

// Count is how many promises are kept, broken and untried, which add up to all.
type Count struct{ Kept, Broken, Untried int }

// All is the sum of the three.
func (c Count) All() int { return c.Kept + c.Broken + c.Untried }

func (c Count) String() string {
	return fmt.Sprintf("%4d kept, %4d broken, %4d untried", c.Kept, c.Broken, c.Untried)
}

// reportGroup is an operation, or what is true of the service as a whole.
type reportGroup struct {
	Name, Summary string
	Kinds         []*reportKind
	Count         Count
}

// reportKind is a row of a group: promises of one kind.
type reportKind struct {
	Name  string
	Cells []Promise
}

// WriteFiles writes the report as text, HTML and JUnit XML: to path with the endings .txt,
// .html and .xml (an ending of path is replaced). What became of each operation goes to w.
func (r Report) WriteFiles(path string, w io.Writer) error {
	path = strings.TrimSuffix(path, filepath.Ext(path))
	write := func(ending string, write func(io.Writer) error) error {
		f, err := os.Create(path + ending)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	r.operations(w)
	fmt.Fprintf(w, "see %s.txt, .html and .xml\n", path)
	return errors.Join(write(".txt", r.Text), write(".html", r.HTML), write(".xml", r.JUnit))
}

// Report is what all tests of the contract have shown so far.
func (c *Contract) Report() Report {
	r := Report{
		Title: c.document.Title, Version: c.document.Version,
		Seed: c.seed, Inferred: newSuite(c).inferred, Promises: c.Promises(), Causes: c.Causes(),
	}
	for id, reason := range c.options.Known {
		if !slices.ContainsFunc(r.Causes, func(c Cause) bool { return c.ID == id }) &&
			!slices.ContainsFunc(r.Promises, func(p Promise) bool { return p.ID() == id && p.State == Untried }) {
			r.Lost = append(r.Lost, id+" "+reason)
		}
	}
	slices.Sort(r.Lost)
	byName := map[string]*reportGroup{}
	for _, route := range c.document.Operations {
		g := &reportGroup{Name: route.ID, Summary: route.Method + " " + route.Template}
		byName[g.Name], r.groups = g, append(r.groups, g)
	}
	service := &reportGroup{Name: "the service", Summary: "paths, methods, sequences, and responses that operations share"}
	r.groups = append(r.groups, service)
	for _, p := range r.Promises {
		name, rest, _ := strings.Cut(p.Name, ", ")
		g := byName[name]
		if g != nil {
			p.Name = rest
		} else {
			g = service
		}
		kind := kindOf(p.Name)
		at := slices.IndexFunc(g.Kinds, func(k *reportKind) bool { return k.Name == kind })
		if at < 0 {
			at, g.Kinds = len(g.Kinds), append(g.Kinds, &reportKind{Name: kind})
		}
		g.Kinds[at].Cells = append(g.Kinds[at].Cells, p)
		for _, c := range []*Count{&g.Count, &r.Count} {
			of := map[State]*int{Kept: &c.Kept, Broken: &c.Broken, Untried: &c.Untried}
			*of[p.State]++
		}
	}
	return r
}

// Summary writes what is wrong, with one request for each cause, what was inferred, what is
// untried and why, and how much of each operation.
func (r Report) Summary(w io.Writer) {
	for _, cause := range r.Causes {
		fmt.Fprintf(w, "%s\n\n", cause)
	}
	for _, known := range r.Lost {
		fmt.Fprintf(w, "known, but not found this time: %s\n\n", known)
	}
	r.overview(w)
}

func (r Report) overview(w io.Writer) {
	for _, sentence := range r.Inferred {
		fmt.Fprintf(w, "inferred: %s\n", sentence)
	}
	if len(r.Inferred) > 0 {
		fmt.Fprint(w, "correct it with Resources and Lists of the options\n\n")
	}
	untried := map[string][]string{}
	for _, p := range r.Promises {
		if p.State == Untried && p.Fails() {
			untried[p.Why] = append(untried[p.Why], p.Name)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(untried)) {
		names := untried[why]
		fmt.Fprintf(w, "%d untried: %s\n", len(names), why)
		for _, name := range names[:min(len(names), 5)] {
			fmt.Fprintf(w, "  %s\n", name)
		}
		if more := len(names) - 5; more > 0 {
			fmt.Fprintf(w, "  and %d more\n", more)
		}
		fmt.Fprintln(w)
	}
	r.operations(w)
}

func (r Report) operations(w io.Writer) {
	for _, g := range r.groups {
		fmt.Fprintf(w, "%-16s %s\n", g.Name, g.Count)
	}
	fmt.Fprintf(w, "%-16s %s of %d promises\n", "the document", r.Count, r.All())
}

// Text writes the report for people: first the summary, then every promise with the test that
// has shown it.
func (r Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: what the document promises\n\n", r.Title, r.Version)
	r.Summary(&b)
	for _, g := range r.groups {
		fmt.Fprintf(&b, "\n%s (%s)\n", g.Name, g.Summary)
		for _, k := range g.Kinds {
			for _, p := range k.Cells {
				why, _, _ := strings.Cut(p.Why, "\n")
				fmt.Fprintf(&b, "  %-8s %s (%s)\n", p.State, p.Name, why)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// HTML writes the report as a page.
func (r Report) HTML(w io.Writer) error {
	return reportPage.Execute(w, struct {
		Report
		Groups []*reportGroup
	}{r, r.groups})
}

// The elements of JUnit XML.
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

func (s *junitSuite) add(name string, failed, skipped bool, message junitMessage) {
	one := junitCase{Class: s.Name, Name: name}
	switch {
	case failed:
		one.Failure = &message
		s.Failures++
	case skipped:
		one.Skipped = &message
		s.Skipped++
	}
	s.Tests++
	s.Cases = append(s.Cases, one)
}

// JUnit writes the report as JUnit XML, as CI systems read it: each cause is a failed test, and
// each promise is a test. One that is untried is skipped if the options have a reason, else failed.
func (r Report) JUnit(w io.Writer) error {
	causes := junitSuite{Name: "causes"}
	for _, c := range r.Causes {
		causes.add(c.ID+" "+c.Cause, c.Known == "", true, junitMessage{c.First.Message, c.String()})
	}
	all := junitSuites{Name: r.Title + " " + r.Version, Suites: []junitSuite{causes}}
	for _, g := range r.groups {
		suite := junitSuite{Name: g.Name}
		for _, k := range g.Kinds {
			for _, p := range k.Cells {
				first, _, _ := strings.Cut(p.Why, "\n")
				suite.add(p.Name, p.Fails(), p.State != Kept, junitMessage{string(p.State) + ": " + first, p.Why})
			}
		}
		all.Suites = append(all.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	return enc.Encode(all)
}

// kinds are the kinds of promises by the first word of their names, where it is not the word.
var kinds = map[string]string{
	"methods": "paths and methods", "OPTIONS": "paths and methods", "no": "paths and methods",
	"request": "request examples", "media": "media types",
	"unknown": "parameters", "parameter": "parameters", "example": "parameters",
	"effect": "effects", "default": "effects",
}

// kindOf returns the kind of a promise.
func kindOf(promise string) string {
	word, _, _ := strings.Cut(strings.TrimSuffix(promise, ","), " ")
	word = strings.TrimSuffix(word, ",")
	switch {
	case len(word) == 3 && word[0] >= '1' && word[0] <= '5':
		return "responses"
	case strings.HasPrefix(promise, "/"), strings.HasPrefix(promise, "the document"):
		return "not understood"
	case strings.HasPrefix(promise, "any operation"):
		return "shared responses"
	}
	return cmp.Or(kinds[word], word)
}
