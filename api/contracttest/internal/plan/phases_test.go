package plan

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Where the time of a run is short, odd requests have its last quarter. What they have displaced comes after them, in
// its order.
func TestOddInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const seconds = 330
		ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
		defer cancel()
		shortOdd, short, began := secondsOfTests(t, ctx)
		wholeOdd, whole, _ := secondsOfTests(t, t.Context())
		if began < seconds*3/4 || began > seconds*3/4+2 {
			t.Errorf("of %d seconds, odd requests begin after %d", seconds, began)
		}
		if !slices.Equal(shortOdd, wholeOdd) {
			t.Errorf("there are %d odd requests, want %d", len(shortOdd), len(wholeOdd))
		}
		isCut := len(short) > began && len(short) < len(whole)
		if !isCut || !slices.Equal(short, whole[:len(short)]) {
			t.Errorf("there are %d of %d other requests, and %d of them before the odd ones", len(short), len(whole), began)
		}
	})
}

// secondsOfTests are the names of the tests until ctx is done, and how many come before the first odd one. An odd one takes
// half a second, and each of the others a whole one.
func secondsOfTests(t *testing.T, ctx context.Context) (odd, others []string, began int) {
	t.Helper()
	for test := range planOf(t, Settings{}).Tests(ctx) {
		time.Sleep(time.Second / 2)
		if !strings.Contains(test.Name, ", odd ") {
			time.Sleep(time.Second / 2)
			others = append(others, test.Name)
			continue
		}
		if len(odd) == 0 {
			began = len(others)
		}
		odd = append(odd, test.Name)
	}
	return odd, others, began
}
