package contract

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// nodes are the nodes of the schemas of a document, which jsonschema/v6 compiles once: kin-openapi does so for each value of
// OpenAPI 3.1, which takes 65 µs where a visit takes 1.
type nodes struct {
	load      *loader
	compiler  *jsonschema.Compiler
	known     map[scopedSchema]*node
	resources resources
	scope     *scope // of the schema that is compiled at present
}

// scopedSchema is a schema in a dynamic scope. Without a $dynamicAnchor in the document, there is one scope.
type scopedSchema struct {
	schema *jsonschema.Schema
	scope  *scope
}

// Where the compiler finds the document, and the members of schemas that it does not know.
const (
	documentURL   = "contract:///openapi.json"
	vocabularyURL = "contract:///vocabulary.json"
)

// placeOfSchema is what [withoutSchemas] leaves of a schema: its JSON Pointer in the document.
const placeOfSchema = "x-place-of-schema"

func newNodes(load *loader, document tree) (*nodes, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	named := namedSchemas{}
	named.add(documentURL, map[string]any(document))
	compiler.UseLoader(named)
	compiler.UseRegexpEngine(load.pattern)
	compiler.RegisterVocabulary(&jsonschema.Vocabulary{
		URL: vocabularyURL,
		Compile: func(_ *jsonschema.CompilerContext, members map[string]any) (jsonschema.SchemaExt, error) {
			return source(members), nil
		},
	})
	compiler.AssertVocabs()
	err := compiler.AddResource(documentURL, map[string]any(document))
	made := &nodes{load: load, compiler: compiler, known: map[scopedSchema]*node{}, resources: resources{"": {}}}
	if err == nil {
		made.findAnchors("", "", map[string]any(document))
	}
	return made, err
}

// namedSchemas are the schemas of a document that have an $id, by their addresses. The compiler knows one only where it has compiled
// what is around it. It loads nothing else: a schema must be in the document.
type namedSchemas map[string]any

func (named namedSchemas) add(base string, value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			named.add(base, item)
		}
	case map[string]any:
		if name, isText := value["$id"].(string); isText {
			base = resolveURL(base, name)
			named[base] = value
		}
		for _, member := range value {
			named.add(base, member)
		}
	}
}

// resolveURL returns the address of a name in a schema with the address base.
func resolveURL(base, name string) string {
	absolute, err := url.Parse(base)
	if err != nil {
		return name
	}
	reference, err := absolute.Parse(name)
	if err != nil {
		return name
	}
	return reference.String()
}

// Load implements [jsonschema.URLLoader].
func (named namedSchemas) Load(address string) (any, error) {
	if schema, isNamed := named[address]; isNamed {
		return schema, nil
	}
	return nil, fmt.Errorf("%s is not in the document", address)
}

// source has the members of a schema as they are in the document.
type source map[string]any

// Validate implements [jsonschema.SchemaExt]. Nothing is validated with the library.
func (source) Validate(*jsonschema.ValidatorContext, any) {}

// of returns the node of a schema. Without one, any value will do.
func (m *nodes) of(described *openapi3.SchemaRef) *node {
	if described == nil {
		return &node{}
	}
	place, _ := described.Value.Extensions[placeOfSchema].(string)
	compiled, err := m.compile(place)
	m.load.need(err == nil, "schema %s", whyInvalid(place, err))
	m.scope = &scope{}
	return cmp.Or(m.compiled(compiled), &node{})
}

// compile compiles the schema at a place of the document.
func (m *nodes) compile(place string) (*jsonschema.Schema, error) {
	fragment := url.URL{Fragment: place}
	return m.compiler.Compile(documentURL + fragment.String())
}

// whyInvalid says why the schema at a place cannot be compiled. One that is not valid has an error for each level of the metaschema:
// the innermost one says what is wrong, and where.
func whyInvalid(place string, err error) string {
	var invalid *jsonschema.SchemaValidationError
	var why *jsonschema.ValidationError
	if !errors.As(err, &invalid) || !errors.As(invalid.Err, &why) {
		return fmt.Sprintf("%s: %v", place, err)
	}
	for len(why.Causes) > 0 {
		why = why.Causes[0]
	}
	wrong := place + pointerTo(why.InstanceLocation...)
	return fmt.Sprintf("%s: %s", wrong, why.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
}

// compiled returns the node of a compiled schema, which may contain itself.
func (m *nodes) compiled(schema *jsonschema.Schema) *node {
	before := m.scope
	defer func() { m.scope = before }()
	schema = m.resolve(schema)
	if schema == nil {
		return nil
	}
	key := scopedSchema{schema, m.scope}
	if found := m.known[key]; found != nil {
		return found
	}
	made := &node{}
	m.known[key] = made
	made.always = schema.Bool
	if schema.Types != nil {
		made.types = typesOf(schema.Types.ToStrings())
	}
	m.setNull(made, schema)
	m.setValues(made, schema)
	m.setItems(made, schema)
	m.setMembers(made, schema)
	m.setParts(made, schema)
	return made
}

// resolve enters the resource of a schema, and follows a schema that is a reference alone.
func (m *nodes) resolve(schema *jsonschema.Schema) *jsonschema.Schema {
	for range 100 { // it may lead to itself
		if schema == nil {
			return nil
		}
		m.scope = m.scope.enter(schema, m.resources)
		if schema.Ref == nil || len(sourceOf(schema)) > 1 {
			return schema
		}
		schema = schema.Ref
	}
	return schema
}

func sourceOf(schema *jsonschema.Schema) source {
	for _, extension := range schema.Extensions {
		if found, isSource := extension.(source); isSource {
			return found
		}
	}
	return nil
}

func (m *nodes) list(schemas []*jsonschema.Schema) (nodes []*node) {
	for _, schema := range schemas {
		nodes = append(nodes, m.compiled(schema))
	}
	return nodes
}

func (m *nodes) byName(schemas map[string]*jsonschema.Schema) map[string]*node {
	var nodes map[string]*node
	if len(schemas) > 0 {
		nodes = make(map[string]*node, len(schemas))
	}
	for name, schema := range schemas {
		nodes[name] = m.compiled(schema)
	}
	return nodes
}

// setNull sets whether null is allowed, which OpenAPI 3.0 says by nullable alone.
func (m *nodes) setNull(made *node, schema *jsonschema.Schema) {
	isNullable, _ := sourceOf(schema)["nullable"].(bool)
	made.isLegacy = !m.load.document.IsOpenAPI31OrLater()
	made.isNull = made.isLegacy && isNullable
}

func (m *nodes) setValues(made *node, schema *jsonschema.Schema) {
	written := sourceOf(schema)
	if schema.Enum != nil {
		made.setEnum(schema.Enum.Values)
	}
	if schema.Const != nil {
		constant := &node{}
		constant.setEnum([]any{*schema.Const})
		made.parts = append(made.parts, constant)
	}
	name, _ := written["format"].(string)
	made.format = m.load.format(made.types, name)
	made.isBinary = name == "binary" || isBinaryContent(written)
	made.bounds = boundsOf(schema)
	if schema.MultipleOf != nil {
		made.multipleOf = exactNumber(schema.MultipleOf)
	}
	unit := "character"
	if made.isBinary {
		unit = "byte" // as OpenAPI says
	}
	made.length = newSizeBounds(schema.MinLength, schema.MaxLength, unit, "")
	made.pattern, _ = schema.Pattern.(*pattern)
	if made.pattern != nil {
		message, _ := written["x-pattern-message"].(string)
		made.patternMessage = cmp.Or(message, "must match the pattern "+shorten(made.pattern.expression))
	}
}

// isBinaryContent reports whether a text has bytes of a media type as they are (OpenAPI 3.1, section 4.8.14.4).
func isBinaryContent(written source) bool {
	mediaType, isGiven := written["contentMediaType"].(string)
	return isGiven && written["contentEncoding"] == nil && !strings.HasPrefix(mediaType, "text/") && !isJSON(mediaType)
}

func (m *nodes) setItems(made *node, schema *jsonschema.Schema) {
	made.itemCount = newSizeBounds(schema.MinItems, schema.MaxItems, "item", "")
	made.isUnique = schema.UniqueItems
	made.items, made.prefixItems = m.compiled(schema.Items2020), m.list(schema.PrefixItems)
	made.contains = m.compiled(schema.Contains)
	if made.contains != nil {
		made.containsCount = newSizeBounds(cmp.Or(schema.MinContains, new(1)), schema.MaxContains, "item", " of the schema in contains")
	}
	made.unevaluatedItems = m.compiled(schema.UnevaluatedItems)
}

func (m *nodes) setMembers(made *node, schema *jsonschema.Schema) {
	made.memberCount = newSizeBounds(schema.MinProperties, schema.MaxProperties, "member", "")
	made.required, made.dependents = schema.Required, schema.DependentRequired
	made.members, made.names = m.byName(schema.Properties), m.compiled(schema.PropertyNames)
	for expression, member := range schema.PatternProperties {
		made.patternMembers = append(made.patternMembers, patternMember{expression.(*pattern), m.compiled(member)})
	}
	switch others := schema.AdditionalProperties.(type) {
	case bool:
		made.others = &node{always: &others}
	case *jsonschema.Schema:
		made.others = m.compiled(others)
	}
	made.unevaluatedMembers = m.compiled(schema.UnevaluatedProperties)
	made.readOnly, made.leavesOut = readOnlyMembers(schema, nil), m.load.rules.acceptsReadOnly
}

// readOnlyMembers returns the members that a schema, or a part of its allOf, has for responses alone.
func readOnlyMembers(schema *jsonschema.Schema, above []*jsonschema.Schema) (names []string) {
	for name, member := range schema.Properties {
		if member.ReadOnly || member.Ref != nil && member.Ref.ReadOnly {
			names = append(names, name)
		}
	}
	for _, part := range append(slices.Clone(schema.AllOf), present(schema.Ref)...) {
		if !slices.Contains(above, part) {
			names = append(names, readOnlyMembers(part, append(above, schema))...)
		}
	}
	return names
}

func (m *nodes) setParts(made *node, schema *jsonschema.Schema) {
	made.parts = append(made.parts, m.list(present(schema.Ref))...)
	made.parts = append(made.parts, m.list(schema.AllOf)...)
	if schema.DynamicRef != nil {
		made.parts = append(made.parts, m.compiled(m.scope.target(schema.DynamicRef)))
	}
	made.anyOf, made.oneOf = m.list(schema.AnyOf), m.list(schema.OneOf)
	made.not = m.compiled(schema.Not)
	made.dependentSchemas = m.byName(schema.DependentSchemas)
	if schema.If != nil {
		made.conditions = []condition{{m.compiled(schema.If), m.compiled(schema.Then), m.compiled(schema.Else)}}
	}
	described, isDescribed := sourceOf(schema)["discriminator"].(map[string]any)
	if !isDescribed {
		return
	}
	alternatives := schema.OneOf
	if len(alternatives) == 0 {
		alternatives = schema.AnyOf
	}
	references := make([]string, len(alternatives))
	for i, alternative := range alternatives {
		references[i], _ = sourceOf(alternative)["$ref"].(string)
	}
	mapping := map[string]string{}
	targets, _ := described["mapping"].(map[string]any)
	for _, value := range slices.Sorted(maps.Keys(targets)) {
		mapping[value], _ = targets[value].(string)
	}
	member, _ := described["propertyName"].(string)
	made.discriminator = newDiscriminator(member, mapping, references)
}

func present(schema *jsonschema.Schema) []*jsonschema.Schema {
	if schema == nil {
		return nil
	}
	return []*jsonschema.Schema{schema}
}
