package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/scenario"

	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

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
	return c.causes[scenario.ShortID(cause)] != nil
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
		return cmp.Or(cmp.Compare(a.First.Rank, b.First.Rank), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Cause, b.Cause))
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

// constraint is the end of a promise, which says what was accepted or refused: "minLength" of
// "createThing, body /name minLength, refused".
func constraint(promise string) string {
	promise = strings.TrimSuffix(strings.TrimSuffix(promise, ", refused"), ", accepted")
	return promise[strings.LastIndexByte(promise, ' ')+1:]
}
