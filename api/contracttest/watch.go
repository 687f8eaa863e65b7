package contracttest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Watch returns a handler that holds each response of next to the document. A response that breaks it fails the test t
// while the test waits for it, also where the test has only an [net/http/httptest.ResponseRecorder]:
//
//	handler = contracttest.Watch(t, document, handler)
//
// The responses are those that the test asks for: no request is made. Streams, Flush, Hijack and
// [net/http.ResponseController] work as without Watch. A path or a method that the document does not have is no fault,
// unless the [Rules] are Exact.
//
// t is nil where there is no test, as in TestMain. What breaks the document then, or after the end of t, fails in [Watched].
//
// The document is read once in a process, however often Watch is called with it. Options with functions are the exception:
// make a [Contract] of them once, and call its [Contract.Watch].
func Watch(t T, document []byte, next http.Handler, options ...Options) http.Handler {
	if t != nil {
		t.Helper()
	}
	c, err := shared(document, firstOf(options))
	if err == nil {
		return c.Watch(t, next)
	}
	if t == nil {
		panic(err) // as a handler in TestMain has no other way to fail
	}
	t.Errorf("%v", err)
	return next
}

// Watch is the function [Watch] with the document and the options of the contract.
func (c *Contract) Watch(t T, next http.Handler) http.Handler {
	watched.add(c)
	w := &watcher{contract: c, t: t}
	if test, ends := t.(interface{ Cleanup(func()) }); ends {
		test.Cleanup(w.end)
	}
	return c.recorded(next, w.check)
}

// watchedContracts are the contracts of a process.
type watchedContracts struct {
	mu     sync.Mutex
	all    []*Contract
	shared map[string][]*Contract // by document, those that Watch has made
}

// watched are those on which Watched reports.
var watched = watchedContracts{shared: map[string][]*Contract{}}

// add adds a contract, once.
func (w *watchedContracts) add(c *Contract) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.all, c) {
		w.all = append(w.all, c)
	}
}

// shared returns the contract of a document and options, which is made once.
func shared(document []byte, o Options) (*Contract, error) {
	watched.mu.Lock()
	defer watched.mu.Unlock()
	for _, known := range watched.shared[string(document)] {
		if reflect.DeepEqual(known.given, o) {
			return known, nil
		}
	}
	c, err := New(document, o)
	if err != nil {
		return nil, err
	}
	c.given = o
	watched.shared[string(document)] = append(watched.shared[string(document)], c)
	return c, nil
}

// watcher judges the responses that one test has caused.
type watcher struct {
	contract *Contract
	mu       sync.Mutex
	t        T // nil: there is none, or it has ended
}

// end forgets the test when it ends. A testing.T panics if it is told something later.
func (w *watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t = nil
}

// name is the name of the test.
func (w *watcher) name() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t == nil {
		return "none: after the end of its test, or of a server without one"
	}
	return w.t.Name()
}

// check judges a response, and tells the test, or the ledger if there is no test any more. A response that cannot be judged is
// counted.
func (w *watcher) check(x Interaction, notChecked string) {
	if notChecked != "" {
		w.contract.beyond.add("not checked: " + x.Method + " " + x.Path + ": " + notChecked)
		return
	}
	failures := w.contract.seen(x, w.name())
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(failures) == 0:
	case w.t != nil:
		w.t.Helper()
		w.t.Errorf("contract: %s", explained(w.contract.judge.Name(x), x, failures))
	default:
		w.contract.untold.NoteFailures(failures)
	}
}

// watching is what a contract knows of the responses that tests of a service have caused.
type watching struct {
	given   Options        // as they were given, for a contract that Watch has made
	untold  *report.Ledger // what no test could be told
	beyond  *tally         // what is not in the document, or not checked
	reached *sync.Map      // of type place: true
}

func newWatching() watching {
	return watching{untold: report.NewLedger(), beyond: &tally{counts: map[string]int{}}, reached: &sync.Map{}}
}

// seen judges a response, and returns what is wrong with it and not known. What the document does not have is a failure only if the
// rules are exact, and else counted.
func (c *Contract) seen(x Interaction, test string) (failures []Failure) {
	defer func() {
		if fault := recover(); fault != nil {
			failures = []Failure{c.panicked(x, test, fault)}
		}
	}()
	if !c.options.Rules.Exact {
		if isInDocument := c.countUndeclared(x); !isInDocument {
			return nil
		}
	}
	failures = c.observe(x, test, judge.Asked{})
	if c.options.Requests {
		failures = append(failures, c.judge.RequestFailures(x, test)...)
	}
	for i, failure := range failures {
		failures[i].Sent = withoutCredentials(failure.Sent)
	}
	c.ledger.NoteFailures(failures)
	return slices.DeleteFunc(failures, func(failure Failure) bool {
		return failure.ReasonIn(c.options.Known) != ""
	})
}

// countUndeclared counts what a response has and the document has not, and reports whether the document has its operation. Items of
// an array are counted as one: /items/0/size and /items/1/size are /items/*/size.
func (c *Contract) countUndeclared(x Interaction) bool {
	operation := c.document.Serving(x.Method, x.Path)
	if operation == nil {
		c.beyond.add("not in the document: " + x.Method + " " + x.Path)
		return false
	}
	for _, fault := range c.judge.Undeclared(x) {
		place := indexes.ReplaceAllString(fault.Where, "/*$1")
		c.beyond.add(fmt.Sprintf("not in the document: %s, %d: %s", operation.ID, x.Status, place))
	}
	return true
}

// withoutCredentials hides the credentials of a request. The tests of a service choose them: they need not be in the options.
func withoutCredentials(x Interaction) Interaction {
	return x.Hidden(http.Header{"Authorization": x.RequestHeader["Authorization"], "Cookie": x.RequestHeader["Cookie"]})
}

// indexes finds the indexes of items in a JSON Pointer.
var indexes = regexp.MustCompile(`/[0-9]+(/|$)`)

// panicked is the failure that a response cannot be judged, because a library, or a function of the options, panics at it. It must
// not end the test, whose service may be right.
func (c *Contract) panicked(x Interaction, test string, fault any) Failure {
	return Failure{
		Cause:   scenario.Cause{Kind: scenario.WrongBody, Operation: c.judge.Name(x), Status: x.Status, Keyword: "panic"},
		Message: fmt.Sprintf("the response cannot be judged: %v, at %s", fault, placeOfPanic()),
		Test:    test,
		Sent:    withoutCredentials(x.Hidden(c.options.Header)),
		Rank:    scenario.Response,
	}
}

// placeOfPanic is the function that has panicked, with its file and line. It is called while the panic is handled.
func placeOfPanic() string {
	callers := make([]uintptr, 30)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	isBelow := false // the frames after gopanic are those that have panicked
	for frame, hasMore := frames.Next(); hasMore; frame, hasMore = frames.Next() {
		if isBelow && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%s (%s:%d)", frame.Function, filepath.Base(frame.File), frame.Line)
		}
		isBelow = isBelow || frame.Function == "runtime.gopanic"
	}
	return "an unknown place"
}

// mostFailures is how many faults of a response a test shows.
const mostFailures = 3

// explained is what a test is told of a response, in at most five lines:
//
//	getThing, 200: [0123abcd] body /name: minLength: it has 0 characters, got ""
//		sent: GET http://localhost/things/1
//		got:  200 application/json {"name":""}
func explained(operation string, x Interaction, failures []Failure) string {
	var lines []string
	for _, failure := range failures[:min(len(failures), mostFailures)] {
		message := strings.TrimPrefix(failure.Message, fmt.Sprintf("the status is %d, but ", x.Status))
		lines = append(lines, fmt.Sprintf("[%s] %s%s", failure.ID(), message, valueAt(x, message)))
	}
	if more := len(failures) - mostFailures; more > 0 {
		lines[mostFailures-1] += fmt.Sprintf("; and %d more", more)
	}
	lines = append(lines,
		"sent: "+x.Method+" "+x.URL+beginning(x.RequestBody),
		fmt.Sprintf("got:  %d %s", x.Status, x.Header.Get("Content-Type"))+beginning(x.Body))
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, "\n", " ")
	}
	return fmt.Sprintf("%s, %d: %s", cmp.Or(operation, "no operation"), x.Status, strings.Join(lines, "\n\t"))
}

// valueAt is the value in a response at the place that a message begins with, as "body /name: ", if it is no array or object.
func valueAt(x Interaction, message string) string {
	pointer, isOfBody := strings.CutPrefix(message, "body /")
	pointer, _, hasKeyword := strings.Cut(pointer, ": ")
	body, err := x.Value()
	if !isOfBody || !hasKeyword || err != nil {
		return ""
	}
	switch value := jsonvalue.Lookup(body, "#/"+pointer).(type) {
	case string, bool, json.Number:
		return ", got" + beginning(jsonvalue.Encode(value))
	}
	return ""
}

// mostShown is how many bytes of a body a line shows.
const mostShown = 300

// beginning is the beginning of a body in one line, after a space; of an empty one it is nothing.
func beginning(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(body[:min(len(body), mostShown)]), "?"))
	if strings.ContainsFunc(text, unicode.IsControl) {
		text = strconv.Quote(text)
	}
	if len(body) > mostShown {
		text += "…"
	}
	return " " + text
}

// tally counts lines. It leaves out new ones when it has as many as a person may read.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

// mostLines is how many different lines are counted.
const mostLines = 200

func (l *tally) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, isKnown := l.counts[line]; isKnown || len(l.counts) < mostLines {
		l.counts[line]++
	}
}

// lines are the lines with how often each was added.
func (l *tally) lines() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range slices.Sorted(maps.Keys(l.counts)) {
		all = append(all, fmt.Sprintf("%s, %d times", line, l.counts[line]))
	}
	return all
}

// Watched runs the tests of a package, a [testing.M], and returns the exit code. It fails for what breaks the document of a
// [Watch] and no test could be told: the responses of a server that TestMain has started, and those after the end of a
// test. Then it prints how much of each document the tests have reached.
//
//	func TestMain(m *testing.M) { os.Exit(contracttest.Watched(m)) }
func Watched(m interface{ Run() int }) int {
	code := m.Run()
	watched.mu.Lock()
	defer watched.mu.Unlock()
	for _, c := range watched.all {
		if c.reportWatched(os.Stdout, isWholeRun()) && code == 0 {
			code = 1
		}
	}
	return code
}

// mostUnreached is how many names Watched prints of what was not reached.
const mostUnreached = 10

// reportWatched writes what Watched says of a contract, and reports whether something breaks the document. How much a part
// of the tests reaches means nothing.
func (c *Contract) reportWatched(w io.Writer, isWhole bool) (isBroken bool) {
	causes := c.untold.Causes()
	for _, cause := range causes {
		fmt.Fprintf(w, "contract: %s\n", cause)
	}
	for _, line := range c.beyond.lines() {
		fmt.Fprintf(w, "contract: %s\n", line)
	}
	if isWhole {
		fmt.Fprintf(w, "contract: %s\n", c.Coverage().Text(mostUnreached, "; "))
	}
	return len(causes) > 0
}
