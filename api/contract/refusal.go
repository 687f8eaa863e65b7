package contract

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
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
	Faults    []Fault    // of InvalidParameter and InvalidBody; at most Options.MaxFaults
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
