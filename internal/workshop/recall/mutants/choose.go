package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// seed of the draw.
const seed = 67

// operators are what gremlins replaces by what. A name is in its report.
var operators = map[string]map[string]string{
	"ARITHMETIC_BASE":         {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*"},
	"CONDITIONALS_BOUNDARY":   {">=": ">", ">": ">=", "<=": "<", "<": "<="},
	"CONDITIONALS_NEGATION":   {"==": "!=", "!=": "==", ">=": "<", "<": ">=", ">": "<=", "<=": ">"},
	"INCREMENT_DECREMENT":     {"++": "--", "--": "++"},
	"INVERT_ASSIGNMENTS":      {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="},
	"INVERT_BITWISE":          {"&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<"},
	"INVERT_BWASSIGN":         {"&=": "|=", "|=": "&=", "^=": "&="},
	"INVERT_LOGICAL":          {"&&": "||", "||": "&&"},
	"INVERT_LOOPCTRL":         {"break": "continue", "continue": "break"},
	"INVERT_NEGATIVES":        {"-": "+"},
	"REMOVE_SELF_ASSIGNMENTS": {"+=": "=", "-=": "=", "*=": "=", "/=": "=", "|=": "=", "&=": "="},
}

// choose draws mutants of each pool.
func choose(to io.Writer) error {
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	random := rand.New(rand.NewPCG(seed, seed))
	for _, one := range services {
		number := 0
		for _, from := range one.files {
			all, err := gremlins(one, from, folder)
			if err != nil {
				return err
			}
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			fmt.Fprintf(to, "# %s: %d of %d mutants of %s\n", one.name, min(from.draw, len(all)), len(all), from.folder)
			for _, drawn := range all[:min(from.draw, len(all))] {
				number++
				drawn.id = fmt.Sprintf("%s-%02d", one.name, number)
				fmt.Fprintln(to, drawn)
			}
		}
	}
	return nil
}

// gremlins are all mutants of the files of a pool, in their order, once each.
func gremlins(of service, from pool, folder string) (all []mutant, err error) {
	module, err := moduleFolder(of.module)
	if err != nil {
		return nil, err
	}
	reported, err := reportOfGremlins(module, from.folder, folder)
	if err != nil {
		return nil, err
	}
	for _, file := range from.files {
		name := filepath.Join(from.folder, file)
		code, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return nil, err
		}
		for _, one := range reported[file] {
			made := mutant{service: of.name, file: name, line: one.Line, column: one.Column, operator: one.Type}
			made.before, made.after = replacement(code, made)
			if made.after == "" {
				return nil, fmt.Errorf("%s:%d:%d: %s replaces nothing", name, one.Line, one.Column, one.Type)
			}
			if !slices.ContainsFunc(all, made.isSame) { // - is replaced by two operators
				all = append(all, made)
			}
		}
	}
	slices.SortFunc(all, mutant.compare)
	return all, nil
}

// replacement is the token at a position, and what the operator replaces it by.
func replacement(code []byte, at mutant) (before, after string) {
	rest := string(code[offset(code, at.line, at.column):])
	for token, by := range operators[at.operator] {
		if strings.HasPrefix(rest, token) && len(token) > len(before) {
			before, after = token, by
		}
	}
	return before, after
}

// mutation is what the report of gremlins says of one mutant.
type mutation struct {
	Type         string
	Line, Column int
}

// reportOfGremlins runs gremlins on a copy of a module without tests: it would run them first, and none is needed to
// list mutants. The result has them by the names of files below the folder of the pool.
func reportOfGremlins(module, pool, folder string) (map[string][]mutation, error) {
	work, err := os.MkdirTemp(folder, "copy")
	if err != nil {
		return nil, err
	}
	tool, err := output(exec.Command("go", "-C", pins, "tool", "-n", "gremlins"))
	if err != nil {
		return nil, err
	}
	for _, command := range [][]string{
		{"cp", "-r", module + "/.", work},
		{"chmod", "-R", "u+w", work},
		{"find", work, "-name", "*_test.go", "-delete"},
	} {
		if _, err := output(exec.Command(command[0], command[1:]...)); err != nil {
			return nil, err
		}
	}
	report := filepath.Join(work, "report.json")
	run := exec.Command(tool, "unleash", "--dry-run", "--invert-assignments", "--invert-bitwise", "--invert-bwassign",
		"--invert-logical", "--invert-loopctrl", "--remove-self-assignments", "--output", report, "./"+pool)
	run.Dir = work
	if _, err := output(run); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	var read struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []mutation
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, err
	}
	found := map[string][]mutation{}
	for _, file := range read.Files {
		found[file.Name] = file.Mutations
	}
	return found, nil
}
