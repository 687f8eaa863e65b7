package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// The elements of JUnit XML, which encoding/xml writes.
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

// add adds a test, which has passed unless it is a failure or skipped.
func (s *junitSuite) add(test junitCase) {
	test.Class = s.Name
	s.Tests++
	s.Cases = append(s.Cases, test)
}

// fail adds a test that has failed.
func (s *junitSuite) fail(name string, message junitMessage) {
	s.Failures++
	s.add(junitCase{Name: name, Failure: &message})
}

// skip adds a test that counts neither as passed nor as failed.
func (s *junitSuite) skip(name string, message junitMessage) {
	s.Skipped++
	s.add(junitCase{Name: name, Skipped: &message})
}

// addPromise adds a promise. One that is broken by a cause is skipped, because that has failed already. One that is not tested is
// skipped if the options have a reason, else it has failed. CI systems show a skipped test, and do not fail for it.
func (s *junitSuite) addPromise(promise Promise) {
	first, _, _ := strings.Cut(promise.Why, "\n")
	message := junitMessage{string(promise.State) + ": " + first, promise.Why}
	switch {
	case promise.Cause != "":
		s.skip(promise.Name, junitMessage{"broken: see " + promise.Cause + " of causes", promise.Why})
	case promise.Fails():
		s.fail(promise.Name, message)
	case promise.State != Kept:
		s.skip(promise.Name, message)
	default:
		s.add(junitCase{Name: promise.Name})
	}
}

// JUnit writes the report as JUnit XML, as CI systems read it: each cause is a failed test, and
// each promise is a test.
func (r Report) JUnit(w io.Writer) error {
	causes := junitSuite{Name: "causes"}
	for _, cause := range r.Causes {
		name := cause.ID + " " + cause.Cause
		message := junitMessage{cause.First.Message, cause.String()}
		if cause.Known == "" {
			causes.fail(name, message)
		} else {
			causes.skip(name, message)
		}
	}
	all := junitSuites{Name: r.Title + " " + r.Version, Suites: []junitSuite{causes}}
	for _, g := range r.groups {
		suite := junitSuite{Name: g.Name}
		for promise := range g.promises {
			suite.addPromise(promise)
		}
		all.Suites = append(all.Suites, suite)
	}
	_, err := io.WriteString(w, xml.Header)
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	return errors.Join(err, encoder.Encode(all))
}
