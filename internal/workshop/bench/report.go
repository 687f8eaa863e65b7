package main

import (
	"fmt"
	"io"
	"strings"
)

// report prints the measurements as Markdown that is also readable as text.
func report(w io.Writer, m machine, s settings, results []result) {
	fmt.Fprintf(w, "%s, %s, %d cores, %s; a sync of the disk takes %.0f µs\n%s\n",
		m.Date, m.CPU, m.Cores, m.Kernel, m.Sync, strings.Join(m.Versions, ", "))
	fmt.Fprintf(w, "server on one core, load on another; rounds: %d, of %v each; what is printed is the median\n\n", s.rounds, s.duration)

	rows := [][]string{{"", "measured", "from – to"}}
	for _, c := range show(results) {
		rows = append(rows, []string{c.What, "**" + ratio(c.Median) + "**", ratio(c.Least) + " – " + ratio(c.Most)})
	}
	table(w, rows)

	rows = [][]string{{"over loopback", "peer", "clients", "requests/s", "CPU s per 100,000", "p50 ms", "p99 ms", "resident MiB", "server busy", "load busy"}}
	for _, r := range runs {
		if r.Clients == 0 {
			continue
		}
		of := func(measure func(Measurement) float64) float64 { return medianOf(results, r, measure) }
		rows = append(rows, []string{
			r.Load, "`" + r.Peer + "`", fmt.Sprint(r.Clients), fmt.Sprintf("%.0f", of(requests)), fmt.Sprintf("%.2f", of(cpu)),
			fmt.Sprintf("%.2f", of(func(m Measurement) float64 { return m.P50 })), fmt.Sprintf("%.2f", of(func(m Measurement) float64 { return m.P99 })),
			fmt.Sprintf("%.0f", of(func(m Measurement) float64 { return m.Resident })), fmt.Sprintf("%.0f %%", of(busy)*100), fmt.Sprintf("%.0f %%", of(loadBusy)*100),
		})
	}
	table(w, rows)

	rows = [][]string{{"in process", "peer", "CPU ns", "allocations"}}
	for _, r := range runs {
		if r.Clients == 0 {
			ns := medianOf(results, r, func(m Measurement) float64 { return m.InProcess })
			rows = append(rows, []string{r.Load, "`" + r.Peer + "`", fmt.Sprintf("%.0f", ns), fmt.Sprintf("%.0f", medianOf(results, r, allocations))})
		}
	}
	table(w, rows)

	for _, r := range runs {
		if r.Clients > 0 && inMemory(r) && medianOf(results, r, busy) < saturated {
			reason := "the machine was"
			if medianOf(results, r, loadBusy) >= saturated {
				reason = "the load was"
			}
			fmt.Fprintf(w, "%s: the server was not the bottleneck; %s too busy.\n", r, reason)
		}
	}
}

// saturated is the share of its core that a server in memory uses at least if it is
// the bottleneck.
const saturated = 0.95

func inMemory(r run) bool { return r.Peer != durable && r.Peer != plain && r.Peer != pocketbase }

func busy(m Measurement) float64     { return m.Busy }
func loadBusy(m Measurement) float64 { return m.LoadBusy }

func medianOf(results []result, r run, measure func(Measurement) float64) float64 {
	var values []float64
	for _, m := range measured(results, r) {
		values = append(values, measure(m))
	}
	return median(values)
}

// table prints rows, the first of them the heading, in columns.
func table(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for n, row := range rows {
		for i, cell := range row {
			fmt.Fprintf(w, "| %s%s ", cell, strings.Repeat(" ", widths[i]-len([]rune(cell))))
		}
		fmt.Fprintln(w, "|")
		if n == 0 {
			for _, width := range widths {
				fmt.Fprintf(w, "|%s", strings.Repeat("-", width+2))
			}
			fmt.Fprintln(w, "|")
		}
	}
	fmt.Fprintln(w)
}
