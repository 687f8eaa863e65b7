package storebench

import (
	"fmt"
	"os"
	"text/tabwriter"
)

// Table collects measured values, their bounds and aims.
type Table struct{ lines [][4]string }

// Line adds a line.
func (t *Table) Line(what, measured, bound, aim string) {
	t.lines = append(t.lines, [4]string{what, measured, bound, aim})
}

// Print prints the table.
func (t *Table) Print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\n\tmeasured\tbound\taim")
	for _, l := range t.lines {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l[0], l[1], l[2], l[3])
	}
	_ = w.Flush()
}
