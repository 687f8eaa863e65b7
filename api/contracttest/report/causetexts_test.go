package report

import (
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A cause is a sentence in each of its forms: of one operation, of a component, of several of them, and of all.
func TestCauseText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cause scenario.Cause
		want  string
	}{
		{scenario.Cause{Kind: scenario.NoResponse, Operation: "getPot"}, "getPot gives no response"},
		{scenario.Cause{Kind: scenario.NoResponse}, "an operation that the document does not have gives no response"},
		{scenario.Cause{Kind: scenario.Crashes, Operation: "getPot", Status: 500}, "getPot responds with 500"},
		{scenario.Cause{Kind: scenario.Crashes, Component: "Pot", Status: 500}, "Pot in requests gives 500"},
		{scenario.Cause{Kind: scenario.Crashes, Status: 500, Value: "no such table"}, "operations respond with 500: no such table"},
		{scenario.Cause{Kind: scenario.ReadsCrash, Place: "/pots/{}", Status: 500}, "reads of /pots/{} and below it give 500"},
		{scenario.Cause{Kind: scenario.BodyCrash, Value: `"a"`, Status: 500}, `the body "\"a\"" gives 500`},
		{scenario.Cause{Kind: scenario.UndocumentedOperation}, "the service has operations that the document does not have"},
		{scenario.Cause{Kind: scenario.UndocumentedOperation, Operation: "PUT", Place: "/pots"}, "the service has PUT /pots, and the document does not"},
		{scenario.Cause{Kind: scenario.UndocumentedStatus}, "statuses of refusals are not documented"},
		{scenario.Cause{Kind: scenario.UndocumentedStatus, Status: 404}, "the status 404 is not documented"},
		{scenario.Cause{Kind: scenario.OtherMediaType, Status: 2}, "a response of 2xx has no Content-Type"},
		{scenario.Cause{Kind: scenario.OtherMediaType, Status: 2, Value: "text/plain"}, "a response of 2xx has another media type: text/plain"},
		{scenario.Cause{Kind: scenario.WrongStatus, Keyword: "default"}, "the status breaks default"},
		{scenario.Cause{Kind: scenario.WrongStatus, Keyword: "paths", Status: 404}, "the status must be 404: the document has no such operation"},
		{scenario.Cause{Kind: scenario.WrongStatus, Keyword: "security", Status: 401}, "the status must be 401"},
		{scenario.Cause{Kind: scenario.UndocumentedSuccess, Status: 202}, "successes with 202 are not documented"},
		{scenario.Cause{Kind: scenario.UndocumentedSuccess, Operation: "addPot", Status: 202}, "addPot succeeds with 202, which is not documented"},
		{scenario.Cause{Kind: scenario.AcceptsNoBody}, "bodies that are required may be missing"},
		{scenario.Cause{Kind: scenario.AcceptsNoBody, Operation: "addPot"}, "addPot succeeds without a body"},
		{scenario.Cause{Kind: scenario.WrongForm, Value: "{}"}, "{} in responses is not what the document says"},
		{scenario.Cause{Kind: scenario.WrongForm, Component: "Pot"}, "Pot in responses: bodies are not as the document says"},
		{scenario.Cause{Kind: scenario.WrongForm, Operation: "getPot", Status: 200}, "getPot, 200: bodies are not as the document says"},
		{scenario.Cause{Kind: scenario.WrongForm, Status: 404}, "a response with 404: bodies are not as the document says"},
		{scenario.Cause{Kind: scenario.WrongBody, Keyword: "nullable"}, "responses have null where the document does not allow it"},
		{scenario.Cause{Kind: scenario.WrongBody, Keyword: "format", Place: "date"}, "responses have values without their format: date"},
		{scenario.Cause{Kind: scenario.WrongBody, Keyword: "type", Place: "/made"}, "components in responses: /made has another type"},
		{scenario.Cause{Kind: scenario.WrongBody, Component: "Pot", Place: "/id", Keyword: "required"}, "Pot in responses: /id is missing"},
		{scenario.Cause{Kind: scenario.WrongBody, Component: "Pot", Keyword: "minItems"}, "Pot in responses: breaks minItems"},
		{scenario.Cause{Kind: scenario.Accepts, Keyword: "type"}, "values of another type are accepted"},
		{scenario.Cause{Kind: scenario.Accepts, In: "parameter", Place: "size", Keyword: "maximum"}, "a value that breaks maximum is accepted as parameter size"},
		{scenario.Cause{Kind: scenario.Accepts, In: "parameter", Place: "size", Keyword: "required"}, "parameter size is required, and may be missing"},
		{scenario.Cause{Kind: scenario.Accepts, In: "parameter", Operation: "getPot", Place: "size", Keyword: "enum"}, "getPot: a value that is not in the enum is accepted as parameter size"},
		{scenario.Cause{Kind: scenario.Accepts, In: "body", Component: "Pot", Place: "/id", Keyword: "required"}, "Pot in requests: /id is required, and may be missing"},
		{scenario.Cause{Kind: scenario.Accepts, In: "body", Operation: "addPot", Place: "/id", Keyword: "nullable"}, "addPot in requests: null is accepted as /id"},
		{scenario.Cause{Kind: scenario.Accepts, In: "body", Keyword: "additionalProperties"}, "requests: a member that no schema names is accepted"},
		{scenario.Cause{Kind: scenario.RefusesMember, Component: "Pot", Status: 400}, "Pot in requests: valid members are refused with 400"},
		{scenario.Cause{Kind: scenario.RefusesMember, Component: "Pot", Place: "/id", Status: 400}, "Pot in requests: a valid /id is refused with 400"},
		{scenario.Cause{Kind: scenario.RefusesMember, Component: "Pot", Place: "/id", Keyword: "required", Status: 400}, "Pot in requests: without /id, which is optional, they are refused with 400"},
		{scenario.Cause{Kind: scenario.RefusesParameter, Place: "size", Status: 400}, "a valid parameter size is refused with 400"},
		{scenario.Cause{Kind: scenario.RefusesNoBody, Operation: "addPot", Status: 400}, "addPot: a request without a body, which is optional, is refused with 400"},
		{scenario.Cause{Kind: scenario.IgnoresCredentials, Violation: scenario.BadCredentials}, "requests with wrong credentials are not refused"},
		{scenario.Cause{Kind: scenario.Succeeds, Operation: "addPot", Violation: scenario.MalformedBody}, "addPot succeeds with a body that is not JSON"},
		{scenario.Cause{Kind: scenario.WrongHeader, Place: "Allow", Keyword: "paths"}, "header Allow does not list the methods of its path"},
		{scenario.Cause{Kind: scenario.BrokenPromise, Promise: scenario.Promise{Operation: "addPot", Kind: scenario.ReadSeesCreate}}, "addPot: a read does not show what was created"},
	} {
		if got := CauseText(c.cause); got != c.want {
			t.Errorf("%+v: %q, want %q", c.cause, got, c.want)
		}
	}
}
