package schema

import (
	"errors"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// One compiled schema is not enough for a schema of the document: readOnly and writeOnly make it two, one for
// requests and one for responses.

// Direction says whether a value is sent or received: a request leaves out what is readOnly, a
// response what is writeOnly.
type Direction bool

// The directions of a value.
const (
	Request  Direction = false
	Received Direction = true
)

// keyword is the one with which a schema says that it is not for the direction.
func (d Direction) keyword() string {
	if d == Received {
		return "writeOnly"
	}
	return "readOnly"
}

// Lacks reports whether a value in the direction leaves out what has a schema.
func (d Direction) Lacks(schema *openapi3.Schema) bool {
	if d == Received {
		return schema.WriteOnly
	}
	return schema.ReadOnly
}

// Validator says which values schemas allow. Several goroutines may use it.
type Validator struct {
	mu        sync.Mutex
	compilers map[Direction]*compiler
}

// NewValidator returns a validator.
func NewValidator() *Validator {
	return &Validator{compilers: map[Direction]*compiler{
		Request:  newCompiler(Request),
		Received: newCompiler(Received),
	}}
}

// Allows reports whether a schema allows a value.
func (v *Validator) Allows(wanted *openapi3.Schema, value any, direction Direction) bool {
	return len(v.Faults("", wanted, value, direction)) == 0
}

// Faults lists what a schema finds wrong with a value. where is the beginning of each place. A schema
// that cannot be compiled allows any value: a service must not be accused because of it.
func (v *Validator) Faults(where string, wanted *openapi3.Schema, value any, direction Direction) []scenario.Fault {
	compiled := v.compiled(wanted, direction)
	if compiled == nil {
		return nil
	}
	err := compiled.Validate(jsonvalue.Normal(value))
	broken, isBroken := errors.AsType[*jsonschema.ValidationError](err)
	if !isBroken {
		return nil
	}
	reader := faultReader{where: where, direction: direction}
	reader.read(broken)
	return reader.faults
}

// compiled returns a schema as jsonschema has it, or nil. Only compiling needs the lock: what is compiled
// does not change any more, so values are validated at the same time.
func (v *Validator) compiled(wanted *openapi3.Schema, direction Direction) *jsonschema.Schema {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.compilers[direction].compile(wanted)
}

// faultReader makes faults of an error of jsonschema, which is a tree.
type faultReader struct {
	where     string
	direction Direction
	faults    []scenario.Fault
}

// read reads a node of the tree. Only what is wrong with the value itself becomes a fault.
func (r *faultReader) read(broken *jsonschema.ValidationError) {
	at := broken.InstanceLocation
	switch wrong := broken.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range broken.Causes {
			r.read(cause)
		}
	// A schema that consists of itself demands nothing.
	case *kind.RefCycle:
	case *kind.Required:
		for _, name := range wrong.Missing {
			r.add(append(at, name), "required", "is missing")
		}
	case *kind.FalseSchema:
		r.add(at, r.direction.keyword(), "must not be here")
	default:
		keyword := keywordOf(wrong)
		text := wrong.LocalizedString(message.NewPrinter(language.English))
		r.add(at, keyword, strings.TrimPrefix(text, keyword+": ")) // most begin with it
	}
}

// add adds a fault at a place below that of the value.
func (r *faultReader) add(at []string, keyword, text string) {
	place := r.where
	if len(at) > 0 {
		place += " " + jsonvalue.Pointer(at...)
	}
	r.faults = append(r.faults, scenario.Fault{
		Where:   place,
		Keyword: keyword,
		Message: text,
	})
}

// keywordOf is the keyword of OpenAPI that is broken. Null breaks nullable, because that is what a
// reader of OpenAPI 3.0 looks for.
func keywordOf(wrong jsonschema.ErrorKind) string {
	switch wrong := wrong.(type) {
	case *kind.Type:
		if wrong.Got == "null" {
			return "nullable"
		}
	case *kind.Not:
		return "not"
	}
	path := wrong.KeywordPath()
	if len(path) == 0 {
		return "schema"
	}
	return path[0]
}
