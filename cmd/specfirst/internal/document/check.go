package document

import (
	"cmp"
	"fmt"
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
	if strings.HasSuffix(path, ".json") {
		return &Mistake{path, line, "this is not JSON: look for a missing comma, quote or brace in this line and the one before"}
	}
	isTabbed := func(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "\t") }
	if tabbed := slices.IndexFunc(strings.Split(string(content), "\n"), isTabbed); tabbed >= 0 {
		return &Mistake{path, tabbed + 1, "a tab is in the indentation, which YAML does not allow: use spaces"}
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
	case !strings.HasPrefix(version.Value, "3.0.") && !d.isModern():
		return d.mistake(version, "the document has OpenAPI %s: write 3.0.3 or 3.1.0", version.Value)
	}
	return nil
}

func (d *Document) isModern() bool { return strings.HasPrefix(text(d.root, "openapi"), "3.1.") }

// checker finds the mistakes of a document. Each check goes on after a mistake, and the first one counts.
type checker struct {
	*Document
	mistakes []error
}

// check returns the first mistake of the document.
func (d *Document) check() error {
	c := &checker{Document: d}
	c.keys(d.root)
	c.references(d.root, "")
	c.servers()
	c.paths()
	c.operations()
	schemas(d.root, "", c.schema)
	return cmp.Or(c.mistakes...)
}

// report adds a mistake at a node.
func (c *checker) report(node *yaml.Node, format string, args ...any) {
	c.mistakes = append(c.mistakes, c.mistake(node, format, args...))
}

// keys finds keys that are there twice, of which only the last one would count.
func (c *checker) keys(node *yaml.Node) {
	lines := map[string]int{}
	for i, below := range node.Content {
		isKey := node.Kind == yaml.MappingNode && i%2 == 0
		if !isKey {
			c.keys(below)
			continue
		}
		if first, isTwice := lines[below.Value]; isTwice && below.Tag != "!!merge" {
			c.report(below, "%s is here a second time (first in line %d): take one of them out", below.Value, first)
		}
		lines[below.Value] = below.Line
	}
}

// references finds references that lead to nothing. The name is that of the member which has the node.
func (c *checker) references(node *yaml.Node, name string) {
	if reference := referenceOf(node); reference != nil {
		c.reference(reference)
		return
	}
	for key, value := range structure(node, name) {
		c.references(value, key)
	}
}

func (c *checker) reference(reference *yaml.Node) {
	pointer, isInside := strings.CutPrefix(reference.Value, "#/")
	if !isInside {
		c.report(reference, "$ref %q is not understood: write it as '#/components/schemas/NAME'", reference.Value)
		return
	}
	if resolve(c.root, pointer) == nil {
		end := max(strings.LastIndex(pointer, "/"), 0)
		place, name := pointer[:end], unescape(strings.TrimPrefix(pointer[end:], "/"))
		c.report(reference, "$ref %q leads to nothing: %s has no %s%s", reference.Value, strings.ReplaceAll(place, "/", "."), name,
			didYouMean(name, keysOf(resolve(c.root, place))))
	}
}

// servers finds variables without a value.
func (c *checker) servers() {
	for _, server := range items(find(c.root, "servers")) {
		for name, variable := range members(find(server, "variables")) {
			if text(variable, "default") == "" {
				c.report(name, "the variable %s of a server has no default, or an empty one: add default: with a value", name.Value)
			}
		}
	}
}

// What objects of OpenAPI can have.
var (
	pathMembers      = append([]string{"summary", "description", "servers", "parameters", "$ref"}, methods...)
	operationMembers = []string{
		"tags", "summary", "description", "externalDocs", "operationId", "parameters", "requestBody", "responses", "callbacks", "deprecated",
		"security", "servers",
	}
	places = []string{"path", "query", "header", "cookie"}
	types  = []string{"string", "number", "integer", "boolean", "array", "object"}
)

// paths finds paths that no request can have.
func (c *checker) paths() {
	paths := find(c.root, "paths")
	if paths == nil && !c.isModern() {
		c.report(c.root, "the document has no paths: add paths:")
	}
	for path, item := range members(paths) {
		if isExtension(path.Value) {
			continue
		}
		if !strings.HasPrefix(path.Value, "/") {
			c.report(path, "the path %s does not begin with a slash: write /%s", path.Value, path.Value)
		}
		c.names(item, "the path "+path.Value, pathMembers)
	}
	if len(c.Operations()) == 0 {
		c.report(paths, "the document has no operation: add one to paths, such as GET of a list")
	}
}

// names finds members that an object of OpenAPI does not have.
func (c *checker) names(node *yaml.Node, what string, known []string) {
	for key := range members(node) {
		if slices.Contains(known, key.Value) || isExtension(key.Value) {
			continue
		}
		hint := "is its indentation wrong?"
		if near := nearest(key.Value, known); near != "" {
			hint = "did you mean " + near + "?"
		}
		c.report(key, "%s has no member %s: %s", what, key.Value, hint)
	}
}

func (c *checker) operations() {
	ids := map[string]Operation{}
	for _, operation := range c.Operations() {
		name := operation.Method + " " + operation.Path
		if earlier, isTwice := ids[operation.ID]; isTwice && operation.ID != "" {
			c.report(find(operation.node, "operationId"), "the operationId %s is also that of %s %s in line %d: give each operation its own",
				operation.ID, earlier.Method, earlier.Path, earlier.Line)
		}
		ids[operation.ID] = operation
		c.names(operation.node, name, operationMembers)
		c.responses(operation, name)
		c.parameters(operation, name)
		c.security(operation.node, name)
	}
	c.security(c.root, "the document")
}

// reportAt adds a mistake in the line of an operation.
func (c *checker) reportAt(operation Operation, format string, args ...any) {
	c.mistakes = append(c.mistakes, &Mistake{c.fileOf(operation.node), operation.Line, fmt.Sprintf(format, args...)})
}

var validStatus = regexp.MustCompile(`^([1-5](\d\d|XX)|default|x-.*)$`)

func (c *checker) responses(operation Operation, name string) {
	responses := find(operation.node, "responses")
	switch {
	case responses == nil && !c.isModern():
		c.reportAt(operation, "%s has no responses: add responses: with at least '200' and its description", name)
	case responses != nil && len(responses.Content) == 0:
		c.report(responses, "the responses of %s are empty: add '200' with a description, or default", name)
	}
	for status, response := range members(responses) {
		if !validStatus.MatchString(status.Value) {
			c.report(status, "%s has a response %s, which is not a status: write one such as '200', '4XX' or default", name, status.Value)
		}
		if find(c.followed(response), "description") == nil && !isExtension(status.Value) {
			c.report(status, "the response %s of %s has no description: add description: and a sentence", status.Value, name)
		}
	}
}

// inPath finds the parameters in a path.
var inPath = regexp.MustCompile(`\{([^{}]*)\}`)

// parameters compares the parameters of an operation with the template of its path.
func (c *checker) parameters(operation Operation, name string) {
	declared := map[string]bool{}
	for _, parameter := range c.parametersOf(operation) {
		declared[text(parameter, "in")+" "+text(parameter, "name")] = true
		c.parameter(operation, parameter, name)
	}
	for _, wanted := range inPath.FindAllStringSubmatch(operation.Path, -1) {
		if !declared["path "+wanted[1]] {
			c.reportAt(operation, "%[1]s has no parameter %[2]s, which is in its path: add {name: %[2]s, in: path, required: true, schema: {type: string}} to parameters",
				name, wanted[1])
		}
	}
}

func (c *checker) parameter(operation Operation, parameter *yaml.Node, name string) {
	label := "the parameter " + text(parameter, "name") + " of " + name
	place, isInPath := text(parameter, "in"), strings.Contains(operation.Path, "{"+text(parameter, "name")+"}")
	switch {
	case text(parameter, "name") == "":
		c.report(parameter, "a parameter of %s has no name: add name:", name)
	case !slices.Contains(places, place):
		c.report(parameter, "%s is in %q: write in: path, query, header or cookie (a body is requestBody)", label, place)
	case place == "path" && text(parameter, "required") != "true":
		c.report(parameter, "%s is in the path and not required: add required: true", label)
	case place == "path" && !isInPath:
		c.report(parameter, "%s is not in the path: write {%s} in the path, or in: query", label, text(parameter, "name"))
	case find(parameter, "schema") == nil && find(parameter, "content") == nil:
		c.report(parameter, "%s has no schema: add schema: {type: string}, or another type", label)
	}
}

func (c *checker) security(node *yaml.Node, name string) {
	schemes := find(c.root, "components", "securitySchemes")
	for _, requirement := range items(find(node, "security")) {
		for scheme := range members(requirement) {
			if find(schemes, scheme.Value) == nil {
				c.report(scheme, "%s asks for the security scheme %s, which components.securitySchemes does not have%s", name, scheme.Value,
					didYouMean(scheme.Value, keysOf(schemes)))
			}
		}
	}
}

// schema finds what belongs to the other version of OpenAPI, and words that are no types.
func (c *checker) schema(schema *yaml.Node) {
	kind, version := find(schema, "type"), text(c.root, "openapi")
	words, known := append(items(kind), kind), types
	if c.isModern() {
		known = append(slices.Clone(types), "null")
		c.warnNullable(find(schema, "nullable"), cmp.Or(text(schema, "type"), "string"))
	} else if len(words) > 1 {
		c.report(kind, "a list of types is of OpenAPI 3.1, and the document has %s: write one type, with nullable: true for null, or openapi: 3.1.0", version)
	}
	if required := find(schema, "required"); required != nil && required.Tag == "!!bool" {
		c.report(required, "required of a schema is a list of names: write required: [name] beside properties")
	}
	for _, word := range words {
		isWord := word != nil && word.Kind == yaml.ScalarNode
		if isWord && !slices.Contains(known, word.Value) {
			c.report(word, "there is no type %s%s", word.Value, didYouMean(word.Value, known))
		}
	}
}

// warnNullable warns once of nullable, which can be served although it means nothing.
func (c *checker) warnNullable(nullable *yaml.Node, kind string) {
	if nullable != nil && len(c.Warnings) == 0 {
		c.Warnings = append(c.Warnings, c.mistake(nullable, "nullable is of OpenAPI 3.0, and means nothing in %s: write type: [%s, 'null']",
			text(c.root, "openapi"), kind))
	}
}

// didYouMean is the end of a message that names what is nearest.
func didYouMean(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return ": did you mean " + near + "?"
	}
	if len(known) == 0 {
		return ": add it there"
	}
	return ": there are " + strings.Join(known[:min(len(known), 6)], ", ")
}

// nearest returns the name that differs least, in one place: a letter too much, too few or wrong, or two that are swapped.
func nearest(name string, known []string) (best string) {
	least := 3 // letters
	for _, other := range known {
		longest := max(len(name), len(other))
		differing := longest - samePrefix(name, other) - sameSuffix(name, other)
		if differing < least && differing <= longest/2 {
			best, least = other, differing
		}
	}
	return best
}

func samePrefix(one, other string) (letters int) {
	for letters < min(len(one), len(other)) && one[letters]|0x20 == other[letters]|0x20 { // upper and lower case alike
		letters++
	}
	return letters
}

func sameSuffix(one, other string) (letters int) {
	for letters < min(len(one), len(other)) && one[len(one)-1-letters]|0x20 == other[len(other)-1-letters]|0x20 {
		letters++
	}
	return letters
}
