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
	all = removedMembers(old, now)
	for path, item := range old.Paths.Map() {
		for method, was := range item.Operations() {
			if is := operation(now, path, method); is != nil {
				all = append(all, changedScope(was, is)...)
				all = append(all, changedHeaders(was, is)...)
			}
		}
	}
	slices.Sort(all)
	return all
}

// removedMembers lists the members of enums that are gone.
func removedMembers(old, now *openapi3.T) (all []string) {
	for _, name := range enums {
		members := membersOf(now, name)
		for _, member := range membersOf(old, name) {
			if !slices.Contains(members, member) {
				all = append(all, fmt.Sprintf("enum-member-removed: %s has no %v any more", name, member))
			}
		}
	}
	return all
}

func membersOf(document *openapi3.T, name string) []any {
	schema := document.Components.Schemas[name]
	if schema == nil {
		return nil
	}
	return schema.Value.Enum
}

// operation returns an operation of a document, or nil.
func operation(document *openapi3.T, path, method string) *openapi3.Operation {
	item := document.Paths.Value(path)
	if item == nil {
		return nil
	}
	return item.GetOperation(method)
}

func changedScope(was, is *openapi3.Operation) []string {
	const extension = "x-required-scope"
	before, after := was.Extensions[extension], is.Extensions[extension]
	if before == nil || before == after {
		return nil
	}
	return []string{fmt.Sprintf("required-scope-changed: %s needed the scope %v and needs %v", was.OperationID, before, after)}
}

// changedHeaders lists the headers of responses that have other values.
func changedHeaders(was, is *openapi3.Operation) (all []string) {
	for status, response := range was.Responses.Map() {
		other := is.Responses.Value(status)
		if other == nil {
			continue
		}
		for name, header := range response.Value.Headers {
			before, after := valuesOf(header), valuesOf(other.Value.Headers[name])
			if after != "" && before != after {
				all = append(all, fmt.Sprintf("response-header-changed: %s, %s: %s had %s, and has %s", was.OperationID, status, name, before, after))
			}
		}
	}
	return all
}

// valuesOf says which values a header has. It is empty for no header.
func valuesOf(header *openapi3.HeaderRef) string {
	if header == nil {
		return ""
	}
	schema := header.Value.Schema.Value
	return fmt.Sprintf("the pattern %q and the values %v", schema.Pattern, schema.Enum)
}
