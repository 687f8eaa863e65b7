package main

import (
	"fmt"
	"slices"
)

// comparison is a ratio of two runs, or a number of one.
type comparison struct {
	what     string
	of, over run // over is the zero run: the measurement of the first itself
	measure  func(Measurement) float64
}

func requests(m Measurement) float64    { return m.Requests }
func cpu(m Measurement) float64         { return m.CPU }
func speed(m Measurement) float64       { return 1 / m.InProcess }
func allocations(m Measurement) float64 { return m.InAllocations }

// comparisons are the rows of the table in README.md.
var comparisons = []comparison{
	{what: "POST /plants in memory, requests/s over `floor`", of: run{ours, create, 64}, over: run{floor, create, 64}, measure: requests},
	{what: "the same, CPU over `floor`", of: run{ours, create, 64}, over: run{floor, create, 64}, measure: cpu},
	{what: "POST /plants in memory, requests/s over `stock`", of: run{ours, create, 64}, over: run{stock, create, 64}, measure: requests},
	{what: "the same in process, speed over `stock`", of: run{ours, create, 0}, over: run{stock, create, 0}, measure: speed},
	{what: "the same in process, allocations", of: run{ours, create, 0}, measure: allocations},
	{what: "POST /plants in memory, requests/s over `ogen`", of: run{ours, create, 64}, over: run{ogen, create, 64}, measure: requests},
	{what: "GET /plants/{id} in memory, requests/s over `floor`", of: run{ours, get, 64}, over: run{floor, get, 64}, measure: requests},
	{what: "GET /plants?limit=100 in memory, requests/s over `floor`", of: run{ours, list, 64}, over: run{floor, list, 64}, measure: requests},
	{what: "POST /plants durable, 64 clients, requests/s over `pocketbase`", of: run{durable, create, 64}, over: run{pocketbase, create, 64}, measure: requests},
	{what: "POST /plants durable, 1 client, requests/s over `plain`", of: run{durable, create, 1}, over: run{plain, create, 1}, measure: requests},
	{what: "POST /plants durable, 64 clients, requests/s over `plain`", of: run{durable, create, 64}, over: run{plain, create, 64}, measure: requests},
	{what: "POST /plants durable over in memory, 64 clients", of: run{durable, create, 64}, over: run{ours, create, 64}, measure: requests},
	{what: "POST /plants durable over in memory, 256 clients", of: run{durable, create, 256}, over: run{ours, create, 256}, measure: requests},
}

// shown is the result of a comparison. Each round has its own ratio, because the
// conditions on the machine are most similar within one round.
type shown struct {
	What   string  `json:"what"`
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

func show(results []result) (all []shown) {
	for _, c := range comparisons {
		of, over := measured(results, c.of), measured(results, c.over)
		var ratios []float64
		for i := range of {
			ratio := c.measure(of[i])
			if c.over != (run{}) {
				ratio /= c.measure(over[i])
			}
			ratios = append(ratios, ratio)
		}
		all = append(all, shown{What: c.what, Median: median(ratios), Least: slices.Min(ratios), Most: slices.Max(ratios)})
	}
	return all
}

// measured returns the measurements of a run, one of each round.
func measured(results []result, r run) (all []Measurement) {
	for _, result := range results {
		if result.Run == r {
			all = append(all, result.Measurement)
		}
	}
	return all
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2
	}
	return values[middle]
}

// ratio formats a ratio, or a number of allocations, with its significant digits.
func ratio(value float64) string {
	if value >= 10 {
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.2f", value)
}
