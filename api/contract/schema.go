package contract

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// checkedFormats are the formats of texts that kin-openapi checks only if it is told to, or less strictly than the
// types that oapi-codegen makes of them.
var checkedFormats = map[string]openapi3.StringFormatValidator{
	"uuid":      openapi3.NewRegexpFormatValidator(openapi3.FormatOfStringForUUIDOfRFC9562),
	"email":     openapi3.NewRegexpFormatValidator(openapi3.FormatOfStringForEmail),
	"ipv4":      openapi3.NewIPValidator(true),
	"ipv6":      openapi3.NewIPValidator(false),
	"date-time": openapi3.NewCallbackValidator(checkTime),
}

// otherFormats are checked by kin-openapi, or ask for nothing.
var otherFormats = []string{"", "byte", "date", "int32", "int64", "float", "double", "binary", "password"}

// checkTime refuses what kin-openapi refuses and what [time.Time] cannot be, such as a leap second.
func checkTime(text string) error {
	return errors.Join(new(time.Time).UnmarshalText([]byte(text)), openapi3.SchemaStringFormats["date-time"].Validate(text))
}

// rules say how values are held to schemas.
type rules struct {
	formats   map[string]openapi3.StringFormatValidator
	maxFaults int
	maxDepth  int // of JSON
}

func newRules(options *Options) *rules {
	formats := maps.Clone(checkedFormats)
	for name, check := range options.Formats {
		formats[name] = openapi3.NewCallbackValidator(check)
	}
	return &rules{formats: formats, maxFaults: options.MaxFaults, maxDepth: options.MaxDepth}
}

// schema is a schema of the document.
type schema struct {
	*openapi3.Schema
	*rules
	one, all []openapi3.SchemaValidationOption // to find one fault, or all
}

// schema returns a schema whose formats are all checked.
func (l *loader) schema(described *openapi3.SchemaRef) schema {
	one := []openapi3.SchemaValidationOption{openapi3.WithStringFormatValidators(l.rules.formats)}
	parts := subtree(described)
	hasReadOnly := slices.ContainsFunc(parts, func(part part) bool { return part.ReadOnly })
	if hasReadOnly { // asked for only then: kin-openapi sorts all names of members for it
		one = append(one, openapi3.VisitAsRequest())
	}
	for _, part := range parts {
		l.needFormat(part)
		l.needOtherAlternatives(part, hasReadOnly)
		l.needOtherPlaces(part)
	}
	return schema{described.Value, l.rules, one, append(slices.Clip(one), openapi3.MultiErrors())}
}

// needFormat notes a format that nothing checks.
func (l *loader) needFormat(part part) {
	isKnown := l.rules.formats[part.Format] != nil || slices.Contains(otherFormats, part.Format)
	l.need(isKnown, "schema %s: the format %q is not implemented: add a function for it to Options.Formats", part.pointer, part.Format)
}

// needOtherAlternatives notes a schema that is one of its own alternatives, where kin-openapi tries each of them twice.
func (l *loader) needOtherAlternatives(part part, hasReadOnly bool) {
	twice := part.AnyOf
	if hasReadOnly {
		twice = slices.Concat(part.AnyOf, part.OneOf)
	}
	l.need(!slices.ContainsFunc(twice, part.isIn), "schema %s: it is one of its own alternatives, "+
		"and each level would take twice the time of the next: use oneOf, without readOnly", part.pointer)
}

// needOtherPlaces notes a schema that two of its alternatives have in the same place.
func (l *loader) needOtherPlaces(part part) {
	shared := part.sharedPlace()
	l.need(shared == "", "schema %s: two alternatives of oneOf have it again in %s, and each level would take twice "+
		"the time of the next: add a discriminator", part.pointer, shared)
}

// part is a schema in another one.
type part struct {
	*openapi3.Schema
	pointer string // JSON Pointer
}

// isIn reports whether another schema is this one, or has it in itself.
func (p part) isIn(other *openapi3.SchemaRef) bool {
	return other != nil && slices.ContainsFunc(subtree(other), func(inner part) bool { return inner.Schema == p.Schema })
}

// sharedPlace returns the place, such as /properties/next, in which two alternatives of oneOf have this schema again, or
// nothing. kin-openapi tries both for a value, unless a discriminator names one.
func (p part) sharedPlace() string {
	if p.Discriminator != nil {
		return ""
	}
	alternatives := map[string]int{} // by the place
	for _, alternative := range p.OneOf {
		for _, place := range p.placesIn(alternative.Value) {
			if alternatives[place]++; alternatives[place] > 1 {
				return place
			}
		}
	}
	return ""
}

// placesIn returns the places in an alternative that have this schema again, each once.
func (p part) placesIn(alternative *openapi3.Schema) []string {
	inner := map[string]openapi3.SchemaRefs{}
	for _, combined := range partsOf(alternative) {
		for name, member := range combined.Properties {
			inner["/properties/"+name] = append(inner["/properties/"+name], member)
		}
		inner["/items"] = append(inner["/items"], combined.Items)
		inner["/additionalProperties"] = append(inner["/additionalProperties"], combined.AdditionalProperties.Schema)
	}
	maps.DeleteFunc(inner, func(_ string, schemas openapi3.SchemaRefs) bool { return !slices.ContainsFunc(schemas, p.isIn) })
	return slices.Sorted(maps.Keys(inner))
}

// subtree returns a schema and all that are in it, each once.
func subtree(root *openapi3.SchemaRef) (parts []part) {
	_ = root.WalkSubtree(func(pointer string, found *openapi3.SchemaRef) error { // which returns no error
		parts = append(parts, part{found.Value, pointer})
		return nil
	})
	return parts
}

// maxValues is how many values a body has at most for all its faults to be reported. A batch of 1,000 objects
// with nine members has as many.
const maxValues = 10_000

// faults returns what is wrong with a value, which has so many values in it and is in a place of a request. It does
// not change the value.
func (s schema) faults(value any, count int, in, prefix string) (faults []Fault) {
	first := s.VisitJSON(value, s.one...)
	if first == nil {
		return nil
	}
	violations := []error{first}
	if count <= maxValues && !isAlone(first) {
		violations = violationsIn(s.VisitJSON(value, s.all...), nil)
	}
	for _, violation := range violations[:min(len(violations), s.maxFaults)] {
		faults = append(faults, describe(violation, in, prefix))
	}
	return faults
}

// isAlone reports whether a fault is the only one of its body: that of an array that is too long. The errors of a MiB
// with a fault every three bytes would take 1 GiB.
func isAlone(violation error) bool {
	fault, ok := errors.AsType[*openapi3.SchemaError](violation)
	return ok && fault.SchemaField == "maxItems"
}

// violationsIn adds the single errors in the error of a schema to those before.
func violationsIn(err error, before []error) []error {
	several, ok := err.(openapi3.MultiError)
	if !ok {
		return append(before, err)
	}
	for _, each := range several {
		before = violationsIn(each, before)
	}
	return before
}

// partsOf returns a schema and all those that it is combined of.
func partsOf(combined *openapi3.Schema) []*openapi3.Schema {
	parts := []*openapi3.Schema{combined}
	for i := 0; i < len(parts); i++ { // parts grows
		for _, part := range slices.Concat(parts[i].AllOf, parts[i].OneOf, parts[i].AnyOf) {
			if !slices.Contains(parts, part.Value) {
				parts = append(parts, part.Value)
			}
		}
	}
	return parts
}

// typeOf returns the only type of a schema and of those that it is combined of, or an empty text.
func typeOf(combined *openapi3.Schema) string {
	var types []string
	for _, part := range partsOf(combined) {
		types = append(types, part.Type.Slice()...)
	}
	slices.Sort(types)
	if types = slices.Compact(types); len(types) != 1 {
		return ""
	}
	return types[0]
}
