package contract

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

// answer is the JSON error that the document has for a status of an operation.
type answer struct {
	mediaType string
	schema    schema
}

// problemType is the media type of errors of RFC 9457.
const problemType = "application/problem+json"

// answers returns the errors of an operation by their statuses, which may be 4XX or default.
func (l *loader) answers(described *openapi3.Operation) map[string]answer {
	found := map[string]answer{}
	if described.Responses == nil {
		return found
	}
	for status, response := range described.Responses.Map() {
		for mediaType, content := range response.Value.Content {
			if isJSON(mediaType) && content.Schema != nil && status[0] != '2' {
				found[status] = answer{mediaType, l.schema(content.Schema)}
			}
		}
	}
	return found
}

// Members of an error that have the message, and those that have the status.
var (
	messageMembers = []string{"message", "detail", "error", "title", "msg", "reason", "description", "error_description"}
	statusMembers  = []string{"status", "code", "statusCode", "status_code"}
)

// of returns the error with a status and a message, or nil if its schema asks for something that is not known.
func (a answer) of(status int, message string) map[string]any {
	if a.schema.node == nil {
		return nil
	}
	made := map[string]any{}
	for name, schemas := range membersOf(a.schema.node) {
		allowed := scalars(schemas[0])
		switch {
		case slices.Contains(messageMembers, name) && allowed.has(typeString):
			made[name] = message
		case slices.Contains(statusMembers, name) && allowed.has(typeInteger|typeNumber):
			made[name] = int64(status)
		}
	}
	if _, hasTitle := made["title"]; hasTitle && made["detail"] != nil {
		made["title"] = http.StatusText(status)
	}
	if a.mediaType == problemType && a.requires("type") {
		made["type"] = "about:blank" // RFC 9457, section 4.2.1
	}
	first := a.schema.visit("", "")
	first.isSilent, first.isRequest = true, false
	first.check(a.schema.node, made)
	if first.isWrong || len(made) == 0 {
		return nil
	}
	return made
}

// requires reports whether an error must have a member.
func (a answer) requires(name string) bool {
	isRequiredBy := func(part *node) bool { return slices.Contains(part.required, name) }
	return slices.ContainsFunc(a.schema.together, isRequiredBy)
}

// refuseAsDocumented responds with the JSON error that the document has for the status, or with plain text.
func refuseAsDocumented(w http.ResponseWriter, _ *http.Request, refusal *Refusal) {
	status := refusal.Kind.Status()
	if refusal.Operation != nil {
		answers := refusal.Operation.answers
		for _, key := range keysOf(status) {
			known := answers[key]
			if failure := known.of(status, refusal.Message); failure != nil {
				w.Header().Set("Content-Type", cmp.Or(known.mediaType, "application/json"))
				w.WriteHeader(status)
				_, _ = w.Write(jsonOf(failure)) // the client may have gone
				return
			}
		}
	}
	http.Error(w, refusal.Message, status)
}

// keysOf returns where a document has the response with a status.
func keysOf(status int) []string {
	return []string{strconv.Itoa(status), strconv.Itoa(status/100) + "XX", "default"}
}

// ErrorBody returns the body of an error with a status and a message, and its media type: as the document has it for the status,
// or else for another error of the operation, or of any other one. The operation may be nil. In a document without a form of
// errors it is {"message": …}.
func (c *Checker) ErrorBody(operation *Operation, status int, message string) (mediaType string, body []byte) {
	operations := slices.SortedFunc(slices.Values(c.operations), func(a, b *Operation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	if operation != nil {
		operations = slices.Insert(operations, 0, operation)
	}
	for _, each := range operations {
		for _, key := range append(keysOf(status), slices.Sorted(maps.Keys(each.answers))...) {
			known := each.answers[key]
			if failure := known.of(status, message); failure != nil {
				return cmp.Or(known.mediaType, "application/json"), jsonOf(failure)
			}
		}
	}
	return "application/json", jsonOf(map[string]any{"message": message})
}
