package contract

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// format is what a schema asks of a text or a number by its format.
type format struct {
	name        string
	message     string                  // of what does not have it
	checkText   func(text string) error // nil: any text
	checkNumber func(number any) bool   // nil: any number
}

// textFormats are the formats of texts that are checked: as strictly as the types of code that oapi-codegen generates.
var textFormats = map[string]func(text string) error{
	"byte":      checkBase64,
	"date":      openapi3.SchemaStringFormats["date"].Validate,
	"date-time": checkTime,
	"email":     checkEmail,
	"uuid":      openapi3.NewRegexpFormatValidator(openapi3.FormatOfStringForUUIDOfRFC9562).Validate,
	"ipv4":      func(text string) error { return checkAddress(text, netip.Addr.Is4) },
	"ipv6":      func(text string) error { return checkAddress(text, netip.Addr.Is6) },
	"uri":       checkURI,
}

// libraryFormats are those that jsonschema/v6 checks as they are meant.
var libraryFormats = []string{
	"uri-reference", "iri", "iri-reference", "uri-template", "hostname", "json-pointer", "relative-json-pointer", "regex", "time",
	"duration", "period", "semver",
}

// formatExamples are shown where a text does not have the format.
var formatExamples = map[string]string{
	"byte":      "aGk=, which is Base64 with padding",
	"date":      "2026-01-31",
	"date-time": "2026-01-31T12:30:00Z",
	"duration":  "P1DT12H",
	"email":     "name@example.org",
	"hostname":  "www.example.org",
	"ipv4":      "192.0.2.1",
	"ipv6":      "2001:db8::1",
	"time":      "12:30:00Z",
	"uri":       "https://www.example.org/things",
	"uuid":      "018f6f2c-5b1e-7c3a-9f00-0123456789ab",
}

// integerBounds are the formats of integers that fit fewer than 64 bits or have no sign.
var integerBounds = map[string][2]int64{
	"int8":   {math.MinInt8, math.MaxInt8},
	"int16":  {math.MinInt16, math.MaxInt16},
	"int32":  {math.MinInt32, math.MaxInt32},
	"uint":   {0, math.MaxInt64},
	"uint8":  {0, math.MaxUint8},
	"uint16": {0, math.MaxUint16},
	"uint32": {0, math.MaxUint32},
	"uint64": {0, math.MaxInt64},
}

// format returns the format of a schema, or nil if nothing is asked for. Formats of numbers that are not known ask for
// nothing, as OpenAPI says.
func (l *loader) format(allowed types, name string) *format {
	made := &format{name: name, message: "must match the format " + name, checkText: l.rules.formats[name]}
	if example := formatExamples[name]; example != "" {
		made.message += ", such as " + example
	}
	if bounds, isBound := integerBounds[name]; isBound {
		made.message = fmt.Sprintf("must be an integer from %d to %d", bounds[0], bounds[1])
		made.checkNumber = func(number any) bool {
			return compareNumbers(number, bounds[0]) >= 0 && compareNumbers(number, bounds[1]) <= 0
		}
	}
	if isFloat := cmp.Or(name, "float") == "float"; isFloat && allowed == typeNumber {
		made.name, made.checkNumber = "float", isFloat32 // generated code has a float32 without a format, too
		made.message = "must be a number that fits 32 bits, so at most 3.4e38"
	}
	isText := allowed == 0 || allowed.has(typeString)
	_, isKnown := l.rules.formats[name]
	if !isKnown && isText && made.checkNumber == nil { // as JSON Schema says
		l.unknown = append(l.unknown, name)
		l.note("the format %q is not checked: add a function for it to Options.Formats", name)
	}
	if made.checkText == nil && made.checkNumber == nil {
		return nil
	}
	return made
}

func isFloat32(number any) bool {
	const largest = math.MaxFloat32
	return compareNumbers(number, float64(-largest)) >= 0 && compareNumbers(number, float64(largest)) <= 0
}

var (
	errNoFormat = errors.New("does not have the format")

	// rfc3339 has the seconds and the zone that [time.Time] reads leniently.
	rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
)

// checkTime takes what RFC 3339 does, and [time.Time] can be: a leap second it cannot. T and Z may be small letters.
func checkTime(text string) error {
	text = strings.ToUpper(text)
	if !rfc3339.MatchString(text) {
		return errNoFormat
	}
	return new(time.Time).UnmarshalText([]byte(text))
}

// checkBase64 takes what a []byte of generated code reads, but for line breaks.
func checkBase64(text string) error {
	if _, err := base64.StdEncoding.DecodeString(text); err != nil || strings.ContainsAny(text, "\r\n") {
		return errNoFormat
	}
	return nil
}

// checkEmail takes an address alone, as the type Email of generated code does: package mail also takes a name before it.
func checkEmail(text string) error {
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text {
		return errNoFormat
	}
	return nil
}

func checkAddress(text string, isOfFamily func(netip.Addr) bool) error {
	address, err := netip.ParseAddr(text)
	if err != nil || !isOfFamily(address) {
		return errNoFormat
	}
	return nil
}

// checkURI takes an absolute URI without blanks.
func checkURI(text string) error {
	address, err := url.Parse(text)
	if err != nil || !address.IsAbs() || strings.ContainsAny(text, " \t\r\n<>\"{}|\\^`") {
		return errNoFormat
	}
	return nil
}

// uncheckedFormats ask for nothing.
var uncheckedFormats = []string{"", "binary", "password", "int32", "int64", "float", "double"}

// newFormats returns the checks of formats by name. Those of the options come before others.
func newFormats(own map[string]func(text string) error) map[string]func(text string) error {
	formats := map[string]func(text string) error{}
	for _, name := range uncheckedFormats {
		formats[name] = nil
	}
	for _, name := range libraryFormats {
		formats[name] = libraryFormat(name)
	}
	maps.Copy(formats, textFormats)
	maps.Copy(formats, own)
	return formats
}

// libraryFormat returns the check of a format of JSON Schema: the library checks formats only as a part of a schema.
func libraryFormat(name string) func(text string) error {
	schema := sync.OnceValue(func() *jsonschema.Schema {
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		_ = compiler.AddResource("format.json", map[string]any{"format": name}) // which is valid
		return compiler.MustCompile("format.json")
	})
	return func(text string) error { return schema().Validate(text) }
}
