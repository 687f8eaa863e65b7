package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/golden"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// potsReport has a promise of each kind, in each state, and causes of each kind.
func potsReport() Report {
	l := NewLedger()
	l.Promised = func() ([]scenario.Promise, map[scenario.Promise]string) {
		return promisesOf(
			"any operation, 500", "createPot, 201", "createPot, 400", "createPot, body /color maxLength, refused", "createPot, body /size minimum, refused",
			"createPot, effect of parameter dry", "createPot, default of parameter dry", "createPot, parameter dry type, refused", "createPot, security, none",
			"createPot, request example short", "createPot, media type application/json, accepted", "createPot, unknown parameter",
			"createPot, example of parameter dry", "createPot, robustness, body, survived", "getPot, 200", "getPot, 2000", "getPot, 2XX", "methods that /pots does not offer", "OPTIONS /pots",
			"no path /nowhere", "sequence, createPot: a read sees a create", "/components/schemas/Pot: the keyword odd", "the document, webhooks",
			"getPot, first", "getPot, second", "getPot, third", "getPot, fourth", "getPot, fifth", "getPot, sixth",
		), map[scenario.Promise]string{scenario.Effect("createPot", "dry"): "no test shows it"}
	}
	crash := failure("createPot responds with 500", scenario.Crash)
	crash.Operation = "createPot"
	crash.Message = "a first line\nand a second one"
	crash.Sent = scenario.Interaction{Method: "POST", URL: "http://pots.example/pots", Path: "/pots", RequestBody: []byte(`{"id":7}`), Status: 500, Body: []byte("<html>")}
	crash.Steps = potsSteps()
	known := failure("a known cause", scenario.Header)
	known.Steps = potsSteps()[2:] // the fewest that are worth a script
	l.Known = map[string]string{
		known.ID():                  "it is known",
		"00000000":                  "it was mended",
		promise("getPot, 2XX").ID(): "never tried",
		"createPot, 400":            "nothing is refused",
		"listPots, 200":             "it is new",
		"createPot, 201":            "is broken all the same",
	}
	l.Note("a test", promisesOf("createPot, security, none", "createPot, body /color maxLength, refused", "createPot, body /size minimum, refused")...)
	l.NoteRefusal("createPot", promisesOf("createPot, body /size minimum, refused"))
	l.Record(scenario.Outcome{Failures: []scenario.Failure{crash, crash}}, promisesOf("createPot, 201"), "another test")
	again := crash
	again.Test = "one more test"
	l.Record(scenario.Outcome{Failures: []scenario.Failure{again, known}}, promisesOf("any operation, 500"), "one more test")
	l.Record(scenario.Outcome{Failures: []scenario.Failure{known}}, promisesOf("getPot, 2000"), "one more test")
	l.Record(scenario.Outcome{NotTested: "a reason"}, promisesOf("OPTIONS /pots", "no path /nowhere", "createPot, unknown parameter", "getPot, 200", "getPot, first"), "a test")
	for i := range mostParts + 2 {
		l.NoteFailures([]scenario.Failure{ofRoot(fmt.Sprintf("null as /member%d", i), "null is taken")})
	}
	l.NoteStatus("createPot", 500, nil)
	l.NoteStatus("getPot", 200, nil)
	l.End("the time is over")
	return New(Document{
		Title: "Pots", Version: "1.0", Seed: 7, Inferred: []string{"getPot reads what createPot creates", "listPots lists it"},
		Operations: []Operation{{ID: "createPot", Summary: "POST /pots"}, {ID: "getPot", Summary: "GET /pots/{id}"}, {ID: "deletePot"}, {ID: "deleteAllPotsOfARack"}},
	}, l)
}

// potsSteps are requests of a test. Their script takes from the responses what the service has chosen.
func potsSteps() []scenario.Interaction {
	const pots = "http://pots.example/pots"
	return []scenario.Interaction{
		{
			Method: "POST", URL: pots, Path: "/pots", RequestHeader: http.Header{"X-Key2": {"$X_KEY2"}}, RequestBody: []byte(`{ "size": 3, "color": "$RED" }`),
			Status: 201, Header: http.Header{"Etag": {`"v1"`}, "Location": {"/pots/41"}},
			Body: []byte(`{"count":41,"Id":41,"color":"$RED","at":[{"shelf_id":"s9"},{"row":"r2"}],"note":""}`),
		},
		{Method: "POST", URL: pots, Path: "/pots", RequestBody: []byte("{"), Status: 201, Header: http.Header{"Location": {"/pots/42"}}, Body: []byte("made")},
		{
			Method: "PUT", URL: pots + "/41?shelf=s9&row=r2", Path: "/pots/41", RequestHeader: http.Header{"If-Match": {`"v1"`}},
			RequestBody: []byte(`{ "shelf_id": "s9", "id": 41, "size": 41, "row": "r2" }`), Status: 200, Header: http.Header{"Etag": {`"v2"`}}, Body: []byte(`{"id":41,"row":"r2"}`),
		},
		{Method: "DELETE", URL: pots + "/42", Path: "/pots/42", RequestHeader: http.Header{"If-Match": {`"v2"`}}, RequestBody: []byte(`{ "size": 41, "id": 5 }`), Status: 500, Body: []byte("<html>")},
	}
}

// TestFiles compares a report in each form, and what is said of it, with testdata/report.*.
func TestFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "report")
	var said bytes.Buffer
	must.NoError(t, potsReport().WriteFiles(path+".any", &said))
	for _, ending := range []string{".txt", ".xml", ".html"} {
		text, err := os.ReadFile(path + ending)
		must.NoError(t, err)
		if _, behindStyle, has := strings.Cut(string(text), "</style>\n"); has {
			text = []byte(behindStyle)
		}
		golden.Compare(t, "testdata/report"+ending, string(text))
	}
	golden.Compare(t, "testdata/said.txt", string(bytes.ReplaceAll(said.Bytes(), []byte(path), []byte("report"))))
	if err := potsReport().WriteFiles(filepath.Join(path, "none"), &said); err == nil {
		t.Error("a report is written where no directory is")
	}
}

// TestFormsForPrograms compares a report as JSON and for GitHub Actions with testdata/report.json, annotations.txt and summary.md.
func TestFormsForPrograms(t *testing.T) {
	t.Parallel()
	r := potsReport()
	line := func(operation string) int { return map[string]int{"createPot": 12}[operation] }
	var form, annotations, summary bytes.Buffer
	must.NoError(t, errors.Join(r.JSON(io.Discard), r.JSON(&form), r.Annotations(&annotations, "a,b.yaml", line), r.Markdown(&summary)))
	golden.Compare(t, "testdata/report.json", form.String())
	golden.Compare(t, "testdata/annotations.txt", annotations.String())
	golden.Compare(t, "testdata/summary.md", summary.String())
	for range mostInMarkdown {
		r.Causes = append(r.Causes, r.Causes[0])
	}
	r.Promises = nil
	summary.Reset()
	must.NoError(t, r.Markdown(&summary))
	const known = 1
	end := fmt.Sprintf("\nand %d more causes\n\nDraw the same values again: `--seed 7`\n", len(r.Causes)-known-mostInMarkdown)
	if !strings.HasSuffix(summary.String(), end) {
		t.Errorf("the summary of %d causes without promises is\n%s", len(r.Causes), &summary)
	}
	r.Causes = nil
	summary.Reset()
	must.NoError(t, r.Markdown(&summary))
	if strings.Contains(summary.String(), "--seed") {
		t.Errorf("the summary without causes is\n%s", &summary)
	}
}

// A report has what was found so far, each time that it is made, and the promises are asked for once.
func TestLedgerAgain(t *testing.T) {
	t.Parallel()
	l := ledgerOf("createPot, 201")
	asked := 0
	promised := l.Promised
	l.Promised = func() ([]scenario.Promise, map[scenario.Promise]string) {
		asked++
		return promised()
	}
	if got := l.Promises()[0]; got.State != NotTested || l.Has(promise("createPot, 201")) {
		t.Errorf("at first it is %+v", got)
	}
	l.Note("a test", promisesOf("createPot, 201")...)
	l.NoteStatus("createPot", 201, nil)
	l.NoteRefusal("createPot", promisesOf("createPot, 201"))
	l.End("it has ended")
	if got := l.Promises()[0]; got.State != Kept || !l.Has(promise("createPot, 201")) || asked != 1 {
		t.Errorf("then it is %+v, after %d questions", got, asked)
	}
	l.Clear()
	got := l.Promises()[0]
	if got.State != NotTested || got.Why != "no test has observed it" || len(l.Statuses("createPot")) > 0 || l.Progress() != (Progress{}) {
		t.Errorf("after Clear it is %+v", got)
	}
}
