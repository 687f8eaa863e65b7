package judge

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

const thingsDocument = `
openapi: 3.0.3
info: {title: Things, version: "1"}
paths:
  /things:
    put:
      operationId: putThing
      responses:
        "200": {description: Put., content: {application/json: {schema: {type: object, properties: {id: {type: integer}}}}}}
        default: {description: All others.}
`

func thing(status int, body string, requestHeader ...string) scenario.Interaction {
	x := scenario.Interaction{
		Method: "PUT", URL: "http://things.example/things", Path: "/things", RequestHeader: http.Header{},
		Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body),
	}
	for _, name := range requestHeader {
		x.RequestHeader.Set(name, `"1"`)
	}
	return x
}

func thingsJudge(t *testing.T) *Judge {
	t.Helper()
	things, err := document.Parse([]byte(thingsDocument))
	must.NoError(t, err)
	return New(things, nil, Settings{})
}

// What has been changed in a request is not why it fails if the plainest one fails with the same status, or if the
// service is not available.
func TestFailing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		plainest, status int
		want             string
	}{
		{0, 501, "wrong credentials give 501"},
		{500, 501, "wrong credentials give 501"},
		{501, 501, "putThing responds with 501"},
		{0, 503, "the service responds with 503"},
	} {
		judge := thingsJudge(t)
		judge.NoteFailing("putThing", c.plainest)
		err := judge.Refused(thing(c.status, `{}`), scenario.Violation{Kind: scenario.NoCredentials}, scenario.Promise{})
		broken, _ := errors.AsType[scenario.Broken](err)
		if report.CauseText(broken.Cause) != c.want {
			t.Errorf("after %d the cause is %q, want %q", c.plainest, report.CauseText(broken.Cause), c.want)
		}
	}
}

// An operation that needs no credentials cannot see that they are wrong.
func TestOpen(t *testing.T) {
	t.Parallel()
	judge := thingsJudge(t)
	for _, c := range []struct {
		kind scenario.Kind
		want string
	}{
		{scenario.BadCredentials, "requests with wrong credentials are not refused"},
		{scenario.NoCredentials, "requests without credentials are not refused"},
		{scenario.BadCredentials, "requests without credentials are not refused"},
	} {
		broken, _ := errors.AsType[scenario.Broken](judge.Refused(thing(200, `{}`), scenario.Violation{Kind: c.kind}, scenario.Promise{}))
		if report.CauseText(broken.Cause) != c.want {
			t.Errorf("of %s the cause is %q, want %q", c.kind, report.CauseText(broken.Cause), c.want)
		}
	}
}

// A redirection that the document does not have neither accepts a request nor refuses it.
func TestLeadsElsewhere(t *testing.T) {
	t.Parallel()
	judge := thingsJudge(t)
	x := thing(302, "")
	x.Header = http.Header{"Location": {"/login"}}
	for _, err := range []error{
		judge.Accepted(x, scenario.Promise{}),
		judge.Refused(x, scenario.Violation{Kind: scenario.NoCredentials}, scenario.Promise{}),
	} {
		if _, isNotTested := errors.AsType[scenario.NotTested](err); !isNotTested {
			t.Errorf("got %v, want that it is not tested", err)
		}
	}
}

// What libraries do the same everywhere has a root.
func TestRoots(t *testing.T) {
	t.Parallel()
	judge := thingsJudge(t)
	inBody := scenario.Violation{Kind: scenario.InvalidBody, In: "body", Pointer: "/name"}
	wholeBody := scenario.Violation{Kind: scenario.InvalidBody, In: "body"}
	asking := func(body string) scenario.Interaction {
		x := thing(500, `{}`)
		x.RequestBody = []byte(body)
		return x
	}
	form := asking("")
	form.RequestHeader = http.Header{"Content-Type": {"multipart/form-data"}}
	for want, err := range map[string]error{
		"the media type multipart/form-data without a body gives 500": judge.Crashed(form, Asked{Violation: &wholeBody}, ""),
		"successes with 202 are not documented":                       judge.Accepted(thing(202, `{}`), scenario.Promise{}),
		"bodies that are required may be missing":                     judge.Refused(thing(200, `{}`), scenario.Violation{Kind: scenario.MissingBody}, scenario.Promise{}),
		"null is accepted where the document does not allow it":       judge.Refused(thing(200, `{}`), inBody, asPromise("putThing, body /name nullable, refused")),
		"values of another type are accepted":                         judge.Refused(thing(200, `{}`), inBody, asPromise("putThing, body /name anyOf, refused")),
		`the body "` + strings.Repeat("7", 40) + `" gives 500`:        judge.Crashed(asking(strings.Repeat("7", 40)), Asked{Violation: &wholeBody}, ""),
		`the body "1e999" gives 500`:                                  judge.Crashed(asking(`1e999`), Asked{Violation: &wholeBody}, ""),
		"putThing in requests: valid members are refused with 400":    judge.Accepted(thing(400, `{}`), asPromise("putThing, body /name maxLength, accepted")),
	} {
		broken, _ := errors.AsType[scenario.Broken](err)
		if report.CauseText(broken.Root) != want {
			t.Errorf("the root of %+v is %+v, want %q", broken.Cause, broken.Root, want)
		}
	}
	for name, err := range map[string]error{
		"a member":          judge.Crashed(asking(`{"name":[]}`), Asked{Violation: &inBody}, ""),
		"a body of its own": judge.Crashed(asking(strings.Repeat("7", 41)), Asked{Violation: &wholeBody}, ""),
		"nothing asked":     judge.Crashed(asking(`1e999`), Asked{}, ""),
	} {
		broken, _ := errors.AsType[scenario.Broken](err)
		if broken.Root != (scenario.Cause{}) {
			t.Errorf("the root of %s is %+v", name, broken.Root)
		}
	}
	for body, want := range map[string]string{
		`{"id":null}`: "responses have null where the document does not allow it",
		`{"id":"1"}`:  "putThing, 200: bodies are not as the document says",
	} {
		failures := judge.Failures(thing(200, body), "test", Asked{}, nil)
		if len(failures) != 1 || causeText(failures[0].Root) != want {
			t.Errorf("of %s the failures are %v, want the root %q", body, failures, want)
		}
	}
}

// The options see what the document finds, and which operation it was.
func TestOptions(t *testing.T) {
	t.Parallel()
	judge := thingsJudge(t)
	judge.Settings.Faults = func(of scenario.Judged) []scenario.Fault {
		if len(of.Faults) > 0 || of.Operation != "putThing" {
			return of.Faults
		}
		return one("client", "client", "cannot read it")
	}
	for body, want := range map[string]string{`{"id":1}`: "client", `{"id":""}`: "body /id"} {
		faults := judge.Faults(thing(200, body))
		if len(faults) != 1 || faults[0].Where != want {
			t.Errorf("of %s the faults are %v, want one of %s", body, faults, want)
		}
	}
}
