package document

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// commonError is a response that a service which checks requests gives whatever the operation is.
type commonError struct {
	status, name, description string
	isPossible                func(d *Document, operation Operation) bool
}

var commonErrors = []commonError{
	{"400", "BadRequest", "The request is not valid.", (*Document).hasInput},
	{"401", "Unauthorized", "There are no credentials, or they are not valid.", (*Document).isSecured},
	{"404", "NotFound", "There is nothing with this key.", (*Document).isForResources},
	{"409", "Conflict", "Another one has this key.", (*Document).isForResources},
	{"413", "ContentTooLarge", "The body is too large.", (*Document).hasBody},
	{"415", "UnsupportedMediaType", "The body has another media type.", (*Document).hasBody},
}

// isForResources says that only the operations of the command add have an error for certain.
func (d *Document) isForResources(Operation) bool { return false }

func (d *Document) hasBody(operation Operation) bool {
	return find(operation.node, "requestBody") != nil
}

func (d *Document) hasInput(operation Operation) bool {
	return len(d.parametersOf(operation)) > 0 || d.hasBody(operation)
}

// isSecured reports whether no alternative of the operation is without credentials.
func (d *Document) isSecured(operation Operation) bool {
	security := find(operation.node, "security")
	if security == nil {
		security = find(d.root, "security")
	}
	isOpen := func(alternative *yaml.Node) bool { return len(alternative.Content) == 0 }
	return len(items(security)) > 0 && !slices.ContainsFunc(items(security), isOpen)
}

// lacking returns the operations that can respond with an error which the document does not list.
func (d *Document) lacking(failure commonError) []Operation {
	isListed := func(key string) bool {
		return slices.Contains([]string{failure.status, failure.status[:1] + "XX", "default"}, key)
	}
	return slices.DeleteFunc(d.Operations(), func(operation Operation) bool {
		return !failure.isPossible(d, operation) || slices.ContainsFunc(keysOf(find(operation.node, "responses")), isListed)
	})
}

// MissingErrors says which statuses the document does not list, a line for each, such as "401 of GET /things, and of 2 more".
func (d *Document) MissingErrors() (lines []string) {
	for _, failure := range commonErrors {
		lacking := d.lacking(failure)
		if len(lacking) == 0 {
			continue
		}
		line := failure.status + " of " + lacking[0].Method + " " + lacking[0].Path
		if others := len(lacking) - 1; others > 0 {
			line += fmt.Sprintf(", and of %d more", others)
		}
		lines = append(lines, line)
	}
	return lines
}

// AddErrors lists the statuses of MissingErrors in the document. They have the form of the errors that it has.
func (d *Document) AddErrors() error {
	content := d.errorContent()
	for _, failure := range commonErrors {
		lacking := d.lacking(failure)
		if len(lacking) == 0 {
			continue
		}
		name, response := d.newResponse(failure, content)
		set(made(d.root, "components", "responses"), name, response)
		for _, operation := range lacking {
			reference := mapping(scalar("$ref"), scalar("#/components/responses/"+name))
			set(made(operation.node, "responses"), failure.status, reference)
		}
	}
	return d.reprint()
}

// errorContent returns the content of the first error in the document, or of a plain one.
func (d *Document) errorContent() *yaml.Node {
	for _, operation := range d.Operations() {
		for status, response := range members(find(operation.node, "responses")) {
			content := find(d.followed(response), "content")
			isError := strings.HasPrefix(status.Value, "4") || status.Value == "default"
			if isError && strings.Contains(strings.Join(keysOf(content), " "), "json") {
				return clone(content)
			}
		}
	}
	message := mapping(scalar("message"), mapping(scalar("type"), scalar("string")))
	schema := mapping(scalar("type"), scalar("object"), scalar("required"), sequence(scalar("message")), scalar("properties"), message)
	return mapping(scalar("application/json"), mapping(scalar("schema"), schema))
}

// newResponse returns a response with an error, and a name that no other one of the components has.
func (d *Document) newResponse(failure commonError, content *yaml.Node) (name string, response *yaml.Node) {
	name = failure.name
	for find(d.root, "components", "responses", name) != nil {
		name += "Error"
	}
	return name, mapping(scalar("description"), scalar(failure.description), scalar("content"), clone(content))
}
