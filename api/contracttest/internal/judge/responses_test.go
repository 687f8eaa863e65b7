package judge

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/golden"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// TestResponses judges the responses in testdata/responses.txt by testdata/pots.yaml.
func TestResponses(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/pots.yaml")
	must.NoError(t, err)
	file, err := os.ReadFile("testdata/responses.txt")
	must.NoError(t, err)
	blocks := strings.Split(strings.TrimSpace(string(file)), "\n\n")
	read, err := document.Parse(text)
	must.NoError(t, err)
	for i, block := range blocks[1:] {
		c := caseOf(t, block)
		blocks[i+1] = strings.Join(append(c.given, c.failures(New(read, nil, c.settings))...), "\n")
	}
	golden.Compare(t, "testdata/responses.txt", strings.Join(blocks, "\n\n")+"\n")
}

// responseCase is a case of the file.
type responseCase struct {
	given    []string // its lines, but for the failures
	settings Settings
	x        scenario.Interaction
	ask      string // what a test asks of the response, or nothing
}

// caseOf reads a case: lines of a request begin with >, those of the response with <, and failures are indented.
func caseOf(t *testing.T, block string) (c responseCase) {
	t.Helper()
	var request, response []string
	for line := range strings.SplitSeq(block, "\n") {
		if strings.HasPrefix(line, " ") {
			continue
		}
		c.given = append(c.given, line)
		switch mark, rest, _ := strings.Cut(line, " "); mark {
		case "!":
			var isKnown bool
			if c.settings, isKnown = settingsOf[rest]; !isKnown {
				t.Fatalf("there are no settings %s", rest)
			}
		case "?":
			c.ask = rest
		case ">":
			request = append(request, rest)
		case "<":
			response = append(response, rest)
		}
	}
	c.x.Method, c.x.Path, _ = strings.Cut(request[0], " ")
	c.x.RequestHeader, c.x.RequestBody = headerAndBody(request[1:])
	status, err := strconv.Atoi(response[0])
	must.NoError(t, err)
	c.x.Status = status
	c.x.Header, c.x.Body = headerAndBody(response[1:])
	if c.x.Header.Get("Content-Type") == "" && len(c.x.Body) > 0 {
		c.x.Header.Set("Content-Type", "application/json")
	}
	return c
}

// headerLine finds a header.
var headerLine = regexp.MustCompile(`^([A-Z][\w-]*): (.*)$`)

// headerAndBody reads lines of a message: what is no header is the body.
func headerAndBody(lines []string) (header http.Header, body []byte) {
	header = http.Header{}
	for _, line := range lines {
		found := headerLine.FindStringSubmatch(line)
		if found == nil {
			body = append(body, line+"\n"...)
			continue
		}
		header.Add(found[1], found[2])
	}
	if text := strings.TrimSuffix(string(body), "\n"); header.Get("Content-Type") != scenario.EventStream {
		body = []byte(text)
	}
	return header, body
}

// settingsOf are settings of cases.
var settingsOf = map[string]Settings{
	"exact":    {Rules: scenario.Rules{Exact: true, AnyHeader: map[string]string{"x-any": "a proxy adds it"}}},
	"head":     {Rules: scenario.Rules{Head: true}},
	"options":  {Rules: scenario.Rules{Options: true}},
	"allowed":  {Faults: func(scenario.Judged) []scenario.Fault { return nil }},
	"whole":    {Faults: adds(one("body", "required", "is missing"))},
	"status":   {Faults: adds(one("status", "options", "is not what the options want"))},
	"response": {Faults: adds(one("response", "options", "is not what the options want"))},
	"refusal": {Faults: func(of scenario.Judged) []scenario.Fault {
		if of.Why == nil {
			return of.Faults
		}
		return adds(one("refusal of "+string(of.Why.Kind), "options", "is not what the options want"))(of)
	}},
}

// adds are faults of the options beside those of the document.
func adds(more []scenario.Fault) func(scenario.Judged) []scenario.Fault {
	return func(of scenario.Judged) []scenario.Fault { return append(of.Faults, more...) }
}

// asks finds the parts of what a test asks: that a request is accepted, or refused for a reason with its place, and the
// promise.
var asks = regexp.MustCompile(`^([a-z ]+?)(?: in (\S+) (\S*))?(?: of(?: (.*))?)?$`)

// failures are those that the judge finds, each in lines, and what it says to the question of a test.
func (c responseCase) failures(j *Judge) (lines []string) {
	var asked Asked
	var wrong error
	if promise, isAccepted := strings.CutPrefix(c.ask, "accepted"); isAccepted {
		wrong = j.Accepted(c.x, asPromise(strings.TrimSpace(promise)))
	} else if c.ask != "" {
		found := asks.FindStringSubmatch(c.ask)
		asked = Asked{Violation: &scenario.Violation{Kind: scenario.Kind(found[1]), In: found[2], Pointer: found[3]}, Promise: asPromise(found[4])}
		wrong = j.Refused(c.x, *asked.Violation, asked.Promise)
	}
	for _, failure := range j.Failures(c.x, "a test", asked, nil) {
		lines = append(lines, shown(failure.Rank, failure.Message, failure.Cause, failure.Root))
	}
	slices.Sort(lines)
	if broken, is := errors.AsType[scenario.Broken](wrong); is {
		lines = append(lines, shown(broken.Rank, broken.Message, broken.Cause, broken.Root))
	}
	return lines
}

// promiseForm finds the parts of a promise of a place as the tests write it.
var promiseForm = regexp.MustCompile(`^(\w+), (parameter|body) (?:(\S*) )?(\S+), (refused|accepted)$`)

// asPromise is a promise of a place; another one is one of no place.
func asPromise(text string) scenario.Promise {
	parts := promiseForm.FindStringSubmatch(text)
	if parts == nil {
		return scenario.Promise{Kind: scenario.PromiseKind(text)}
	}
	duty := map[string]scenario.Duty{"refused": scenario.MustRefuse, "accepted": scenario.MustAccept}[parts[5]]
	return scenario.Promise{Operation: parts[1], Kind: scenario.PromiseKind(parts[2]), Place: parts[3], Keyword: parts[4], Duty: duty}
}

// causeText is the title of a cause, or nothing if there is none.
func causeText(cause scenario.Cause) string {
	if cause == (scenario.Cause{}) {
		return ""
	}
	return report.CauseText(cause)
}

// ranks are the names of ranks.
var ranks = []string{"crash", "behaviour", "response", "undocumented", "header"}

// shown is a failure.
func shown(rank scenario.Rank, message string, cause, root scenario.Cause) string {
	line := fmt.Sprintf("  %s: %s\n    %s", ranks[rank], message, report.CauseText(cause))
	if root != (scenario.Cause{}) {
		line += "\n    root: " + report.CauseText(root)
	}
	return line
}
