package contract

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Kind is the kind of a [Refusal].
type Kind int

// The kinds, in the order in which they are looked for.
const (
	NoOperation          Kind = iota // the document has no such path, or the router has found another one
	MethodNotAllowed                 // the path has no such method; the header Allow of the response is set
	NotAuthorized                    // Options.Authorize has returned an error
	InvalidParameter                 // a parameter does not match its schema, is missing or unknown
	MissingBody                      // the body is required
	UnsupportedMediaType             // Content-Type, charset or Content-Encoding
	TooLarge                         // the body has too many bytes
	Incomplete                       // the body was cut short
	NotRead                          // Options.ReadBody has returned an error of its own
	MalformedBody                    // the body is not one well-formed value
	InvalidBody                      // the body does not match its schema
)

// statuses has the kinds whose status is not 400.
var statuses = map[Kind]int{
	NoOperation:          http.StatusNotFound,
	MethodNotAllowed:     http.StatusMethodNotAllowed,
	NotAuthorized:        http.StatusUnauthorized,
	UnsupportedMediaType: http.StatusUnsupportedMediaType,
	TooLarge:             http.StatusRequestEntityTooLarge,
	NotRead:              http.StatusServiceUnavailable,
}

// Status returns the usual status of a response to a refusal of this kind.
func (k Kind) Status() int { return cmp.Or(statuses[k], http.StatusBadRequest) }

// Refusal says why a request is refused. It quotes at most 64 bytes of what the client sent, and
// nothing of a body, which may be secret.
type Refusal struct {
	Kind      Kind
	Operation *Operation // nil if there is none
	Message   string     // a sentence about all faults
	Faults    []Fault    // of InvalidParameter and InvalidBody; at most Options.MaxFaults, and one of a body of many values
	Err       error      // of NotAuthorized and NotRead
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Unwrap returns the error of [Options.Authorize] or [Options.ReadBody].
func (r *Refusal) Unwrap() error { return r.Err }

// Fault is one violation of the document.
type Fault struct {
	In      string // path, query, header, cookie or body
	Pointer string // JSON Pointer (RFC 6901) into the body, or the name of a parameter after a slash
	Message string // what is wrong; it follows a name, as in "must be an integer"
}

// BodyTooLarge returns the refusal of a body of more than limit bytes.
func BodyTooLarge(limit int64) *Refusal {
	return &Refusal{Kind: TooLarge, Message: fmt.Sprintf("body is larger than the limit of %d bytes", limit)}
}

// BodyIncomplete returns the refusal of a body whose end did not come.
func BodyIncomplete() *Refusal {
	return &Refusal{Kind: Incomplete, Message: "body was cut short or came too slowly"}
}

// asRefusal returns the refusal that an error is, or one of a kind. It is a copy: requests may share the error.
func asRefusal(err error, otherwise Kind) *Refusal {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		shared := *refusal
		return &shared
	}
	return &Refusal{Kind: otherwise, Message: err.Error(), Err: err}
}

// refusalOf returns the refusal of an error, with what is the same for all kinds.
func (c *Checker) refusalOf(operation *Operation, err error) *Refusal {
	refusal := asRefusal(err, NotAuthorized)
	refusal.Operation = operation
	if len(refusal.Faults) == 0 {
		return refusal
	}
	refusal.Faults = refusal.Faults[:min(len(refusal.Faults), c.options.MaxFaults)]
	sentences := make([]string, len(refusal.Faults))
	for i, fault := range refusal.Faults {
		sentences[i] = fault.sentence()
	}
	refusal.Message += ": " + strings.Join(sentences, "; ")
	return refusal
}

// sentence returns the message of a fault after what it is about.
func (f Fault) sentence() string {
	if f.In == inBody {
		return cmp.Or(f.Pointer, "it") + " " + f.Message
	}
	return strings.TrimSpace(f.In+" "+f.Pointer) + " " + f.Message
}

func refuseAsText(w http.ResponseWriter, _ *http.Request, refusal *Refusal) {
	http.Error(w, refusal.Message, refusal.Kind.Status())
}

// describe returns the fault of one error of a schema. It quotes neither the value, which may
// be large or secret, nor the schema, which is in the document.
func describe(violation error, in, prefix string) Fault {
	fault := Fault{In: in, Pointer: prefix, Message: "does not match the schema"}
	schemaError, ok := errors.AsType[*openapi3.SchemaError](violation)
	if !ok {
		return fault
	}
	for _, step := range schemaError.JSONPointer() {
		fault.Pointer += pointerTo(shorten(step))
	}
	fault.Message = cmp.Or(schemaError.Reason, fault.Message)
	if explain := explanations[schemaError.SchemaField]; explain != nil {
		fault.Message = explain(schemaError.Schema, schemaError.Value)
	}
	return fault
}

// explanations are the messages of keywords for which those of kin-openapi quote too much, or say too
// little.
var explanations = map[string]func(schema *openapi3.Schema, value any) string{
	"type":       wantedType,
	"required":   func(*openapi3.Schema, any) string { return "is required" },
	"properties": unknownMember,
	"nullable":   func(*openapi3.Schema, any) string { return "must not be null" },
	"maxLength": func(schema *openapi3.Schema, _ any) string {
		return fmt.Sprintf("must have at most %d characters", *schema.MaxLength)
	},
	"pattern": func(schema *openapi3.Schema, _ any) string {
		explained, _ := schema.Extensions["x-pattern-message"].(string)
		return cmp.Or(explained, "does not match the pattern")
	},
	"format": func(schema *openapi3.Schema, _ any) string { return "does not match the format " + schema.Format },
	"oneOf":  func(*openapi3.Schema, any) string { return "does not match exactly one schema of oneOf" },
	"anyOf":  func(*openapi3.Schema, any) string { return "does not match a schema of anyOf" },
	"allOf":  func(*openapi3.Schema, any) string { return "does not match all schemas of allOf" },
	"not":    func(*openapi3.Schema, any) string { return "matches a schema that it must not match" },
}

// unknownMember names the first member of an object that its schema does not have.
func unknownMember(schema *openapi3.Schema, value any) string {
	object, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if schema.Properties[name] == nil {
			return fmt.Sprintf("property %q is unsupported", shorten(name))
		}
	}
	return "has a property that is unsupported"
}

// wantedType says which type a value must have.
func wantedType(schema *openapi3.Schema, value any) string {
	kind := strings.Join(schema.Type.Slice(), " or ")
	if value == (notAnInteger{}) {
		size := cmp.Or(strings.TrimPrefix(schema.Format, "int"), "64")
		return fmt.Sprintf("must be an integer of %s bits, without fraction or exponent", size)
	}
	return "must be " + cmp.Or(withArticle[kind], "a "+kind)
}

var withArticle = map[string]string{"array": "an array", "integer": "an integer", "object": "an object"}

// pointerTo returns a path as a JSON Pointer (RFC 6901).
func pointerTo(path ...string) (text string) {
	for _, step := range path {
		text += "/" + pointerEscaper.Replace(step)
	}
	return text
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// maxQuoted is how many bytes of a client's text a refusal repeats.
const maxQuoted = 64

// shorten returns at most maxQuoted bytes of a client's text.
func shorten(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return text
}
