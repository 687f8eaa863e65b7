package plantcontract

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest"
)

// The checks of this package find what is wrong with each response, and nothing wrong with a right one. What breaks a
// schema, a header or a status is found by package contracttest, and tested there.
func TestWrongResponses(t *testing.T) {
	const details = `,"details":[{"in":"body","pointer":"/name","message":"m"}]`
	for name, c := range map[string]struct {
		request string
		status  int
		failure string // the number, and what comes after the message
		header  http.Header
		want    string // a part of the only fault; "": there is none
	}{
		"a right failure":                      {request: "POST /plants", status: 400, failure: "40002 " + details},
		"an unlisted error number":             {request: "POST /plants", status: 400, failure: "40099 " + details, want: "body /error: ErrorCode"},
		"an error number for another status":   {request: "POST /plants", status: 400, failure: "50000 " + details, want: "body /error: ErrorCode"},
		"an invalid body without details":      {request: "POST /plants", status: 400, failure: "40002 ", want: "body /details: ErrorCode"},
		"a bad parameter without details":      {request: "GET /plants", status: 400, failure: "40003 ", want: "body /details: ErrorCode"},
		"an id given twice without details":    {request: "POST /plants:batch", status: 400, failure: "40010 ", want: "body /details: ErrorCode"},
		"a fault of ours without a request id": {request: "GET /plants", status: 500, failure: "50000 ", want: "body /request_id: ErrorCode"},
		"an unknown path":                      {request: "GET /nowhere", status: 404, failure: "40400 "},
		"an unknown path that is a plant":      {request: "GET /nowhere", status: 404, failure: "40401 ", want: "body /error: ErrorCode"},
		"no request id for an unknown path": {
			request: "GET /nowhere", status: 404, failure: "40400 ", header: http.Header{"X-Request-Id": nil}, want: "header X-Request-Id: required",
		},
		"a part of the page":                 {request: "GET /docs/nothing", status: 404, failure: "40400 "},
		"a part of the page that is a plant": {request: "GET /docs/nothing", status: 404, failure: "40401 ", want: "body /error: ErrorCode"},
		"documentation that is hidden":       {request: "GET /docs", status: 401, want: "status: documentation"},
		"documentation that is not there":    {request: "GET /docs", status: 404, want: "status: documentation"},
		"documentation that leads elsewhere": {request: "GET /docs", status: 307, want: "status: documentation"},
		"a root that is not there":           {request: "GET /", status: 404, want: "status: documentation"},
		"a root that leads to the page":      {request: "GET /", status: 307, header: http.Header{"Location": {"docs"}}},
		"a root that leads elsewhere": {
			request: "GET /", status: 307, header: http.Header{"Location": {"plants"}}, want: "header Location: documentation",
		},
		"Allow too short": {request: "OPTIONS /plants", status: 204, header: http.Header{"Allow": {"OPTIONS"}}, want: "lists [OPTIONS]"},
	} {
		x := contracttest.Interaction{Status: c.status, Header: http.Header{"X-Request-Id": {"1"}}}
		x.Method, x.Path, _ = strings.Cut(c.request, " ")
		for name, values := range c.header {
			x.Header[name] = values
		}
		if number, rest, isFailure := strings.Cut(c.failure, " "); isFailure {
			x.Header.Set("Content-Type", "application/json")
			x.Body = fmt.Appendf(nil, `{"error":%s,"message":"m"%s}`, number, rest)
		}
		faults := fmt.Sprint(Plants().Faults(x))
		if isRight := faults == "[]"; isRight != (c.want == "") || !strings.Contains(faults, c.want) {
			t.Errorf("%s: the faults are %s, want %q", name, faults, c.want)
		}
	}
}
