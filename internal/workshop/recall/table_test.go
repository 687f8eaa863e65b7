package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ran is what a tool reports on a server of the set wiki with a fault, or on the right one.
func ran(fault string, seed int, failures ...string) result {
	return result{server: server{set: set{name: "wiki"}, group: "rows", fault: fault, seed: seed}, tool: "tool", outcome: outcome{Failures: failures}}
}

func TestFound(t *testing.T) {
	results := []result{
		ran("", 1, "alarm"), ran("", 2, "other alarm"),
		ran("a", 1, "alarm", "new"), ran("a", 2, "new"), ran("a", 3, "other alarm"),
		ran("b", 1, "new"), ran("b", 2), ran("b", 3),
		ran("c", 1, "alarm"), ran("c", 2, "alarm"), ran("c", 3),
		ran("a", 4, "new"), // not on all faults
	}
	judgements := judge(results)
	if got, want := found(judgements, "tool"), "1 (0–2)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := found(judgements, "another tool"); got != "" {
		t.Errorf("a tool that has not run has found %q", got)
	}
	withoutRun := append(slices.Clone(judgements), judgement{server: server{fault: "d"}})
	if got, want := found(withoutRun, "tool"), "1 (0–2) of 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A sample has frozen faults alone, each at most once, and is always the same.
func TestDrawn(t *testing.T) {
	var all []server
	for i := range 20 {
		all = append(all, server{set: set{name: "mutants", faultList: "list"}, fault: fmt.Sprint(i)}, server{set: set{name: "wiki"}, fault: fmt.Sprint(i)})
	}
	names := func(sample []server) (all []string) {
		for _, one := range sample {
			all = append(all, one.name+" "+one.fault)
		}
		return all
	}
	got := names(drawn(all, 12))
	if again := names(drawn(all, 12)); !slices.Equal(got, again) {
		t.Errorf("two samples are %q and %q", got, again)
	}
	isWiki := func(name string) bool { return strings.HasPrefix(name, "wiki") }
	if slices.ContainsFunc(got, isWiki) || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 12 {
		t.Errorf("the sample is %q", got)
	}
	if every := drawn(all, 100); len(every) != 20 {
		t.Errorf("of 20 faults %d are drawn", len(every))
	}
}

func TestFailuresOf(t *testing.T) {
	got, err := failuresOf([]byte(`{"failures": [{"title": "Server error", "count": 3, "operations": ["GET /", "POST /"]}], "errors": []}`))
	want := []string{"Server error: GET /", "Server error: POST /", "Server error: in another way, 1"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
