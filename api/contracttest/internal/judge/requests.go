package judge

import (
	"net/url"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// RequestFailures returns what the document forbids of a request that has succeeded: the service takes more than its document
// says, or the test that has sent it is wrong.
func (j *Judge) RequestFailures(x scenario.Interaction, test string) (all []scenario.Failure) {
	operation := j.Document.Serving(x.Method, x.Path)
	isSuccess := x.Status/100 == 2
	if operation == nil || !isSuccess {
		return nil
	}
	for _, fault := range slices.Concat(j.sentBody(operation, x), j.sentParameters(operation, x)) {
		cause := scenario.Cause{Kind: scenario.Accepts, Operation: operation.ID, In: "body", Place: pointerOf(fault), Keyword: fault.Keyword}
		if _, name, isParameter := strings.Cut(fault.Where, parameterPlace); isParameter {
			cause.In, cause.Place = "parameter", name
		}
		all = append(all, scenario.Failure{
			Cause:   cause,
			Rank:    scenario.Behaviour,
			Message: "the document forbids this request: " + fault.String(),
			Test:    test,
			Sent:    x,
		})
	}
	return all
}

// parameterPlace is in the place of a fault of a parameter, before the name: "query parameter limit".
const parameterPlace = " parameter "

// sentBody judges a body of JSON. One that is no JSON may have been read in part only, as far as the service wanted it.
func (j *Judge) sentBody(operation *document.Operation, x scenario.Interaction) []scenario.Fault {
	mediaType := x.RequestHeader.Get("Content-Type")
	described := operation.Content.Get(mediaType)
	value, err := jsonvalue.Decode(x.RequestBody)
	if described == nil || err != nil || !document.IsJSON(mediaType) {
		return nil
	}
	return schema.Faults("body", described.Schema, value)
}

// sentParameters judges the parameters of path and query.
func (j *Judge) sentParameters(operation *document.Operation, x scenario.Interaction) (faults []scenario.Fault) {
	address, err := x.ParsedURL()
	if err != nil {
		return nil
	}
	sent := map[string]url.Values{"query": address.Query(), "path": {}}
	for i, text := range operation.PathValues(x.Path) {
		plain, _ := url.PathUnescape(text) // it was a path
		sent["path"][operation.PathNames[i]] = []string{plain}
	}
	for _, parameter := range operation.Parameters {
		if values, isRead := sent[parameter.In]; isRead && isPlain(parameter) {
			faults = append(faults, j.sentParameter(parameter, values[parameter.Name])...)
		}
	}
	return faults
}

// isPlain reports whether the text of a parameter says what its value is. Of an object or an array it does not, because there are
// many styles, nor where a schema has several types.
func isPlain(parameter *document.Parameter) bool {
	return len(parameter.Content) == 0 && slices.Contains([]string{"string", "integer", "number", "boolean"}, schema.TypeOf(parameter.Schema))
}

// sentParameter judges the first value of a parameter. An empty one is right: services differ in what it means.
func (j *Judge) sentParameter(parameter *document.Parameter, values []string) []scenario.Fault {
	where := parameter.In + parameterPlace + parameter.Name
	switch {
	case len(values) == 0:
		return require(!parameter.Required, where, "required", "is missing")
	case values[0] == "":
		return nil
	}
	return textFaults(where, parameter.Schema, values[0])
}
