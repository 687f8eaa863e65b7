package contract

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v4"
)

// tree is a document as JSON. Its schemas are compiled from it, as those of JSON Schema 2020-12.
type tree map[string]any

// loadDocument reads a valid document.
func loadDocument(text []byte) (*openapi3.T, tree, error) {
	root, err := readTree(text)
	if err != nil {
		return nil, nil, fmt.Errorf("load the document: %w", err)
	}
	version := root.tidy()
	switch {
	case root["swagger"] != nil:
		const hint = "convert it to OpenAPI 3, as with https://converter.swagger.io"
		return nil, nil, fmt.Errorf("the document has Swagger %v: %s", root["swagger"], hint)
	case version == "":
		return nil, nil, errors.New("the document does not say its version: add openapi: 3.1.0, for example")
	}
	isLegacy := strings.HasPrefix(version, "3.0.")
	if !isLegacy && !strings.HasPrefix(version, "3.1.") {
		return nil, nil, fmt.Errorf("the document has OpenAPI %s, need 3.0 or 3.1", version)
	}
	if isLegacy {
		lift(map[string]any(root))
	}
	root.resolvePaths()
	same, err := json.Marshal(withoutSchemas("", map[string]any(root)))
	if err != nil {
		return nil, nil, fmt.Errorf("load the document: %w", err)
	}
	document, err := openapi3.NewLoader().LoadFromData(same)
	if err != nil {
		return nil, nil, fmt.Errorf("load the document: %w", err)
	}
	if err := validate(document); err != nil {
		return nil, nil, fmt.Errorf("validate the document: %w", err)
	}
	return document, root, nil
}

// validate validates a document. Paths that differ in the names of parameters only are one path, which kin-openapi refuses: those
// without a method in common are validated apart.
func validate(document *openapi3.T) error {
	shapes, apart := map[string]*openapi3.PathItem{}, map[string]*openapi3.PathItem{}
	for _, template := range document.Paths.InMatchingOrder() {
		item := document.Paths.Value(template)
		shape := parameterName.ReplaceAllString(template, "{}")
		if known := shapes[shape]; known != nil && !haveSameMethod(known, item) {
			apart[template] = item
			document.Paths.Delete(template)
		}
		shapes[shape] = item
	}
	err := document.Validate(context.Background(), validation...)
	for template, item := range apart {
		document.Paths.Set(template, item)
		err = cmp.Or(err, item.Validate(context.Background(), validation...))
	}
	return err
}

var parameterName = regexp.MustCompile(`\{[^}]*\}`)

func haveSameMethod(one, other *openapi3.PathItem) bool {
	for method := range one.Operations() {
		if other.GetOperation(method) != nil {
			return true
		}
	}
	return false
}

// validation leaves out what says nothing about requests. Schemas are validated when they are compiled.
var validation = []openapi3.ValidationOption{
	openapi3.DisableExamplesValidation(),
}

// readTree reads JSON, or YAML as JSON would be. JSON is not read as YAML: its readers refuse an emoji that is escaped as two
// surrogates.
func readTree(text []byte) (root tree, err error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		err := decoder.Decode(&root)
		_, more := decoder.Token()
		if err == nil && more == io.EOF {
			return root, nil
		}
	}
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil {
		return nil, err
	}
	tagAsJSON(&node)
	var decoded map[string]any // and not a tree, or objects in it would be trees, too
	if err := node.Decode(&decoded); err != nil {
		return nil, err
	}
	if root = decoded; root == nil {
		return nil, errors.New("it is empty")
	}
	return root, nil
}

// tagAsJSON makes texts of names, as of the status 200, and of dates.
func tagAsJSON(node *yaml.Node) {
	if node.ShortTag() == "!!timestamp" {
		node.Tag = "!!str"
	}
	for i, child := range node.Content {
		isName := node.Kind == yaml.MappingNode && i%2 == 0
		if isName && child.Kind == yaml.ScalarNode && child.ShortTag() != "!!merge" {
			child.Tag = "!!str"
		}
		tagAsJSON(child)
	}
}

// tidy makes texts of versions, which people write as numbers or leave out, leaves out names of security schemes, and returns that of OpenAPI with a patch version.
func (t tree) tidy() string {
	info, _ := t["info"].(map[string]any)
	for _, name := range []string{"title", "version"} {
		if info != nil {
			text := fmt.Sprint(cmp.Or(info[name], any("")))
			info[name] = cmp.Or(text, "none")
		}
	}
	components, _ := t["components"].(map[string]any)
	schemes, _ := components["securitySchemes"].(map[string]any)
	for _, each := range schemes {
		if scheme, isObject := each.(map[string]any); isObject && scheme["type"] != "apiKey" {
			delete(scheme, "name") // only keys have names and places
			delete(scheme, "in")
		}
	}
	version := fmt.Sprint(cmp.Or(t["openapi"], any("")))
	if version == "" {
		return ""
	}
	if strings.Count(version, ".") == 0 {
		version += ".0"
	}
	if strings.Count(version, ".") == 1 {
		version += ".0"
	}
	t["openapi"] = version
	return version
}

// resolvePaths puts path items where the paths refer to them. What is beside a reference counts before it. A reference that leads
// nowhere stays.
func (t tree) resolvePaths() {
	paths, _ := t["paths"].(map[string]any)
	for template := range paths {
		paths[template] = t.pathItem(paths[template], map[string]bool{})
	}
}

func (t tree) pathItem(described any, passed map[string]bool) any {
	item, _ := described.(map[string]any)
	reference, isReference := item["$ref"].(string)
	if !isReference || passed[reference] {
		return described
	}
	passed[reference] = true
	target, isObject := t.pathItem(t.at(reference), passed).(map[string]any)
	if !isObject {
		return described
	}
	resolved := maps.Clone(target)
	for name, member := range item {
		if name != "$ref" {
			resolved[name] = member
		}
	}
	return resolved
}

// at returns what a reference leads to in the document, or nil.
func (t tree) at(reference string) any {
	pointer, err := url.PathUnescape(strings.TrimPrefix(reference, "#/"))
	if err != nil {
		return nil
	}
	var found any = map[string]any(t)
	for _, name := range strings.Split(pointer, "/") {
		object, _ := found.(map[string]any)
		found = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return found
}

// withoutSchemas returns a copy of a document for kin-openapi, which cannot read each schema: they have the places from which
// they are compiled.
func withoutSchemas(place string, value any) any {
	switch value := value.(type) {
	case []any:
		items := make([]any, len(value))
		for i, item := range value {
			items[i] = withoutSchemas(place+"/"+strconv.Itoa(i), item)
		}
		return items
	case map[string]any:
		members := make(map[string]any, len(value))
		for name, member := range value {
			below := place + pointerTo(name)
			switch {
			case name == "schema":
				members[name] = map[string]any{placeOfSchema: placeOf(member, below)}
			case below != "/components/schemas" && below != "/components/pathItems": // of 3.1, which kin-openapi does not know
				members[name] = withoutSchemas(below, member)
			}
		}
		return members
	}
	return value
}

// placeOf returns the place of a schema. That of one which is a reference alone is where it leads to: each new place takes the compiler
// a time that grows with the document.
func placeOf(schema any, place string) string {
	object, _ := schema.(map[string]any)
	reference, _ := object["$ref"].(string)
	target, isInDocument := strings.CutPrefix(reference, "#/")
	plain, err := url.PathUnescape(target)
	if isInDocument && len(object) == 1 && err == nil {
		return "/" + plain
	}
	return place
}

// lift writes schemas of OpenAPI 3.0 as those of JSON Schema 2020-12. What remains is nullable, which a node has; see
// [nodes.setNull].
func lift(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			lift(item)
		}
	case map[string]any:
		liftObject(value)
		for _, member := range value {
			lift(member)
		}
	}
}

// liftObject leaves out what is beside a reference, which OpenAPI 3.0 ignores, and what JSON Schema would take for another
// dialect. An exclusive bound is a number in place of a boolean beside the bound.
func liftObject(object map[string]any) {
	if reference, isReference := object["$ref"].(string); isReference {
		clear(object)
		object["$ref"] = reference
	}
	for _, name := range []string{"$schema", "$id"} {
		if _, isText := object[name].(string); isText { // or it is a member of that name
			delete(object, name)
		}
	}
	for exclusive, inclusive := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		isExclusive, isBoolean := object[exclusive].(bool)
		if !isBoolean {
			continue
		}
		delete(object, exclusive)
		if bound, hasBound := object[inclusive]; hasBound && isExclusive {
			object[exclusive] = bound
			delete(object, inclusive)
		}
	}
}
