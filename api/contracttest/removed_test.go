package contracttest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/toy"
)

// At its end a run removes what it has created, also if its time is over, and nothing else. One that is
// interrupted ends at once. The ways to say what was created are those of draft.TestCreated.
func TestRemovesCreated(t *testing.T) {
	t.Parallel()
	for _, end := range []error{nil, context.DeadlineExceeded, context.Canceled} {
		synctest.Test(t, func(t *testing.T) { removesCreated(t, end) })
	}
}

func removesCreated(t *testing.T, end error) {
	var garden *toy.Garden
	orders := toyServices["orders"]
	orders.begins = func(g *toy.Garden) {
		oldOrders(g)
		garden = g
	}
	c, err := New(toyDocument(t, orders.paths), Options{Seed: 1})
	must.NoError(t, err)
	service := orders.serve(c, toy.Fault{})
	before := len(garden.Beds["/orders"])
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	report, err := c.Run(ctx, Target{URL: "http://toys.example/", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		response, err := inProcess{service}.RoundTrip(r)
		switch isCreated := response.StatusCode == http.StatusCreated; {
		case isCreated && end == context.DeadlineExceeded:
			<-ctx.Done()
		case isCreated && end == context.Canceled:
			cancel()
		}
		return response, err
	})})
	if !errors.Is(err, end) || garden.Last == 1000+before {
		t.Errorf("the run ends with %v, want %v, after the order %d", err, end, garden.Last)
	}
	left := len(garden.Beds["/orders"]) - before
	isTold := slices.ContainsFunc(report.Warnings, func(warning string) bool { return strings.HasPrefix(warning, strconv.Itoa(left)+" of the things") })
	if isLeft := left > 0; isLeft != (end == context.Canceled) || isTold != isLeft {
		t.Errorf("a run that ends with %v leaves %d orders, with the warnings %q", end, left, report.Warnings)
	}
}
