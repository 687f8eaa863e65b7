package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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

// Faults lists what a schema finds wrong with a value, in the order of the places. where is the beginning of each place.
func Faults(where string, wanted *Schema, value any) []scenario.Fault {
	err := wanted.Validate(jsonvalue.Normal(value))
	broken, isBroken := errors.AsType[*jsonschema.ValidationError](err)
	if !isBroken {
		return nil
	}
	reader := faultReader{where: where}
	reader.read(broken)
	slices.SortFunc(reader.faults, func(one, other scenario.Fault) int { // jsonschema has them in no order
		return cmp.Or(cmp.Compare(one.Where, other.Where), cmp.Compare(one.Keyword, other.Keyword))
	})
	return reader.faults
}

// faultReader makes faults of an error of jsonschema, which is a tree.
type faultReader struct {
	where  string
	faults []scenario.Fault
}

// read reads a node of the tree. A node that only groups others is no fault, but they are. A choice is a fault, and what its
// branches find is none, unless one branch alone takes values of this type: of {anyOf: [Pot, null]}, Pot was meant.
func (r *faultReader) read(broken *jsonschema.ValidationError) {
	at := broken.InstanceLocation
	if isGroup(broken) {
		for _, cause := range broken.Causes {
			r.read(cause)
		}
		return
	}
	if only := onlyOfType(broken); only != nil {
		r.read(only)
		return
	}
	switch wrong := broken.ErrorKind.(type) {
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

// isGroup reports whether a node only groups others.
func isGroup(broken *jsonschema.ValidationError) bool {
	switch broken.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		return true
	}
	return false
}

// onlyOfType is what the only branch of a choice finds that takes values of this type, or nil.
func onlyOfType(broken *jsonschema.ValidationError) (only *jsonschema.ValidationError) {
	switch broken.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
	default:
		return nil
	}
	isOther := func(branch *jsonschema.ValidationError) bool {
		return isOfOtherType(branch, len(broken.InstanceLocation))
	}
	branches := slices.DeleteFunc(slices.Clone(broken.Causes), isOther)
	if len(branches) != 1 {
		return nil
	}
	return branches[0]
}

// isOfOtherType reports whether a branch does not take values of the type that the one at a depth has.
func isOfOtherType(branch *jsonschema.ValidationError, depth int) bool {
	if isGroup(branch) {
		return slices.ContainsFunc(branch.Causes, func(cause *jsonschema.ValidationError) bool { return isOfOtherType(cause, depth) })
	}
	_, isOfType := branch.ErrorKind.(*kind.Type)
	return isOfType && len(branch.InstanceLocation) == depth
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
