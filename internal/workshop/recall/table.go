package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// judgement is what the tools make of one fault.
type judgement struct {
	server
	by map[string]string // the failure by which a tool finds it; empty: missed
}

// judge compares what a tool reports on a wrong server with what it reports on the right one of the same set.
func judge(servers []server, with []tool, results []result) (all []judgement) {
	for _, one := range servers {
		if one.fault == "" {
			continue
		}
		judged := judgement{server: one, by: map[string]string{}}
		for _, tool := range with {
			alarms := falseAlarms(results, tool.name, one.name)
			for _, failure := range failuresOn(results, tool.name, one) {
				if !slices.Contains(alarms, failure) && judged.by[tool.name] == "" {
					judged.by[tool.name] = failure
				}
			}
		}
		all = append(all, judged)
	}
	return all
}

// failuresOn is what a tool reports on a wrong server.
func failuresOn(results []result, toolName string, one server) []string {
	for _, got := range results {
		if got.tool == toolName && got.server.title() == one.title() {
			return got.Failures
		}
	}
	return nil
}

// falseAlarms is what a tool reports on the right server of a set, in any run, or on those of all sets.
func falseAlarms(results []result, toolName, setName string) (alarms []string) {
	for _, got := range results {
		isOfSet := setName == "" || got.server.name == setName
		if got.tool == toolName && got.server.fault == "" && isOfSet {
			for _, failure := range got.Failures {
				alarms = append(alarms, got.server.name+": "+failure)
			}
		}
	}
	slices.Sort(alarms)
	alarms = slices.Compact(alarms)
	if setName != "" {
		for i := range alarms {
			alarms[i] = strings.TrimPrefix(alarms[i], setName+": ")
		}
	}
	return alarms
}

// writeFaults writes a line for each fault, with the failure by which each tool finds it.
func writeFaults(to io.Writer, judgements []judgement, with []tool) {
	for _, one := range judgements {
		fmt.Fprintf(to, "%s: %s: %s\n", one.name, one.fault, one.breaks)
		for _, tool := range with {
			by := one.by[tool.name]
			if by == "" {
				by = "MISSED"
			}
			fmt.Fprintf(to, "    %-13s %s\n", tool.name, by)
		}
	}
}

// writeTable writes the table of the guide, and the false alarms.
func writeTable(to io.Writer, judgements []judgement, chosen settings, results []result) {
	for _, with := range chosen.tools {
		for _, alarm := range falseAlarms(results, with.name, "") {
			fmt.Fprintf(to, "false alarm of %s on %s\n", with.name, alarm)
		}
	}
	fmt.Fprintf(to, "\nFound in at most %s for each server, on %s, %d processors:\n\n", chosen.limit, time.Now().Format(time.DateOnly), runtime.NumCPU())
	header, rule := "| faults | |", "|---|---|"
	for _, with := range chosen.tools {
		header += fmt.Sprintf(" %s %s |", with.name, with.version())
		rule += "---|"
	}
	fmt.Fprintf(to, "%s\n%s\n", header, rule)
	var groups []string
	for _, one := range judgements {
		if !slices.Contains(groups, one.group) {
			groups = append(groups, one.group)
		}
	}
	for _, group := range append(groups, "") {
		writeRow(to, group, judgements, chosen.tools)
	}
	alarms, seconds := "| reported on right servers | |", "| seconds for a server, median | |"
	for _, with := range chosen.tools {
		alarms += fmt.Sprintf(" %d |", len(falseAlarms(results, with.name, "")))
		seconds += fmt.Sprintf(" %.1f |", medianSeconds(results, with.name))
	}
	fmt.Fprintf(to, "%s\n%s\n", alarms, seconds)
}

// writeRow writes how many faults of a group each tool finds, or of all groups.
func writeRow(to io.Writer, group string, judgements []judgement, with []tool) {
	all, found := 0, map[string]int{}
	for _, one := range judgements {
		if group != "" && one.group != group {
			continue
		}
		all++
		for name, by := range one.by {
			if by != "" {
				found[name]++
			}
		}
	}
	if group == "" {
		group = "all"
	}
	fmt.Fprintf(to, "| %s | %d |", group, all)
	for _, tool := range with {
		fmt.Fprintf(to, " %d |", found[tool.name])
	}
	fmt.Fprintln(to)
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
