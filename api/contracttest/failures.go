package contracttest

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Failure is one way in which a service has broken a promise.
type Failure struct {
	// Cause says what is wrong without the values of this request: failures with the same
	// cause most likely go away together.
	Cause   string
	Message string      // what is wrong this time
	Test    string      // the generated test that found it, or the test that sent the request
	Sent    Interaction // zero if there was no response
	rank    int         // of the cause: what is likely worse is less
}

// The ranks of causes, and how their names begin.
const (
	rankCrash = iota
	rankBehaviour
	rankResponse
	rankUndocumented
	rankHeader
	rankOracles
)

// ID is short, and the same for the same cause in every run.
func (f Failure) ID() string { return causeID(f.Cause) }

func causeID(cause string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(cause)))[:8] }

// String returns the message, a command that repeats the request, and the response.
func (f Failure) String() string {
	text := fmt.Sprintf("[%s] %s", f.ID(), f.Message)
	if f.Sent.Method != "" {
		text += "\n\tsent:   " + curl(f.Sent)
	}
	if f.Sent.Status != 0 {
		text += fmt.Sprintf("\n\tgot:    %d %s", f.Sent.Status, inOneLine(f.Sent.Body))
	}
	return text
}

// inOneLine is the beginning of a body.
func inOneLine(body []byte) string {
	text := strings.TrimSuffix(string(body[:min(len(body), 500)]), "\n")
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// Cause is what failures have in common.
type Cause struct {
	ID, Cause string
	Count     int      // of failures
	Tests     []string // that found it
	Known     string   // the reason in the options for which it does not fail
	First     Failure
}

// noteFailures adds failures to the causes and reports which of them are the first of their cause.
func (c *coverage) noteFailures(failures []Failure) (fresh []Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range failures {
		cause := c.causes[f.ID()]
		if cause == nil {
			cause = &Cause{ID: f.ID(), Cause: f.Cause, First: f}
			c.causes[f.ID()] = cause
			fresh = append(fresh, f)
		}
		cause.Count++
		if !slices.Contains(cause.Tests, f.Test) {
			cause.Tests = append(cause.Tests, f.Test)
		}
	}
	return fresh
}

// failedBy reports whether something has failed for a cause.
func (c *coverage) failedBy(cause string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.causes[causeID(cause)] != nil
}

// Causes lists what has failed so far: crashes first, then what fails most often.
func (c *Contract) Causes() []Cause {
	c.coverage.mu.Lock()
	defer c.coverage.mu.Unlock()
	all := []Cause{}
	for cause := range maps.Values(c.coverage.causes) {
		one := *cause
		one.Known = c.options.Known[one.ID]
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(a.First.rank, b.First.rank), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Cause, b.Cause))
	})
	return all
}

// String is the cause in a few lines, with one request that shows it.
func (c Cause) String() string {
	times := fmt.Sprint(c.Count, " times")
	if c.Count == 1 {
		times = "once"
	}
	if c.Known != "" {
		return fmt.Sprintf("[%s] %s, %s; known: %s", c.ID, c.Cause, times, c.Known)
	}
	tests := c.Tests[0]
	if more := len(c.Tests) - 1; more > 0 {
		tests += fmt.Sprintf("; and %d more", more)
	}
	return fmt.Sprintf("[%s] %s, %s\n  broken: %s\n  tests:  %s", c.ID, c.Cause, times,
		strings.ReplaceAll(strings.TrimPrefix(c.First.String(), "["+c.ID+"] "), "\n\t", "\n  "), tests)
}

var indexOrKey = regexp.MustCompile(`/([0-9]+|` + unknownMember + `)(/|$)`)

// failuresOf makes failures of the faults of a response. Those of headers, media types and
// failed requests are mostly of the service as a whole, others of an operation.
func (c *Contract) failuresOf(faults []Fault, x Interaction, test string) (all []Failure) {
	name := "an operation that the document does not have"
	if r := c.document.serving(x.Method, x.Path); r != nil {
		name = r.operation.OperationID
	}
	for _, f := range faults {
		where := indexOrKey.ReplaceAllString(f.Where, "/*$2")
		failure := Failure{Message: fmt.Sprintf("the status is %d, but %s", x.Status, f), Test: test, Sent: x, rank: rankResponse}
		switch {
		case f.Where == "status" && x.Status >= 500:
			failure.Cause, failure.rank = fmt.Sprintf("%s responds with %d", name, x.Status), rankCrash
		case f.Keyword == twoOracles:
			failure.Cause, failure.rank = fmt.Sprintf("two oracles differ on a response of %s with %d", name, x.Status), rankOracles
		case f.Where == "status" && f.Keyword == "responses":
			failure.Cause, failure.rank = fmt.Sprintf("the status %d is not documented", x.Status), rankUndocumented
		case f.Where == "media type":
			failure.Cause, failure.rank = fmt.Sprintf("a response of %dxx has another media type: %s", x.Status/100, x.Header.Get("Content-Type")), rankUndocumented
		case strings.HasPrefix(f.Where, "header "):
			failure.Cause, failure.rank = fmt.Sprintf("%s, %s", f.Where, f.Keyword), rankHeader
		case f.Where == "status":
			failure.Cause, failure.rank = fmt.Sprintf("%s: %s", f.Keyword, f.Message), rankBehaviour
		case x.Status >= 400:
			failure.Cause = fmt.Sprintf("a response with %d: %s, %s", x.Status, where, f.Keyword)
		default:
			failure.Cause = fmt.Sprintf("%s, %d: %s, %s", name, x.Status, where, f.Keyword)
		}
		all = append(all, failure)
	}
	return all
}

// constraint is the end of a promise, which says what was accepted or refused: "minLength" of
// "createThing, body /name minLength, refused".
func constraint(promise string) string {
	promise = strings.TrimSuffix(strings.TrimSuffix(promise, ", refused"), ", accepted")
	return promise[strings.LastIndexByte(promise, ' ')+1:]
}
