package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Summary writes what is wrong, with one request for each cause, what was inferred, what is
// not tested and why, and how much of each operation.
func (r Report) Summary(w io.Writer) {
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "%s\n\n", warning)
	}
	for _, cause := range r.Causes {
		fmt.Fprintf(w, "%s\n\n", cause)
	}
	for _, known := range r.Lost {
		fmt.Fprintf(w, "known, but not found this time: %s\n\n", known)
	}
	r.Overview(w)
}

// Overview writes the summary without the causes.
func (r Report) Overview(w io.Writer) {
	for _, sentence := range r.Inferred {
		fmt.Fprintf(w, "inferred: %s\n", sentence)
	}
	for _, sentence := range r.NotInferred {
		fmt.Fprintf(w, "not inferred: %s\n", sentence)
	}
	if len(r.Inferred)+len(r.NotInferred) > 0 {
		fmt.Fprintf(w, "correct it with Resources and Lists of the options\n%s\n", r.Stub)
	}
	r.writeNever(w)
	r.writeNotTested(w)
	r.writeOperations(w)
}

// mostNames is how many promises are named that are not tested for the same reason.
const mostNames = 5

// writeNotTested groups promises that are not tested by reason: one reason is often that of hundreds.
func (r Report) writeNotTested(w io.Writer) {
	notTested := map[string][]string{} // by reason
	for _, promise := range r.Promises {
		if promise.IsNotTested() {
			notTested[promise.Why] = append(notTested[promise.Why], promise.Name)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(notTested)) {
		names := notTested[why]
		fmt.Fprintf(w, "%d not tested: %s\n", len(names), why)
		for _, name := range names[:min(len(names), mostNames)] {
			fmt.Fprintf(w, "  %s\n", name)
		}
		if more := len(names) - mostNames; more > 0 {
			fmt.Fprintf(w, "  and %d more\n", more)
		}
		fmt.Fprintln(w)
	}
}

// writeOperations writes what became of each operation, in a line each.
func (r Report) writeOperations(w io.Writer) {
	const document = "the document"
	width := len(document)
	for _, g := range r.groups {
		width = max(width, len(g.Name))
	}
	for _, g := range r.groups {
		fmt.Fprintf(w, "%-*s %s\n", width, g.Name, g.Count)
	}
	fmt.Fprintf(w, "%-*s %s of %d promises\n%s\n", width, document, r.Count, r.All(), r.Reached)
}

// Text writes the report for people: first the summary, then every promise with the test that
// has shown it.
func (r Report) Text(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s: what the document promises\n\n", r.Title, r.Version)
	r.Summary(&text)
	for _, g := range r.groups {
		fmt.Fprintf(&text, "\n%s (%s)\n", g.Name, g.Summary)
		for promise := range g.promises {
			why, _, _ := strings.Cut(promise.Why, "\n")
			fmt.Fprintf(&text, "  %-8s %s (%s)\n", promise.State, promise.Name, why)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// promises yields the promises of a group, kind by kind.
func (g *group) promises(yield func(Promise) bool) {
	for _, k := range g.Kinds {
		for _, promise := range k.Cells {
			if !yield(promise) {
				return
			}
		}
	}
}
