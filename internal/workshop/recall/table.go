package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// judgement is what the tools make of one fault.
type judgement struct {
	server
	by map[string]map[int]string // tool, seed: the failure by which it is found; empty: missed
}

// judge compares what a tool reports on a wrong server with what it reports on the right one of the same set.
func judge(results []result) (all []judgement) {
	byFault := map[string]judgement{}
	for _, got := range results {
		on := got.server
		if on.fault == "" {
			continue
		}
		name := on.name + ": " + on.fault
		if _, exists := byFault[name]; !exists {
			byFault[name] = judgement{server: on, by: map[string]map[int]string{}}
		}
		by := byFault[name].by
		if by[got.tool] == nil {
			by[got.tool] = map[int]string{}
		}
		by[got.tool][on.seed] = firstNew(got.Failures, falseAlarms(results, got.tool, on.name))
	}
	inOrder := func(a, b judgement) int {
		return cmp.Or(cmp.Compare(a.position(), b.position()), cmp.Compare(a.fault, b.fault))
	}
	return slices.SortedFunc(maps.Values(byFault), inOrder)
}

func firstNew(failures, alarms []string) string {
	for _, failure := range failures {
		if !slices.Contains(alarms, failure) {
			return failure
		}
	}
	return ""
}

// position is that of the set in sets.
func (s set) position() int {
	return slices.IndexFunc(sets, func(one set) bool { return one.name == s.name })
}

// falseAlarms is what a tool reports on the right server of a set, in any run.
func falseAlarms(results []result, toolName, setName string) (alarms []string) {
	for _, got := range results {
		if got.tool == toolName && got.server.name == setName && got.server.fault == "" {
			alarms = append(alarms, got.Failures...)
		}
	}
	slices.Sort(alarms)
	return slices.Compact(alarms)
}

// writeFaults writes a line for each fault, and for each tool with how many seeds it finds it, and by which failure.
func writeFaults(to io.Writer, judgements []judgement, with []tool) {
	for _, one := range judgements {
		fmt.Fprintf(to, "%s: %s: %s\n", one.name, one.fault, one.breaks)
		for _, tool := range with {
			by := slices.Sorted(maps.Values(one.by[tool.name]))
			found := slices.DeleteFunc(slices.Clone(by), func(failure string) bool { return failure == "" })
			if len(by) == 0 {
				continue
			}
			text := "MISSED"
			if len(found) > 0 {
				text = found[len(found)-1]
			}
			fmt.Fprintf(to, "    %-22s %d of %d: %s\n", tool.name, len(found), len(by), text)
		}
	}
}

// writeTable writes the table of the guide, and the false alarms.
func writeTable(to io.Writer, judgements []judgement, chosen settings, results []result) {
	for _, with := range chosen.tools {
		for _, one := range sets {
			for _, alarm := range falseAlarms(results, with.name, one.name) {
				fmt.Fprintf(to, "false alarm of %s on %s: %s\n", with.name, one.name, alarm)
			}
		}
	}
	fmt.Fprintf(to, "\nFound in at most %s for each server (%s by default), on %s, %d processors.\nMedian of the seeds, and the range:\n\n",
		chosen.limit, mostByDefault, time.Now().Format(time.DateOnly), runtime.NumCPU())
	header, rule := "| faults | | contracttest at first |", "|---|---|---|"
	for _, with := range chosen.tools {
		header += fmt.Sprintf(" %s %s |", with.name, versions(results, with.name))
		rule += "---|"
	}
	fmt.Fprintf(to, "%s\n%s\n", header, rule)
	for _, isFrozen := range []bool{true, false} {
		ofSection := slices.DeleteFunc(slices.Clone(judgements), func(one judgement) bool { return one.isFrozen() != isFrozen })
		if len(ofSection) > 0 {
			writeSection(to, ofSection, chosen.tools, results)
		}
	}
	seconds := "| seconds for a server, median | | |"
	for _, with := range chosen.tools {
		seconds += fmt.Sprintf(" %.1f |", medianSeconds(results, with.name))
	}
	fmt.Fprintln(to, seconds)
}

// writeSection writes the rows of the sets that are frozen, or of the others.
func writeSection(to io.Writer, judgements []judgement, with []tool, results []result) {
	title, all := "what the engine was changed for", "all of these"
	if judgements[0].isFrozen() {
		title, all = "frozen before any tool ran on them", "all that were frozen"
	}
	fmt.Fprintf(to, "| **%s** | | |%s\n", title, strings.Repeat(" |", len(with)))
	var groups []string
	for _, one := range judgements {
		if name := one.row(); !slices.Contains(groups, name) {
			groups = append(groups, name)
			writeRow(to, name, slices.DeleteFunc(slices.Clone(judgements), func(other judgement) bool { return other.row() != name }), with)
		}
	}
	writeRow(to, all, judgements, with)
	right := "| reported on their right servers | | |"
	for _, tool := range with {
		reported := 0
		for _, one := range sets {
			if slices.ContainsFunc(judgements, func(other judgement) bool { return other.name == one.name }) {
				reported += len(falseAlarms(results, tool.name, one.name))
			}
		}
		right += fmt.Sprintf(" %d |", reported)
	}
	fmt.Fprintln(to, right)
}

// row is the name of the row of a fault.
func (s server) row() string {
	if s.isFrozen() {
		return s.group + ", frozen at " + s.frozenAt
	}
	return s.group
}

// writeRow writes how many of some faults each tool finds.
func writeRow(to io.Writer, name string, judgements []judgement, with []tool) {
	group, _, _ := strings.Cut(name, ", frozen at ")
	fmt.Fprintf(to, "| %s | %d | %s |", name, len(judgements), firstResults[group])
	for _, tool := range with {
		fmt.Fprintf(to, " %s |", found(judgements, tool.name))
	}
	fmt.Fprintln(to)
}

// found is the median of how many faults a tool finds with one seed, the range if there is one, and of how many if it did
// not run on all of them. Seeds with which it ran on fewer faults than with another one do not count.
func found(judgements []judgement, toolName string) string {
	finds, runs := map[int]int{}, map[int]int{} // by seed
	for _, one := range judgements {
		for seed, by := range one.by[toolName] {
			finds[seed] += min(len(by), 1)
			runs[seed]++
		}
	}
	if len(runs) == 0 {
		return ""
	}
	most := slices.Max(slices.Collect(maps.Values(runs)))
	maps.DeleteFunc(finds, func(seed, _ int) bool { return runs[seed] < most })
	inOrder := slices.Sorted(maps.Values(finds))
	text := strconv.Itoa(inOrder[len(inOrder)/2])
	if least, most := inOrder[0], inOrder[len(inOrder)-1]; least != most {
		text += fmt.Sprintf(" (%d–%d)", least, most)
	}
	if most < len(judgements) {
		text += fmt.Sprintf(" of %d", most)
	}
	return text
}

// versions are those of the runs of a tool.
func versions(results []result, toolName string) string {
	var all []string
	for _, got := range results {
		if got.tool == toolName && !slices.Contains(all, got.Version) {
			all = append(all, got.Version)
		}
	}
	return strings.Join(all, ", ")
}

func medianSeconds(results []result, toolName string) float64 {
	var all []float64
	for _, got := range results {
		if got.tool == toolName {
			all = append(all, got.Seconds)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}
