package main

import (
	"cmp"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/plantstore/plantstore/api/contracttest"
)

// writeForGitHub writes the causes as errors at the operations of the document, which a pull request shows, and adds them to the
// summary of the job.
func writeForGitHub(w io.Writer, report contracttest.Report, document string, text []byte) error {
	if isURL(document) {
		document = ""
	}
	lines := operationLines(text)
	if err := report.Annotations(w, document, func(operation string) int { return lines[operation] }); err != nil {
		return err
	}
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	summary, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer summary.Close()
	if err := report.Markdown(summary); err != nil {
		return err
	}
	return summary.Close()
}

// operationLines returns the line in which each operation begins, by its operationId, or by "GET /things" if it has none. An
// operation in another file has no line. The document has been read before, so that it is YAML.
func operationLines(text []byte) map[string]int {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil || len(root.Content) == 0 {
		return nil
	}
	lines := map[string]int{}
	for path, item := range membersOf(member(root.Content[0], "paths")) {
		for method, operation := range membersOf(item) {
			name := strings.ToUpper(method.Value) + " " + path.Value
			if id := member(operation, "operationId"); id != nil {
				name = cmp.Or(id.Value, name)
			}
			lines[name] = method.Line
		}
	}
	return lines
}

// membersOf yields the keys and values of a mapping, and nothing of another node.
func membersOf(node *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		if node == nil || node.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if !yield(node.Content[i], node.Content[i+1]) {
				return
			}
		}
	}
}

// member returns a member of a mapping, or nil.
func member(node *yaml.Node, name string) *yaml.Node {
	for key, value := range membersOf(node) {
		if key.Value == name {
			return value
		}
	}
	return nil
}
