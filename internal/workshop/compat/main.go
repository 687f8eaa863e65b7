// Compat fails if a document takes away a promise that oasdiff does not compare:
// a required scope, an error code, or the pattern of a response header.
//
//	go run ./compat ../../api/seed.yaml ../../api/openapi.yaml
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("compat: two documents are needed, the old one first")
	}
	var docs [2]*openapi3.T
	for i, path := range args {
		var err error
		if docs[i], err = openapi3.NewLoader().LoadFromFile(path); err != nil {
			return fmt.Errorf("compat: %s: %w", path, err)
		}
	}
	var all []error
	for _, change := range changes(docs[0], docs[1]) {
		all = append(all, errors.New("compat: "+change))
	}
	return errors.Join(all...)
}

// enums are schemas that no operation refers to and whose members are promises.
var enums = []string{"ErrorCode", "Scope"}

// changes lists what clients of the old document lose. What oasdiff finds, such
// as an operation that is gone, is left to it.
func changes(old, now *openapi3.T) (all []string) {
	report := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, name := range enums {
		was, is := old.Components.Schemas[name], now.Components.Schemas[name]
		if was == nil {
			continue
		}
		for _, member := range was.Value.Enum {
			if is == nil || !slices.Contains(is.Value.Enum, member) {
				report("enum-member-removed: %s has no %v any more", name, member)
			}
		}
	}
	for path, item := range old.Paths.Map() {
		for method, was := range item.Operations() {
			if now.Paths.Value(path) == nil || now.Paths.Value(path).GetOperation(method) == nil {
				continue
			}
			is := now.Paths.Value(path).GetOperation(method)
			if a, b := was.Extensions["x-required-scope"], is.Extensions["x-required-scope"]; a != nil && a != b {
				report("required-scope-changed: %s needed the scope %v and needs %v", was.OperationID, a, b)
			}
			for status, response := range was.Responses.Map() {
				if is.Responses.Value(status) == nil {
					continue
				}
				for name, header := range response.Value.Headers {
					other := is.Responses.Value(status).Value.Headers[name]
					if other == nil {
						continue
					}
					if a, b := header.Value.Schema.Value, other.Value.Schema.Value; a.Pattern != b.Pattern || !slices.Equal(a.Enum, b.Enum) {
						report("response-header-changed: %s, %s: %s had the pattern %q and the values %v, and has %q and %v",
							was.OperationID, status, name, a.Pattern, a.Enum, b.Pattern, b.Enum)
					}
				}
			}
		}
	}
	slices.Sort(all)
	return all
}
