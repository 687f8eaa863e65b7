package contracttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// oracle is a second judge of values, beside kin-openapi, which services in Go validate
// with, too: what both get wrong alike, a test does not see. It is
// santhosh-tekuri/jsonschema with schemas that are translated from the document as it is
// published. A difference between the two is a failure of its own kind.
//
// With a document of OpenAPI 3.1, a service that validates with kin-openapi uses
// jsonschema, too. This package does not let it: see translator. So the two judge
// independently of each other, and the first one independently of such a service.
type oracle struct {
	root     map[string]any
	newer    bool // OpenAPI 3.1 or later: its schemas are JSON Schema 2020-12
	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema // by place and direction; nil: it cannot be compiled
}

func newOracle(root map[string]any) *oracle {
	version, _ := root["openapi"].(string)
	return &oracle{root: root, newer: !strings.HasPrefix(version, "3.0"), compiled: map[string]*jsonschema.Schema{}}
}

// differs compares a verdict with that on the value by the schema at a place of the document,
// and returns what is wrong with the verdict.
func (o *oracle) differs(valid bool, value any, response bool, place ...string) error {
	if err := o.judge(value, response, place...); err == nil != valid && !errors.Is(err, errNoOracle) {
		if err != nil {
			return fmt.Errorf("kin-openapi allows it, but not jsonschema: %s", strings.ReplaceAll(err.Error(), "\n", ""))
		}
		return errors.New("jsonschema allows it, but not kin-openapi")
	}
	return nil
}

var errNoOracle = errors.New("the schema cannot be compiled")

func (o *oracle) judge(value any, response bool, place ...string) error {
	key := fmt.Sprint(response, place)
	o.mu.Lock()
	defer o.mu.Unlock()
	schema, known := o.compiled[key]
	if !known {
		var node any = o.root
		for _, token := range place {
			node = mapOf(resolved(o.root, node))[token]
		}
		if node != nil {
			schema, _ = o.compile(node, response)
		}
		o.compiled[key] = schema
	}
	if schema == nil {
		return errNoOracle
	}
	return schema.Validate(normal(value))
}

func mapOf(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}

// compile makes a schema of one of the document. It has all the schemas that this one
// refers to, and reads nothing else.
func (o *oracle) compile(node any, response bool) (*jsonschema.Schema, error) {
	defs := map[string]any{}
	root := map[string]any{"$defs": defs, "allOf": []any{o.translate(node, response, defs)}}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{})                                // it loads nothing
	for _, name := range []string{"byte", "email", "uri", "uri-reference"} { // it knows no byte, and takes too much for the others
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			if text, ok := v.(string); ok {
				return formats[name].check(text)
			}
			return nil
		}})
	}
	for _, bits := range []int{32, 64} {
		c.RegisterFormat(&jsonschema.Format{Name: fmt.Sprint("integer of ", bits), Validate: func(v any) error {
			n, ok := v.(json.Number)
			if !ok {
				return nil
			}
			_, err := strconv.ParseInt(string(n), 10, bits)
			return err
		}})
	}
	if err := c.AddResource("contract:schema", root); err != nil {
		return nil, err
	}
	return c.Compile("contract:schema")
}

// The keywords whose value is a schema, or a list of schemas or schemas by name. The
// others that mean the same in JSON Schema are copied.
var (
	ofSchema  = []string{"items", "additionalProperties", "not", "contains", "if", "then", "else", "propertyNames", "unevaluatedItems", "unevaluatedProperties"}
	ofSchemas = []string{"allOf", "anyOf", "oneOf", "prefixItems", "properties", "patternProperties", "dependentSchemas"}
	copied3x  = []string{
		"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "format",
		"minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "required", "dependentRequired", "minProperties", "maxProperties",
	}
)

// translate makes a JSON Schema of a schema of the document. What it refers to it adds to
// defs.
func (o *oracle) translate(node any, response bool, defs map[string]any) any {
	s, ok := node.(map[string]any)
	if !ok {
		return node
	}
	out := map[string]any{}
	if ref, ok := s["$ref"].(string); ok {
		if _, known := defs[ref]; !known {
			defs[ref] = true // it may refer to itself
			defs[ref] = o.translate(lookup(o.root, ref), response, defs)
		}
		out["$ref"] = "#/$defs/" + url.PathEscape(escape(ref))
		if !o.newer {
			return out // OpenAPI 3.0 ignores what is beside it
		}
	}
	for name, value := range s {
		switch {
		case slices.Contains(copied3x, name):
			out[name] = value
		case slices.Contains(ofSchema, name):
			out[name] = o.translate(value, response, defs)
		case slices.Contains(ofSchemas, name):
			out[name] = mapped(value, func(_ string, inner any) any { return o.translate(inner, response, defs) })
		case name == "pattern":
			text, _ := value.(string)
			if text = ecmaPattern(text); text != "" {
				out[name] = text
			}
		}
	}
	for property := range mapOf(s["properties"]) {
		if o.absent(s, property, response) {
			out["properties"].(map[string]any)[property] = false
		}
	}
	out["required"] = slices.DeleteFunc(slices.Clone(listOf(s["required"])), func(name any) bool {
		return o.absent(s, fmt.Sprint(name), response)
	})
	o.translateTypes(s, out)
	return out
}

// translateTypes translates what types and bounds mean here, and not in JSON Schema: a
// number such as 1.0 is no integer, and OpenAPI 3.0 has nullable and exclusive bounds of
// its own.
func (o *oracle) translateTypes(s, out map[string]any) {
	types := listOf(s["type"])
	if len(types) == 0 && s["type"] != nil {
		types = []any{s["type"]}
	}
	if slices.Contains(types, "integer") && !slices.Contains(types, "number") {
		out["format"] = "integer of 64"
		if s["format"] == "int32" {
			out["format"] = "integer of 32"
		}
	}
	if o.newer {
		return
	}
	if s["nullable"] == true && len(types) > 0 {
		out["type"] = append(slices.Clone(types), "null")
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		delete(out, exclusive)
		if s[exclusive] == true && s[bound] != nil {
			delete(out, bound)
			out[exclusive] = s[bound]
		}
	}
}

// absent reports whether a property is not part of a request, or of a response.
func (o *oracle) absent(s map[string]any, property string, response bool) bool {
	keyword := "readOnly"
	if response {
		keyword = "writeOnly"
	}
	p, _ := resolved(o.root, mapOf(s["properties"])[property]).(map[string]any)
	return p[keyword] == true || slices.ContainsFunc(listOf(s["allOf"]), func(part any) bool {
		other := mapOf(resolved(o.root, part))
		return other["properties"] != nil && o.absent(other, property, response)
	})
}

var ecmaTokens = regexp.MustCompile(`\\u[0-9A-Fa-f]{4}|\\.|\[|\]|\.`)

// ecmaPattern writes a pattern of ECMA-262 as one of Go: what a dot and white space are
// differs. It returns nothing if Go has no such pattern, as for one that looks ahead.
func ecmaPattern(pattern string) string {
	const space = `\s\v\x{a0}\x{feff}\p{Z}`
	inClass := false
	pattern = ecmaTokens.ReplaceAllStringFunc(pattern, func(token string) string {
		switch {
		case len(token) > 2:
			return `\x{` + token[2:] + `}`
		case token == "[" || token == "]":
			inClass = token == "["
		case token == "." && !inClass:
			return `[^\n\r\x{2028}\x{2029}]`
		case token == `\s` && inClass:
			return space
		case token == `\s`:
			return "[" + space + "]"
		case token == `\S` && !inClass:
			return "[^" + space + "]"
		}
		return token
	})
	if _, err := regexp.Compile(pattern); err != nil {
		return ""
	}
	return pattern
}

// The places of schemas in a document.

func (r *route) place(more ...string) []string {
	return append([]string{"paths", r.template, strings.ToLower(r.method)}, more...)
}

func (r *route) responsePlace(status int, media *openapi3.MediaType) []string {
	code, response := r.documentedAs(status)
	for mediaType, other := range response.Content {
		if other == media {
			return r.place("responses", code, "content", mediaType, "schema")
		}
	}
	return nil
}
