package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

var promises = []string{
	"any operation, 500", "createPot, 201", "createPot, body /color maxLength, refused", "createPot, effect of parameter dry",
	"createPot, parameter dry type, refused", "createPot, security, none", "methods that /pots does not offer",
}

// some are promises of the tests of a report.
var some = []scenario.Promise{
	{Kind: scenario.ListedResponse, Status: "500"},
	{Operation: "createPot", Kind: scenario.ListedResponse, Status: "201"},
	{Operation: "createPot", Kind: scenario.ListedResponse, Status: "400"},
	{Operation: "createPot", Kind: scenario.BodyKeyword, Place: "/color", Keyword: "maxLength", Duty: scenario.MustRefuse},
	{Operation: "createPot", Kind: scenario.BodyKeyword, Place: "/color", Keyword: "nullable", Duty: scenario.MustRefuse},
	{Operation: "createPot", Kind: scenario.BodyKeyword, Place: "/size", Keyword: "minimum", Duty: scenario.MustRefuse},
	{Operation: "createPot", Kind: scenario.BodyPresence, Keyword: "required", Duty: scenario.MustRefuse},
	{Operation: "createPot", Kind: scenario.ParameterKeyword, Place: "dry", Keyword: "type", Duty: scenario.MustRefuse},
	{Operation: "createPot", Kind: scenario.Security, Place: "none"},
	{Operation: "createPot", Kind: scenario.BodyExample, Place: "short"},
	{Operation: "createPot", Kind: scenario.ParameterExample, Place: "dry"},
	{Operation: "createPot", Kind: scenario.MediaTypeOfBody, Place: "application/json", Duty: scenario.MustAccept},
	{Operation: "createPot", Kind: scenario.UnknownParameter},
	{Operation: "createPot", Kind: scenario.BodyRobustness, Duty: scenario.MustSurvive},
	{Operation: "getPot", Kind: scenario.ListedResponse, Status: "200"},
	{Operation: "getPot", Kind: scenario.ListedResponse, Status: "2XX"},
	{Kind: scenario.UnofferedMethods, Place: "/pots"},
	{Kind: scenario.OptionsOfPath, Place: "/pots"},
	{Kind: scenario.NoPath, Place: "/nowhere"},
	{Operation: "createPot", Kind: scenario.ReadSeesCreate},
	{Kind: scenario.NotUnderstood, Place: "/components/schemas/Pot: the keyword odd"},
	{Kind: scenario.NotUnderstood, Place: "the document, webhooks"},
	scenario.Effect("createPot", "dry"),
	scenario.Default("createPot", "dry"),
}

// promise is the one with a name; what has none is not understood.
func promise(name string) scenario.Promise {
	for _, one := range some {
		if Name(one) == name {
			return one
		}
	}
	operation, place, isOfOne := strings.Cut(name, ", ")
	if !isOfOne {
		return scenario.Promise{Kind: scenario.DeclaredPromise, Place: name}
	}
	return scenario.Promise{Operation: operation, Kind: scenario.DeclaredPromise, Place: place}
}

// promisesOf are those with some names.
func promisesOf(names ...string) (all []scenario.Promise) {
	for _, name := range names {
		all = append(all, promise(name))
	}
	return all
}

func ledgerOf(names ...string) *Ledger {
	l := NewLedger()
	l.Promised = func() ([]scenario.Promise, map[scenario.Promise]string) {
		return promisesOf(names...), map[scenario.Promise]string{scenario.Effect("createPot", "dry"): "nobody knows what it does"}
	}
	return l
}

// causeOf is a cause with a sentence.
func causeOf(sentence string) scenario.Cause {
	return scenario.Cause{Kind: scenario.BrokenPromise, Promise: scenario.Promise{Kind: scenario.DeclaredPromise, Place: sentence}}
}

func failure(cause string, rank scenario.Rank) scenario.Failure {
	return scenario.Failure{Cause: causeOf(cause), Rank: rank, Message: "is wrong", Test: "test of " + cause}
}

// A promise is broken if any test has broken it, else kept if one has seen it kept.
func TestStates(t *testing.T) {
	t.Parallel()
	kept := scenario.Outcome{}
	broken := scenario.Outcome{Failures: []scenario.Failure{failure("a cause", scenario.Behaviour)}}
	more := failure("another cause", scenario.Behaviour)
	more.Message = "is worse"
	brokenTwice := scenario.Outcome{Failures: []scenario.Failure{broken.Failures[0], more}}
	notTested := scenario.Outcome{NotTested: "a reason"}
	for name, c := range map[string]struct {
		outcomes  []scenario.Outcome
		exception string
		state     State
		why       string // a part of it
		fails     bool
	}{
		"kept":                     {[]scenario.Outcome{kept}, "", Kept, "test", false},
		"broken":                   {[]scenario.Outcome{broken}, "", Broken, "is wrong", true},
		"broken twice in a test":   {[]scenario.Outcome{brokenTwice}, "", Broken, "is wrong", true},
		"kept and broken":          {[]scenario.Outcome{kept, broken}, "", Broken, "is wrong", true},
		"broken and kept":          {[]scenario.Outcome{broken, kept}, "", Broken, "is wrong", true},
		"not tested":               {[]scenario.Outcome{notTested}, "", NotTested, "a reason", true},
		"not tested and kept":      {[]scenario.Outcome{notTested, kept}, "", Kept, "test", false},
		"no test":                  {nil, "", NotTested, "no test has observed it", true},
		"not tested with a reason": {[]scenario.Outcome{notTested}, "an exception", NotTested, "an exception", false},
		"broken, and an exception": {[]scenario.Outcome{broken}, "an exception", Broken, "is wrong", true},
	} {
		l := ledgerOf("createPot, 201", "createPot, 201") // it is promised twice, and listed once
		l.Known = map[string]string{"createPot, 201": c.exception}
		for _, outcome := range c.outcomes {
			l.Record(outcome, promisesOf("createPot, 201"), "test")
		}
		all := l.Promises()
		if len(all) != 1 {
			t.Fatalf("%s: there are %d promises", name, len(all))
		}
		if got := all[0]; got.State != c.state || !strings.Contains(got.Why, c.why) || got.Fails() != c.fails {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Beside a promise that is kept stands the first test that has seen it.
func TestFirstTest(t *testing.T) {
	t.Parallel()
	l := ledgerOf("createPot, 201")
	l.Note("one test", promisesOf("createPot, 201")...)
	l.Note("another test", promisesOf("createPot, 201")...)
	if got := l.Promises()[0].Why; got != "one test" {
		t.Errorf("it was seen by %q", got)
	}
}

// A refusal shows something only of an operation that accepts what is valid.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]State{201: Kept, 400: NotTested} {
		l := ledgerOf("createPot, body required, refused")
		l.NoteStatus("createPot", status, nil)
		l.NoteStatus("createPot", 400, nil)
		l.NoteRefusal("createPot", promisesOf("createPot, body required, refused"))
		l.Record(scenario.Outcome{}, promisesOf("createPot, body required, refused"), "test")
		if got := l.Promises()[0]; got.State != want || want == NotTested && got.Why != nothingAccepted {
			t.Errorf("where a valid request gets %d it is %+v, want it %s", status, got, want)
		}
	}
}

// What is known does not fail. What is known and was not found is lost.
func TestKnown(t *testing.T) {
	t.Parallel()
	l := ledgerOf(promises...)
	known := failure("a known cause", scenario.Behaviour)
	notTested := promise("createPot, 201")
	tried := Promise{Name: "createPot, security, none", Promise: promise("createPot, security, none")}
	l.Known = map[string]string{known.ID(): "is known", notTested.ID(): "is never tried", "00000000": "is mended", "00000001": "is, too", "00000002": "is, too", tried.ID(): "is tried now"}
	l.Note("test", tried.Promise)
	l.Record(scenario.Outcome{Failures: []scenario.Failure{known}}, promisesOf("any operation, 500"), "test")
	r := New(Document{}, l)
	for _, promise := range r.Promises {
		if mustFail := promise.Name != "createPot, 201" && promise.Name != "any operation, 500" && promise.Name != tried.Name; promise.Fails() != mustFail {
			t.Errorf("%+v", promise)
		}
	}
	if want := []string{"00000000 is mended", "00000001 is, too", "00000002 is, too", tried.ID() + " is tried now"}; !slices.Equal(r.Lost, want) {
		t.Errorf("lost are %q", r.Lost)
	}
	if r.Causes[0].Known != "is known" {
		t.Errorf("the cause is %+v", r.Causes[0])
	}
}

// The worst cause comes first, and of two that are as bad the one that is more frequent, or else by name.
func TestCauses(t *testing.T) {
	t.Parallel()
	l := ledgerOf()
	frequent, crash := failure("frequent", scenario.Response), failure("crash", scenario.Crash)
	rare := []string{"also rare", "rare", "very rare", "what is rare", "what is seldom"}
	for _, cause := range rare {
		l.NoteFailures([]scenario.Failure{failure(cause, scenario.Response)})
	}
	if fresh := l.NoteFailures([]scenario.Failure{frequent, frequent, crash}); len(fresh) != 2 {
		t.Errorf("%d are the first of their cause", len(fresh))
	}
	if fresh := l.NoteFailures([]scenario.Failure{frequent}); len(fresh) != 0 {
		t.Errorf("%v are not the first of their cause", fresh)
	}
	var order []string
	for _, cause := range l.Causes() {
		order = append(order, cause.Cause)
	}
	if !slices.Equal(order, append([]string{"crash", "frequent"}, rare...)) {
		t.Errorf("the order is %q", order)
	}
	for i, want := range map[int]string{1: "frequent, 3 times", 2: "also rare, once"} {
		text := l.Causes()[i].String()
		cause, _, _ := strings.Cut(want, ",")
		if !strings.Contains(text, want) || !strings.HasSuffix(text, "tests:  test of "+cause) {
			t.Errorf("the cause is written as %s", text)
		}
	}
	l.Clear()
	if all := l.Causes(); len(all) != 0 {
		t.Errorf("after Clear there are %v", all)
	}
}

// An operation counts once, however often it has succeeded or failed.
func TestReached(t *testing.T) {
	t.Parallel()
	l := ledgerOf()
	for _, status := range []int{201, 200, 500, 503, 201} {
		l.NoteStatus("createPot", status, nil)
	}
	l.NoteStatus("getPot", 404, nil)
	l.NoteStatus("listPots", 204, nil)
	l.NoteStatus("listPots", 404, nil)
	l.NoteStatus("", 404, nil)
	if got, want := l.Progress(), (Progress{Operations: 3, Requests: 9}); got != want {
		t.Errorf("the progress is %v, want %v", got, want)
	}
	r := New(Document{Operations: []Operation{{ID: "createPot"}, {ID: "getPot"}, {ID: "listPots"}, {ID: "deletePot"}}}, l)
	var text bytes.Buffer
	r.Summary(&text)
	if want := "\n2xx: 2 of 4 operations, 5xx: 1 operations\n"; !strings.HasSuffix(text.String(), want) || strings.Contains(text.String(), "correct it") {
		t.Errorf("the summary is %s, want %s at its end", &text, want)
	}
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// Each form of the report says if it cannot be written.
func TestForms(t *testing.T) {
	t.Parallel()
	r := New(Document{Title: "Pots", Operations: []Operation{{ID: "createPot"}}}, ledgerOf(promises...))
	for name, write := range map[string]func(io.Writer) error{"JUnit": r.JUnit, "HTML": r.HTML, "text": r.Text} {
		if err := write(full{}); !errors.Is(err, errFull) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// A cause is known if it is at all of its places: a new hole is not hidden by one that is known elsewhere.
func TestKnownPlaces(t *testing.T) {
	t.Parallel()
	open := func(operation string) scenario.Failure {
		return scenario.Failure{Cause: scenario.Cause{Kind: scenario.IgnoresCredentials, Violation: scenario.NoCredentials}, Operation: operation}
	}
	for count, want := range []string{"it is open", ""} {
		l := ledgerOf()
		l.Known = map[string]string{open("getPot").PlaceID(): "it is open"}
		l.NoteFailures([]scenario.Failure{open("getPot"), open([]string{"getPot", "createPot"}[count])})
		if all := l.Causes(); len(all) != 1 || all[0].Known != want || len(all[0].Places) != count+1 {
			t.Errorf("with %d unknown places the causes are %+v", count, all)
		}
	}
}

// What accepts nothing has a line, also where it leads elsewhere and the document does not say so. What is not implemented yet has
// another one.
func TestNeverAccepted(t *testing.T) {
	t.Parallel()
	l := ledgerOf()
	l.IsDocumented = func(_ string, status int) bool { return status != 302 && status != 401 }
	for operation, statuses := range map[string][]int{
		"logIn": {400, 401}, "getPot": {404, 200}, "addPot": {400, 501}, "listPots": {200}, "dropPots": {}, "seePot": {302}, "openPot": {303},
	} {
		for _, status := range statuses {
			l.NoteStatus(operation, status, []byte("no"))
		}
	}
	all := New(Document{Operations: []Operation{{ID: "logIn"}, {ID: "getPot"}, {ID: "addPot"}, {ID: "listPots"}, {ID: "dropPots"}, {ID: "seePot"}, {ID: "openPot"}}}, l).Never
	want := "[logIn: 400 no, undocumented 401 no; this may help: other credentials (-H or --login) " +
		"seePot: undocumented 302 no; an example in the document may help]"
	if fmt.Sprint(all) != want {
		t.Errorf("never accepted are %v, want %s", all, want)
	}
}
