package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mutant is one change of a service.
type mutant struct {
	service, id, file string
	line, column      int
	operator          string
	before, after     string
	verdict           string // kept, equivalent or broken
	note              string // what the change does, or why it is not kept
}

//go:embed mutants.tsv
var listed string

const fields = 9

func (m mutant) String() string {
	return strings.Join([]string{
		m.id, m.file, strconv.Itoa(m.line), strconv.Itoa(m.column), m.operator, m.before, m.after, m.verdict, m.note,
	}, "\t")
}

// binary is the name of the file of a mutant, or of the service as it is. It has another name when the change is another one.
func (m mutant) binary(of service) string {
	if m.id == "" {
		return of.name + ".right.mutant"
	}
	hash := fnv.New32a()
	_, _ = fmt.Fprint(hash, m.file, m.line, m.column, m.after) // it never fails
	return fmt.Sprintf("%s.%08x.mutant", m.id, hash.Sum32())
}

func (m mutant) isKept() bool { return m.verdict == "kept" }

// isSame says that both change the same token into the same one.
func (m mutant) isSame(other mutant) bool {
	return m.file == other.file && m.line == other.line && m.column == other.column && m.after == other.after
}

func (m mutant) compare(other mutant) int {
	return cmp.Or(cmp.Compare(m.file, other.file), cmp.Compare(m.line, other.line), cmp.Compare(m.column, other.column), cmp.Compare(m.operator, other.operator))
}

// readMutants reads mutants.tsv. A line that begins with # is a comment.
func readMutants() (all []mutant, err error) {
	for line := range strings.Lines(listed) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "\t")
		if len(parts) != fields {
			return nil, fmt.Errorf("mutants.tsv: want %d fields, got %d: %s", fields, len(parts), line)
		}
		one := mutant{id: parts[0], file: parts[1], operator: parts[4], before: parts[5], after: parts[6], verdict: parts[7], note: parts[8]}
		one.service, _, _ = strings.Cut(one.id, "-")
		var problems [2]error
		one.line, problems[0] = strconv.Atoi(parts[2])
		one.column, problems[1] = strconv.Atoi(parts[3])
		if err := errors.Join(problems[:]...); err != nil {
			return nil, fmt.Errorf("mutants.tsv: %s: %w", one.id, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// build builds a service and its mutants into a folder, and writes the document there.
func build(folder string, of service, mutants []mutant, all bool) error {
	copied, err := copyModule(of.module, folder)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(copied.source))
	if err := writeDocument(of, copied.source, folder); err != nil {
		return err
	}
	problems := []error{copied.compile(of, folder, mutant{}, "{}")}
	for _, one := range mutants {
		if !one.isKept() && !all {
			continue
		}
		overlay, err := one.overlay(copied.source, folder)
		if err != nil {
			return err
		}
		problems = append(problems, copied.compile(of, folder, one, overlay))
	}
	return errors.Join(problems...)
}

// overlay writes the changed file, and returns the text that makes the go command read it.
func (m mutant) overlay(module, folder string) (string, error) {
	original := filepath.Join(module, m.file)
	code, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	at := offset(code, m.line, m.column)
	if !bytes.HasPrefix(code[at:], []byte(m.before)) {
		return "", fmt.Errorf("%s: %s:%d:%d has no %s", m.id, m.file, m.line, m.column, m.before)
	}
	changed := string(code[:at]) + m.after + string(code[at+len(m.before):])
	file := filepath.Join(folder, m.id+".go")
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: file}})
	return string(overlay), err
}

// offset is the place of a line and a column, which begin at 1.
func offset(code []byte, line, column int) int {
	at := 0
	for range line - 1 {
		at += bytes.IndexByte(code[at:], '\n') + 1
	}
	return at + column - 1
}
