package contracttest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/report"
)

// coverageVariable names the directory to which each process appends what it reaches first, as GOCOVERDIR does.
const coverageVariable = "CONTRACT_COVERAGE"

// place is an operation, or one of its documented statuses.
type place struct {
	operation *document.Operation
	key       string // of the status; empty: the operation itself
}

// name is the name of a place: that of a generated test, or the operation.
func (p place) name() string {
	if p.key == "" {
		return p.operation.ID
	}
	return report.Name(plan.ResponsePromise(p.operation, p.key))
}

// noteReached notes the operation and the status that a response has reached, and appends what is new to the file of the process.
func (c *Contract) noteReached(x Interaction) {
	operation := c.document.Serving(x.Method, x.Path)
	if operation == nil {
		return
	}
	key, _ := operation.ResponseAs(x.Status)
	for _, at := range []place{{operation, ""}, {operation, key}} {
		if _, isKnown := c.reached.LoadOrStore(at, true); !isKnown {
			appendReached(at.name())
		}
	}
}

// appendReached appends a name to the file of the process, if there is one.
func appendReached(name string) {
	file, err := coverageFile()
	if file != nil {
		_, err = file.WriteString(name + "\n")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "contract: %s: %v\n", coverageVariable, err)
	}
}

// coverageFile is the file of the process, or nil: without CONTRACT_COVERAGE, or with an error. It stays open as long as the
// process runs.
var coverageFile = sync.OnceValues(func() (*os.File, error) {
	folder := os.Getenv(coverageVariable)
	if folder == "" {
		return nil, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	return os.CreateTemp(folder, "reached.*")
})

// Coverage is how much of a document tests have reached.
type Coverage struct {
	Operations, ReachedOperations int
	// Statuses that the document has, for each operation. 500 is one for all of them.
	Statuses, ReachedStatuses int
	// Unreached are the operations, and the statuses of the others, by the names that generated tests have.
	Unreached []string
}

// Coverage returns how much of the document the tests of this process have reached.
func (c *Contract) Coverage() Coverage {
	reached := map[string]bool{}
	for at := range c.reached.Range {
		reached[at.(place).name()] = true
	}
	return c.coverage(reached)
}

// ReadCoverage returns how much of the document the processes have reached whose environment had CONTRACT_COVERAGE=folder.
func (c *Contract) ReadCoverage(folder string) (Coverage, error) {
	names, err := filepath.Glob(filepath.Join(folder, "reached.*"))
	if err != nil || len(names) == 0 {
		return Coverage{}, fmt.Errorf("%s has no files of coverage: run the tests with %s=%s", folder, coverageVariable, folder)
	}
	reached := map[string]bool{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return Coverage{}, err
		}
		for line := range strings.Lines(string(text)) {
			reached[strings.TrimSuffix(line, "\n")] = true
		}
	}
	return c.coverage(reached), nil
}

// coverage compares the document with the names of places that were reached.
func (c *Contract) coverage(reached map[string]bool) (made Coverage) {
	isOfReached := map[string]bool{} // by name of a status: an operation that has it was reached
	made.Operations = len(c.document.Operations)
	for _, operation := range c.document.Operations {
		isReached := reached[operation.ID]
		if isReached {
			made.ReachedOperations++
		} else {
			made.Unreached = append(made.Unreached, operation.ID)
		}
		for _, key := range operation.Statuses() {
			name := place{operation, key}.name()
			isOfReached[name] = isOfReached[name] || isReached
		}
	}
	made.Statuses = len(isOfReached)
	for name, isListed := range isOfReached {
		if reached[name] {
			made.ReachedStatuses++
		} else if isListed {
			made.Unreached = append(made.Unreached, name)
		}
	}
	slices.Sort(made.Unreached)
	return made
}

// Percent is how many of a hundred operations were reached.
func (c Coverage) Percent() int {
	return 100 * c.ReachedOperations / max(c.Operations, 1)
}

// Text is the coverage with so many names at most of what was not reached, and a separator between them.
func (c Coverage) Text(most int, separator string) string {
	text := fmt.Sprintf("%d of %d operations, %d of %d documented statuses",
		c.ReachedOperations, c.Operations, c.ReachedStatuses, c.Statuses)
	if len(c.Unreached) == 0 {
		return text
	}
	text += "; these were not: " + strings.Join(c.Unreached[:min(len(c.Unreached), most)], separator)
	if more := len(c.Unreached) - most; more > 0 {
		text += fmt.Sprintf("%sand %d more", separator, more)
	}
	return text
}

// String is the coverage with every name, each but the first one in a line of its own.
func (c Coverage) String() string { return c.Text(len(c.Unreached), "\n  ") }
