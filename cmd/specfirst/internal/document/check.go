package document

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// lineOfSyntax finds the line in a message of the YAML package, which has it in no other way for all of its errors.
var lineOfSyntax = regexp.MustCompile(`line (\d+)`)

// syntaxMistake says what is wrong where a file is no YAML.
func syntaxMistake(path string, content []byte, err error) error {
	line := 1
	if found := lineOfSyntax.FindStringSubmatch(err.Error()); found != nil {
		line, _ = strconv.Atoi(found[1])
	}
	for i, each := range strings.Split(string(content), "\n") {
		if blank := len(each) - len(strings.TrimLeft(each, " \t")); strings.Contains(each[:blank], "\t") && !strings.HasSuffix(path, ".json") {
			return &Mistake{path, i + 1, "a tab is in the indentation, which YAML does not allow: use spaces"}
		}
	}
	if strings.HasSuffix(path, ".json") {
		return &Mistake{path, line, "this is not JSON: look for a missing comma, quote or brace in this line and the one before"}
	}
	return &Mistake{path, line, "this is not YAML: the indentation of this line or the one before is wrong, or a text with a colon lacks quotes"}
}

// checkVersion demands OpenAPI 3.0 or 3.1.
func (d *Document) checkVersion() error {
	version := find(d.root, "openapi")
	switch {
	case find(d.root, "swagger") != nil:
		return d.mistake(find(d.root, "swagger"), "this is OpenAPI 2: convert it to OpenAPI 3, such as with npx swagger2openapi")
	case version == nil:
		return d.mistake(d.root, "this is not an OpenAPI document: begin it with openapi: 3.0.3 or openapi: 3.1.0")
	case !strings.HasPrefix(version.Value, "3.0.") && !strings.HasPrefix(version.Value, "3.1."):
		return d.mistake(version, "the document has OpenAPI %s: write 3.0.3 or 3.1.0", version.Value)
	}
	return nil
}

func (d *Document) isModern() bool { return strings.HasPrefix(text(d.root, "openapi"), "3.1.") }

// check returns the first mistake of the document.
func (d *Document) check() error {
	checks := []func() error{d.checkKeys, d.checkReferences, d.checkServers, d.checkPaths, d.checkOperations, d.checkSchemas}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys finds keys that are there twice, of which only the last one would count.
func (d *Document) checkKeys() error { return d.checkKeysOf(d.root) }

func (d *Document) checkKeysOf(node *yaml.Node) error {
	lines := map[string]int{}
	isMapping := node.Kind == yaml.MappingNode
	for i, below := range node.Content {
		if isMapping && i%2 == 0 {
			if first, isTwice := lines[below.Value]; isTwice && below.Tag != "!!merge" {
				return d.mistake(below, "%s is here a second time (first in line %d): take one of them out", below.Value, first)
			}
			lines[below.Value] = below.Line
			continue
		}
		if err := d.checkKeysOf(below); err != nil {
			return err
		}
	}
	return nil
}

// checkServers finds variables without a value.
func (d *Document) checkServers() error {
	for _, server := range items(find(d.root, "servers")) {
		for name, variable := range members(find(server, "variables")) {
			if text(variable, "default") == "" {
				return d.mistake(name, "the variable %s of a server has no default, or an empty one: add default: with a value", name.Value)
			}
		}
	}
	return nil
}

// checkPaths finds paths that no request can have.
func (d *Document) checkPaths() error {
	paths := find(d.root, "paths")
	if paths == nil && !d.isModern() {
		return d.mistake(d.root, "the document has no paths: add paths:")
	}
	known := slices.Concat(methods, []string{"summary", "description", "servers", "parameters", "$ref"})
	for path, item := range members(paths) {
		if strings.HasPrefix(path.Value, "x-") {
			continue
		}
		if !strings.HasPrefix(path.Value, "/") {
			return d.mistake(path, "the path %s does not begin with a slash: write /%s", path.Value, path.Value)
		}
		if err := d.checkNames(item, "the path "+path.Value, known); err != nil {
			return err
		}
	}
	if len(d.Operations()) == 0 {
		return d.mistake(paths, "the document has no operation: add one to paths, such as GET of a list")
	}
	return nil
}

// checkNames finds members that an object of OpenAPI does not have.
func (d *Document) checkNames(node *yaml.Node, what string, known []string) error {
	for key := range members(node) {
		if slices.Contains(known, key.Value) || strings.HasPrefix(key.Value, "x-") {
			continue
		}
		if near := nearest(key.Value, known); near != "" {
			return d.mistake(key, "%s has no member %s: did you mean %s?", what, key.Value, near)
		}
		return d.mistake(key, "%s has no member %s: is its indentation wrong?", what, key.Value)
	}
	return nil
}

// operationMembers are what an operation can have.
var operationMembers = []string{
	"tags", "summary", "description", "externalDocs", "operationId", "parameters", "requestBody", "responses", "callbacks", "deprecated",
	"security", "servers",
}

func (d *Document) checkOperations() error {
	ids := map[string]Operation{}
	for _, operation := range d.Operations() {
		name := operation.Method + " " + operation.Path
		if earlier, isTwice := ids[operation.ID]; isTwice && operation.ID != "" {
			return d.mistake(find(operation.node, "operationId"), "the operationId %s is also that of %s %s in line %d: give each operation its own",
				operation.ID, earlier.Method, earlier.Path, earlier.Line)
		}
		ids[operation.ID] = operation
		err := errors.Join(
			d.checkNames(operation.node, name, operationMembers),
			d.checkResponses(operation, name),
			d.checkParameters(operation, name),
			d.checkSecurity(operation.node, name),
		)
		if err != nil {
			return first(err)
		}
	}
	return d.checkSecurity(d.root, "the document")
}

// first returns the first of joined errors.
func first(err error) error {
	if joined, isJoined := err.(interface{ Unwrap() []error }); isJoined {
		return joined.Unwrap()[0]
	}
	return err
}

func (d *Document) checkResponses(operation Operation, name string) error {
	responses := find(operation.node, "responses")
	if responses == nil && d.isModern() {
		return nil
	}
	if responses == nil {
		return &Mistake{d.fileOf(operation.node), operation.Line, name + " has no responses: add responses: with at least '200' and its description"}
	}
	if len(responses.Content) == 0 {
		return d.mistake(responses, "the responses of %s are empty: add '200' with a description, or default", name)
	}
	for status, response := range members(responses) {
		if strings.HasPrefix(status.Value, "x-") {
			continue
		}
		if !regexp.MustCompile(`^([1-5](\d\d|XX)|default)$`).MatchString(status.Value) {
			return d.mistake(status, "%s has a response %s, which is not a status: write one such as '200', '4XX' or default", name, status.Value)
		}
		response = d.followed(response)
		if find(response, "description") == nil {
			return d.mistake(status, "the response %s of %s has no description: add description: and a sentence", status.Value, name)
		}
	}
	return nil
}

// checkParameters compares the parameters of an operation with the template of its path.
func (d *Document) checkParameters(operation Operation, name string) error {
	inPath := map[string]bool{}
	for _, parameter := range slices.Concat(items(find(operation.item, "parameters")), items(find(operation.node, "parameters"))) {
		found := d.followed(parameter)
		if text(found, "in") == "path" {
			inPath[text(found, "name")] = true
		}
		if err := d.checkParameter(operation, found, name); err != nil {
			return err
		}
	}
	for _, wanted := range regexp.MustCompile(`\{([^{}]*)\}`).FindAllStringSubmatch(operation.Path, -1) {
		if !inPath[wanted[1]] {
			return &Mistake{d.fileOf(operation.node), operation.Line, name + " has no parameter " + wanted[1] +
				", which is in its path: add {name: " + wanted[1] + ", in: path, required: true, schema: {type: string}} to parameters"}
		}
	}
	return nil
}

func (d *Document) checkParameter(operation Operation, parameter *yaml.Node, name string) error {
	label := "the parameter " + text(parameter, "name") + " of " + name
	switch in := text(parameter, "in"); {
	case text(parameter, "name") == "":
		return d.mistake(parameter, "a parameter of %s has no name: add name:", name)
	case !slices.Contains([]string{"path", "query", "header", "cookie"}, in):
		return d.mistake(parameter, "%s is in %q: write in: path, query, header or cookie (a body is requestBody)", label, in)
	case in == "path" && text(parameter, "required") != "true":
		return d.mistake(parameter, "%s is in the path and not required: add required: true", label)
	case in == "path" && !strings.Contains(operation.Path, "{"+text(parameter, "name")+"}"):
		return d.mistake(parameter, "%s is not in the path: write {%s} in the path, or in: query", label, text(parameter, "name"))
	case find(parameter, "schema") == nil && find(parameter, "content") == nil:
		return d.mistake(parameter, "%s has no schema: add schema: {type: string}, or another type", label)
	}
	return nil
}

func (d *Document) checkSecurity(node *yaml.Node, name string) error {
	schemes := find(d.root, "components", "securitySchemes")
	for _, requirement := range items(find(node, "security")) {
		for scheme := range members(requirement) {
			if find(schemes, scheme.Value) == nil {
				return d.mistake(scheme, "%s asks for the security scheme %s, which components.securitySchemes does not have%s", name, scheme.Value,
					didYouMean(scheme.Value, keysOf(schemes)))
			}
		}
	}
	return nil
}

func (d *Document) fileOf(node *yaml.Node) string {
	if from := d.origin[node]; from != "" {
		return from
	}
	return d.Path
}
