package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Allows reports whether a schema allows a value.
func Allows(wanted *Schema, value any) bool { return wanted.Validate(jsonvalue.Normal(value)) == nil }

// Faults lists what a schema finds wrong with a value. where is the beginning of each place.
func Faults(where string, wanted *Schema, value any) []scenario.Fault {
	err := wanted.Validate(jsonvalue.Normal(value))
	broken, isBroken := errors.AsType[*jsonschema.ValidationError](err)
	if !isBroken {
		return nil
	}
	reader := faultReader{where: where}
	reader.read(broken)
	return reader.faults
}

// faultReader makes faults of an error of jsonschema, which is a tree.
type faultReader struct {
	where  string
	faults []scenario.Fault
}

// read reads a node of the tree. A node that only groups others is no fault, but they are. A choice is a fault, and what its
// branches find is none.
func (r *faultReader) read(broken *jsonschema.ValidationError) {
	at := broken.InstanceLocation
	switch wrong := broken.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range broken.Causes {
			r.read(cause)
		}
	case *kind.Required:
		for _, name := range wrong.Missing {
			r.add(append(at, name), "required", "is missing")
		}
	case *kind.FalseSchema:
		r.add(at, keywordOfFalse(broken.SchemaURL), "must not be here")
	default:
		if format, isFormat := wrong.(*kind.Format); isFormat {
			format.Want = shownFormat(format.Want)
		}
		keyword := keywordOf(wrong)
		text := wrong.LocalizedString(message.NewPrinter(language.English))
		r.add(at, keyword, strings.TrimPrefix(text, keyword+": ")) // most texts begin with the keyword
	}
}

// keywordOfFalse is the keyword at the end of the location of a schema that forbids everything: that of a direction, or
// one such as unevaluatedProperties.
func keywordOfFalse(location string) string { return location[strings.LastIndex(location, "/")+1:] }

// shownFormat is the name of a format for people, also of that which each integer has.
func shownFormat(name string) string {
	if format, isInteger := strings.CutPrefix(name, hidden); isInteger {
		return fmt.Sprint(hidden, bitsOf(format))
	}
	return name
}

// add adds a fault at a place below that of the value: "body /owner/name" for [owner name] in a body.
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

// keywordOf is the keyword of OpenAPI that is broken. Null of another type breaks nullable, because that is what a reader of
// OpenAPI 3.0 looks for.
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
