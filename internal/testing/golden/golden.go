// Package golden compares texts with files of testdata. The flag -update writes the files anew: their difference shows
// what a change of the program does.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the files of testdata anew that tests compare texts with")

// Compare ends the test unless a text is that of a file.
func Compare(t testing.TB, path, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text == string(file) {
		return
	}
	got := strings.Split(text, "\n")
	want := strings.Split(string(file), "\n")
	first := 0
	for first < min(len(got), len(want)) && got[first] == want[first] {
		first++
	}
	t.Fatalf("line %d of %s is\n%s\nwant\n%s", first+1, path, lineOf(got, first), lineOf(want, first))
}

// lineOf is a line, or what stands for the end.
func lineOf(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}
