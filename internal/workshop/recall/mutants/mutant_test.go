package main

import (
	"slices"
	"testing"
)

func TestListedMutants(t *testing.T) {
	mutants, err := readMutants()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, one := range mutants {
		if slices.Contains(ids, one.id) {
			t.Errorf("%s is listed twice", one.id)
		}
		ids = append(ids, one.id)
		if _, err := find(one.service); err != nil {
			t.Errorf("%s: %v", one.id, err)
		}
		if operators[one.operator][one.before] != one.after {
			t.Errorf("%s: %s does not replace %s by %s", one.id, one.operator, one.before, one.after)
		}
		if !slices.Contains([]string{"kept", "equivalent", "broken"}, one.verdict) || one.note == "" {
			t.Errorf("%s has no verdict with a reason", one.id)
		}
	}
	if kept := len(slices.DeleteFunc(mutants, func(one mutant) bool { return !one.isKept() })); kept < 60 {
		t.Errorf("want 60 mutants, got %d", kept)
	}
}

func TestReplacement(t *testing.T) {
	code := []byte("one\nif a >= b {\n\tcontinue\n")
	for _, one := range []struct {
		at            mutant
		before, after string
	}{
		{mutant{line: 2, column: 6, operator: "CONDITIONALS_BOUNDARY"}, ">=", ">"},
		{mutant{line: 2, column: 6, operator: "CONDITIONALS_NEGATION"}, ">=", "<"},
		{mutant{line: 3, column: 2, operator: "INVERT_LOOPCTRL"}, "continue", "break"},
		{mutant{line: 1, column: 1, operator: "ARITHMETIC_BASE"}, "", ""},
	} {
		if before, after := replacement(code, one.at); before != one.before || after != one.after {
			t.Errorf("%+v: got %q, %q", one.at, before, after)
		}
	}
}
