package plan

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Where the time of a run is short, robustness tests have its last quarter. What they have displaced comes after them, in
// its order.
func TestRobustnessInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const seconds = 330
		ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
		defer cancel()
		shortRobust, short, began := secondsOfTests(t, ctx)
		wholeRobust, whole, _ := secondsOfTests(t, t.Context())
		if began < seconds*3/4 || began > seconds*3/4+2 {
			t.Errorf("of %d seconds, robustness tests begin after %d", seconds, began)
		}
		if !slices.Equal(shortRobust, wholeRobust) {
			t.Errorf("there are %d robustness tests, want %d", len(shortRobust), len(wholeRobust))
		}
		isCut := len(short) > began && len(short) < len(whole)
		if !isCut || !slices.Equal(short, whole[:len(short)]) {
			t.Errorf("there are %d of %d other requests, and %d of them before them", len(short), len(whole), began)
		}
	})
}

// When the time is over, the tests of no more operations are made: those of a large document take longer than a short run.
func TestNoTestsAfterTheEnd(t *testing.T) {
	t.Parallel()
	for yielded := range 12 {
		p := planOf(t, Settings{})
		ctx, cancel := context.WithCancel(t.Context())
		tests, made := 0, 0
		for range p.Tests(ctx) {
			if tests == yielded {
				cancel()
				made = len(p.made)
			}
			tests++
		}
		cancel()
		if tests != yielded+1 || len(p.made) != made {
			t.Errorf("canceled in test %d, there are %d tests, of %d operations and later of %d", yielded, tests, made, len(p.made))
		}
	}
}

// secondsOfTests are the names of the tests until ctx is done, and how many come before the first robustness test, which takes
// half a second, and each of the others a whole one.
func secondsOfTests(t *testing.T, ctx context.Context) (robustness, others []string, began int) {
	t.Helper()
	for test := range planOf(t, Settings{}).Tests(ctx) {
		time.Sleep(time.Second / 2)
		if !strings.Contains(test.Name, ", robustness, ") {
			time.Sleep(time.Second / 2)
			others = append(others, test.Name)
			continue
		}
		if len(robustness) == 0 {
			began = len(others)
		}
		robustness = append(robustness, test.Name)
	}
	return robustness, others, began
}
