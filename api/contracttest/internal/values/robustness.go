package values

import (
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// RobustnessBodies are bodies that services have crashed on: whatever the document says, the
// response must be one that it has, and not a failure of the service.
var RobustnessBodies = []string{
	`[]`, `[[1]]`, `0`, `-1`, `1e999`, `"text"`, `true`, `null`, `{"":null}`, `{"a":{"b":[[[{}]]]}}`, "\xff", "{\"\xff\":\"\xff\"}", "\x00", "{",
}

// RobustnessTexts are values of parameters in a path or a query, as they are sent, to the same end.
var RobustnessTexts = []string{"%00", "%0A", "%7F", "%FF", "%25", "%20", "-", "-1", "99999999999999999999", "%F0%9F%8C%B5", "%27%22"}

// RobustnessEntityTags are values of If-Match and If-None-Match without the quotes that an entity tag has, to the same end: a
// service may refuse them or not (RFC 9110, section 8.8.3). The last one has one quote, which is the first and the last.
var RobustnessEntityTags = []string{"1", "*1", `"`}

// RobustnessNames are names of members that services have failed on. A request has one of them in place of
// [schema.UnknownMember].
var RobustnessNames = []string{
	schema.UnknownMember, "", "__proto__", "蘭 🌵", `a"b\c`, "a/b~c", "\x00", "$ref", "toString", strings.Repeat("n", 300),
}

// robustnessStrings are strings that services have failed on. The first few are tried
// everywhere, the others where the document is small.
var robustnessStrings = []string{
	"Ficus", "", "0", "蘭 🌵", `"\/<&>'; --`, "\x00", "a\x00b", " ", "\t\r\n", `"\/`, "<&>", "'; --", "%_", "null",
	"Épinette à feuilles d'if", "E\u0301", "蘭", "🌵", "\u202eRTL", "\u2028\ufeff", "\U0010ffff", strings.Repeat("x", 5000),
}

// fewStrings is how many of them are tried everywhere.
const fewStrings = 5

// Renamed gives an unknown member another name, unless the schema then allows what it forbids now, or the other way round.
func (g *Generator) Renamed(wanted *schema.Schema, variant Variant, name string) Variant {
	value := renameMember(variant.Value, name)
	if g.Fits(wanted, value) == g.Fits(wanted, variant.Value) {
		variant.Value = value
		variant.Pointer = strings.Replace(variant.Pointer, jsonvalue.Pointer(schema.UnknownMember), jsonvalue.Pointer(name), 1)
	}
	return variant
}

// renameMember gives the unknown member another name, wherever it is.
func renameMember(value any, name string) any {
	value = jsonvalue.Map(value, func(_ string, inner any) any { return renameMember(inner, name) })
	object := jsonvalue.Object(value)
	if inner, has := object[schema.UnknownMember]; has {
		delete(object, schema.UnknownMember)
		object[name] = inner
	}
	return value
}
