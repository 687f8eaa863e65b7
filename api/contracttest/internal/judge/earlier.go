package judge

import (
	"fmt"
	"net/http"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Documents of earlier releases are promises, too: clients that were generated from them are still in use.

// toEarlierClient checks a response as a client of an earlier document reads it: a status that the earlier
// document has must match it, members may have been added since. So a change that breaks a client is found
// by the responses, and not only by comparing documents.
func (j *Judge) toEarlierClient(earlier *document.Document, name string, x scenario.Interaction) []scenario.Fault {
	operation := earlier.Find(x.Method, x.Path)
	if operation == nil {
		return nil
	}
	prefix := "to a client of " + name + ", "
	described := operation.Response(x.Status)
	if described == nil && x.Status >= http.StatusBadRequest {
		// The client knows an unknown status only as one of a class (RFC 9110, section 15), so every
		// failure must be readable as the failure that it knows.
		described = operation.Response(http.StatusBadRequest)
	}
	if described == nil {
		return one(prefix+"status", unlistedStatus, fmt.Sprintf("%d is unknown", x.Status))
	}
	if len(described.Content) == 0 || hasNoBody(x.Status) {
		return nil // the client reads no body
	}
	found, faults := contentOf(described.Content, x)
	if faults == nil {
		_, faults = found.value(x)
	}
	for i := range faults {
		faults[i].Where = prefix + faults[i].Where
	}
	return faults
}
