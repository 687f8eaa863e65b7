package values

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// The work for a value is how many values are in it, once for the schema and once for each branch.
func TestWork(t *testing.T) {
	t.Parallel()
	value := map[string]any{"a": []any{json.Number("1"), "b"}, "c": true}
	for text, want := range map[string]int{
		`{}`:                          5,
		`{"oneOf":[{},{}]}`:           15,
		`{"anyOf":[{},{},{}]}`:        20,
		`{"oneOf":[{}],"anyOf":[{}]}`: 15,
	} {
		g := New(Settings{})
		g.Fits(schemaOf(t, text), value)
		if g.work != want {
			t.Errorf("%s is %d values of work, want %d", text, g.work, want)
		}
	}
}

// A base is as much work as there are values in it.
func TestWorkOfBase(t *testing.T) {
	t.Parallel()
	g := New(Settings{})
	if g.Base(schemaOf(t, `{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"boolean"}}}`)); g.work != 2 {
		t.Errorf("an object of two members is %d values of work", g.work)
	}
}

// The settings have values where they say nothing.
func TestSettings(t *testing.T) {
	t.Parallel()
	if g := New(Settings{}); g.FirstID != 1_000_000 || g.Enough != 50_000 {
		t.Errorf("without settings they are %d and %d", g.FirstID, g.Enough)
	}
	if g := New(Settings{FirstID: 7, Enough: 8}).ForTest("a test"); g.FirstID != 7 || g.Enough != 8 {
		t.Errorf("the settings are %d and %d", g.FirstID, g.Enough)
	}
}

// Schemas that are being worked on are counted, and after the work nothing is left of it.
func TestFollowed(t *testing.T) {
	t.Parallel()
	g := New(Settings{})
	one := schemaOf(t, `{"type":"string"}`)
	other := schemaOf(t, `{"type":"string"}`)
	var followed []bool
	for _, wanted := range []*schema.Schema{one, other, one, one} {
		followed = append(followed, g.enter(wanted), g.isRecursive())
	}
	if got := fmt.Sprint(followed); got != "[true false true false true true false true]" {
		t.Errorf("followed and recursive are %s", got)
	}
	held := g.held
	g.hold(other)
	if g.held == held || g.nesting != 4 {
		t.Errorf("%d schemas are followed", g.nesting)
	}
	g.leave(other)
	if g.held != held {
		t.Error("what was left is still held")
	}
	for _, wanted := range []*schema.Schema{one, one, other} {
		g.leave(wanted)
	}
	if g.held != 0 || g.nesting != 0 || g.isRecursive() {
		t.Errorf("after the work %d schemas are followed", g.nesting)
	}
	g.Variants(list(t))
	g.Base(list(t))
	if g.held != 0 || g.nesting != 0 || g.depth != 0 {
		t.Errorf("after the work %d schemas are followed, %d deep", g.nesting, g.depth)
	}
}

// The work begins anew with each schema.
func TestWorkBeginsAnew(t *testing.T) {
	t.Parallel()
	g := New(Settings{Enough: 40})
	wanted := schemaOf(t, `{"type":"object","properties":{"a":{"type":"boolean"}}}`)
	for range 50 {
		g.Base(wanted)
		g.Base(schemaOf(t, `{"type":"object","properties":{"b":{"type":"boolean"}}}`))
	}
	if g.TakeExhausted() {
		t.Error("small values are too much work")
	}
}

// What is not in the document is no part of a value.
func TestIsAbsent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"type":"string"}`:                                   false,
		`{"type":"string","readOnly":true}`:                   true,
		`{"type":"string","writeOnly":true}`:                  false,
		`{"allOf":[{"type":"string"},{"readOnly":true}]}`:     true,
		`{"$ref":"https://plants.example/schema.json#/Tree"}`: true,
	} {
		wanted := schemaOf(t, `{"properties":{"a":`+text+`}}`).Properties["a"]
		if got := New(Settings{}).IsAbsent(wanted); got != want {
			t.Errorf("%s is absent: %v", text, got)
		}
	}
}
