// Package report says what tests have shown of a service: which promises of its document are kept,
// broken or not tested, and the causes of what failed.
//
// A [Ledger] collects what tests show while they run (ledger.go). A [Report] is made of it: [Promise] by
// promise, grouped by operations, and [Cause] by cause (causes.go), of which those with one root are one (roots.go). It is
// written as text (text.go), as a page (html.go), as JSON (json.go), and as CI systems read it: as JUnit XML (junit.go), and as
// workflow commands of GitHub Actions (github.go).
//
// Nothing that a document promises is missing from a report. A promise that no test could try is not tested,
// with the reason, and fails a build unless the options say why it may be: otherwise a test that is lost
// would look like one that passes.
//
// names.go and causetexts.go write promises and causes as sentences, and nothing else does. Baselines and options name them by
// ids, which do not depend on the sentences: what is known stays known when values, seeds, the order of tests or words
// change.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Report is what tests have shown of a service so far.
type Report struct {
	Title, Version string // of the document
	Seed           uint64 // draws the same requests again
	// A sentence for each thing that was inferred from the shape of the document, or was not.
	Inferred, NotInferred []string
	// Warnings are what has kept tests from being tried.
	Warnings []string
	// Ended is why the run has ended before all tests were tried; empty: they were.
	Ended string
	// Stub is what the options should say of what was not inferred, as JSON to be filled in; empty: nothing.
	Stub     string
	Count    // of Promises
	Promises []Promise
	Reached  Reached
	// Of what failed: crashes first, then what fails most often.
	Causes []Cause
	// What the options know and was not found: id and reason.
	Lost []string
	// Operations that have accepted no request. They are not accused of what they refuse.
	Never  []NeverAccepted
	groups []*group
}

// State is what has become of a promise: it is in exactly one of three.
type State string

// A test has observed a Kept promise, and none saw it broken. NotTested is what no test has
// observed: what no test tried, and what the document has and the engine cannot test.
const (
	Kept      State = "kept"
	Broken    State = "broken"
	NotTested State = "not tested"
)

// Promise is something that the document promises.
type Promise struct {
	Promise scenario.Promise
	// Name is the operation, then what it promises: "addThing, body /name minLength, refused"
	// promises that a body is refused if its name is too short.
	Name  string
	State State
	// The test that observed it, what is wrong, or why it is not tested.
	Why      string
	Cause    string // the id of the cause, if it is broken
	Excepted bool   // it does not fail, because the options have a reason
}

// ID is short, and the same for the same promise in every run.
func (p Promise) ID() string { return p.Promise.ID() }

// Fails reports whether the promise is broken or not tested, without a reason in the options.
func (p Promise) Fails() bool { return p.State != Kept && !p.Excepted }

// IsNotTested reports whether the promise is not tested without a reason in the options.
func (p Promise) IsNotTested() bool { return p.State == NotTested && p.Fails() }

// Count is how many promises are kept, broken and not tested, which add up to all.
type Count struct{ Kept, Broken, NotTested int }

// All is the sum of the three.
func (c Count) All() int { return c.Kept + c.Broken + c.NotTested }

// String has columns of a fixed width, so that the counts of operations stand below each other.
func (c Count) String() string {
	return fmt.Sprintf("%4d kept, %4d broken, %4d not tested", c.Kept, c.Broken, c.NotTested)
}

// add counts one more promise.
func (c *Count) add(state State) {
	switch state {
	case Kept:
		c.Kept++
	case Broken:
		c.Broken++
	case NotTested:
		c.NotTested++
	}
}

// Reached is how many operations of a document tests have reached: had a success, or a failure of the service.
type Reached struct{ Operations, Successes, Crashes int }

// String is a line.
func (r Reached) String() string {
	return fmt.Sprintf("2xx: %d of %d operations, 5xx: %d operations", r.Successes, r.Operations, r.Crashes)
}

// reached counts the operations by the statuses of their responses.
func reached(operations []Operation, ledger *Ledger) Reached {
	count := Reached{Operations: len(operations)}
	for _, operation := range operations {
		statuses := ledger.Statuses(operation.ID)
		if slices.ContainsFunc(statuses, func(status int) bool { return status/100 == 2 }) {
			count.Successes++
		}
		if slices.ContainsFunc(statuses, func(status int) bool { return status/100 == 5 }) {
			count.Crashes++
		}
	}
	return count
}

// Document is what a report says of the document.
type Document struct {
	Title, Version string
	Operations     []Operation // in the order of the report
	Inferred       []string
	NotInferred    []string
	Stub           string   // see Report
	Warnings       []string // those that are not empty
	Seed           uint64
}

// Operation is a group of a report.
type Operation struct {
	ID, Summary string
	// Needs are the parameters, and members of the body, that a request must have.
	Needs []string
}

// group is an operation, or what is true of the service as a whole.
type group struct {
	Name, Summary string
	Kinds         []*kind
	Count         Count
}

// kind is a row of a group: promises of one kind.
type kind struct {
	Name  string
	Cells []Promise
}

// New makes a report of a ledger. What belongs to no operation comes at the end, as if it were one.
func New(of Document, ledger *Ledger) Report {
	r := Report{
		Title: of.Title, Version: of.Version, Seed: of.Seed, Inferred: of.Inferred, NotInferred: of.NotInferred, Stub: of.Stub,
		Warnings: slices.DeleteFunc(of.Warnings, func(warning string) bool { return warning == "" }),
		Promises: ledger.Promises(), Causes: ledger.Causes(), Reached: reached(of.Operations, ledger), Ended: ledger.ended(),
	}
	r.Never = ledger.never(of.Operations)
	r.Lost = r.lost(ledger.Known)
	r.nameWholes()
	byName := map[string]*group{}
	for _, operation := range of.Operations {
		g := &group{Name: operation.ID, Summary: operation.Summary}
		byName[g.Name] = g
		r.groups = append(r.groups, g)
	}
	service := &group{Name: "the service", Summary: "paths, methods, sequences, and responses that operations share"}
	r.groups = append(r.groups, service)
	for _, promise := range r.Promises {
		g := service
		isOfOne := byName[promise.Promise.Operation] != nil && !isOfSeveral(promise.Promise)
		if isOfOne {
			g = byName[promise.Promise.Operation]
			promise.Name = nameOf(promise.Promise)
		}
		g.add(promise)
		g.Count.add(promise.State)
		r.Count.add(promise.State)
	}
	return r
}

// lost lists what is known and was not found: neither a cause, nor a promise that is not tested. A reason for something that does not happen any more hides
// the day when it comes back.
func (r Report) lost(known map[string]string) (lost []string) {
	isFound := map[string]bool{}
	for _, cause := range r.Causes {
		for _, place := range cause.Places {
			isFound[place.ID] = true
		}
	}
	for _, promise := range r.Promises {
		if promise.State == NotTested {
			isFound[promise.ID()] = true
			isFound[promise.Name] = true
		}
	}
	for key, reason := range known {
		if !isFound[key] {
			lost = append(lost, key+" "+reason)
		}
	}
	slices.Sort(lost)
	return lost
}

// add adds a promise to the row of its kind. Rows are in the order of their first promise.
func (g *group) add(promise Promise) {
	name := rowOf(promise.Promise)
	at := slices.IndexFunc(g.Kinds, func(k *kind) bool { return k.Name == name })
	if at < 0 {
		at = len(g.Kinds)
		g.Kinds = append(g.Kinds, &kind{Name: name})
	}
	g.Kinds[at].Cells = append(g.Kinds[at].Cells, promise)
}

// rows are the rows of a report that have promises of several kinds.
var rows = map[scenario.PromiseKind]string{
	scenario.UnofferedMethods:  "paths and methods",
	scenario.OptionsOfPath:     "paths and methods",
	scenario.NoPath:            "paths and methods",
	scenario.BodyExample:       "request examples",
	scenario.MediaTypeOfBody:   "media types",
	scenario.UnknownParameter:  "parameters",
	scenario.ParameterKeyword:  "parameters",
	scenario.ParameterExample:  "parameters",
	scenario.EffectOfParameter: "effects",
	scenario.DefaultOfList:     "effects",
	scenario.ListedResponse:    "responses",
	scenario.HeaderOfResponse:  "responses",
	scenario.MemberOfResponse:  "responses",
	scenario.NotUnderstood:     "not understood",
}

// rowOf returns the name of the row that a promise is in. The other rows are called like the first word of the promises in them:
// "sequence, addThing: a read sees a create" is in the row "sequence".
func rowOf(p scenario.Promise) string {
	if p.Kind == scenario.ListedResponse && p.Operation == "" {
		return "shared responses"
	}
	word, _, _ := strings.Cut(nameOf(p), " ")
	return cmp.Or(rows[p.Kind], strings.TrimSuffix(word, ","))
}

// WriteFiles writes the report as text, HTML and JUnit XML: to path with the endings .txt,
// .html and .xml (an ending of path is replaced). What became of each operation goes to w.
func (r Report) WriteFiles(path string, w io.Writer) error {
	path = strings.TrimSuffix(path, filepath.Ext(path))
	r.writeOperations(w)
	fmt.Fprintf(w, "see %s.txt, .html and .xml\n", path)
	return errors.Join(writeFile(path+".txt", r.Text), writeFile(path+".html", r.HTML), writeFile(path+".xml", r.JUnit))
}

// writeFile writes one form of the report to a file.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
