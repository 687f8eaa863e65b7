package scenario

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A failure is told with its id, what repeats it, and what was received.
func TestFailure(t *testing.T) {
	t.Parallel()
	sent := Interaction{Method: http.MethodGet, URL: "http://a.example/x"}
	received := func(body string) Interaction {
		x := sent
		x.Status = 500
		x.Body = []byte(body)
		return x
	}
	const curl = "\n\tsent:   curl -i -X GET 'http://a.example/x'"
	for _, c := range []struct {
		name string
		sent Interaction
		want string
	}{
		{"nothing was sent", Interaction{}, ""},
		{"no response", sent, curl},
		{"a response", received("wrong\n"), curl + "\n\tgot:    500 wrong"},
		{"several lines", received("a\nb\n"), curl + "\n\tgot:    500 \"a\\nb\""},
		{"a long one", received(strings.Repeat("x", 501)), curl + "\n\tgot:    500 " + strings.Repeat("x", 500)},
	} {
		f := Failure{Cause: Cause{Kind: Crashes, Operation: "getPot", Status: 500}, Message: "the message", Sent: c.sent}
		if got, want := f.String(), "["+f.Cause.ID()+"] the message"+c.want; got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}

// What is known of a failure is known of its cause at one operation, and not of its root.
func TestReasonIn(t *testing.T) {
	t.Parallel()
	cause := Cause{Kind: Accepts, In: "body", Keyword: "nullable", Place: "/name"}
	root := Cause{Kind: Accepts, Keyword: "nullable"}
	rooted := Failure{Cause: cause, Root: root}
	atPots, atPans := Failure{Cause: cause, Operation: "createPot"}, Failure{Cause: cause, Operation: "createPan"}
	for _, c := range []struct {
		failure Failure
		known   map[string]string
		want    string
	}{
		{rooted, nil, ""},
		{rooted, map[string]string{cause.ID(): "x"}, "x"},
		{rooted, map[string]string{root.ID(): "y"}, ""},
		{atPots, map[string]string{cause.ID(): "x"}, ""},
		{atPots, map[string]string{atPots.PlaceID(): "x"}, "x"},
		{atPans, map[string]string{atPots.PlaceID(): "x"}, ""},
		{Failure{Cause: cause}, map[string]string{"": ""}, ""},
	} {
		if got := c.failure.ReasonIn(c.known); got != c.want {
			t.Errorf("%+v is known for %q, want %q", c.failure, got, c.want)
		}
	}
	if got := (Cause{}).ID(); got != "" {
		t.Errorf("no root has the id %q", got)
	}
}

// An operation has refused a request if nothing is wrong but that, or if wrong credentials were refused for another reason.
func TestRefusedBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   CauseKind
		status int
		want   string
	}{
		{RefusesValid, 400, "createPot"}, {IgnoresCredentials, 400, "createPot"}, {IgnoresCredentials, 200, ""}, {Accepts, 400, ""},
	} {
		f := Failure{Cause: Cause{Kind: c.kind}, Sent: Interaction{Status: c.status}, Operation: "createPot"}
		if got := f.RefusedBy(); got != c.want {
			t.Errorf("%s with %d is refused by %q, want %q", c.kind, c.status, got, c.want)
		}
	}
}

// The options may say which scope an operation needs.
func TestScopeOf(t *testing.T) {
	t.Parallel()
	scopeOf := func(operation Operation) string { return "of " + operation.ID }
	if got := (Rules{Scope: scopeOf}).ScopeOf(Operation{ID: "getPot"}); got != "of getPot" {
		t.Errorf("the scope is %q", got)
	}
	if got := (Rules{}).ScopeOf(Operation{ID: "getPot"}); got != "" {
		t.Errorf("without a rule the scope is %q", got)
	}
}

// A report begins with what is worst.
func TestRanks(t *testing.T) {
	t.Parallel()
	if !slices.IsSorted([]Rank{Crash, Behaviour, Response, Undocumented, Header}) || Crash == Behaviour || Undocumented == Header {
		t.Error("the ranks have another order")
	}
	got := Fault{Where: "body /a", Keyword: "type", Message: "is wrong"}.String()
	if got != "body /a: type: is wrong" {
		t.Errorf("the fault is %q", got)
	}
}

// An outcome is kept if nothing is wrong, and all was tried.
func TestIsKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outcome Outcome
		want    bool
	}{{Outcome{}, true}, {Outcome{NotTested: "why"}, false}, {Outcome{Failures: []Failure{{}}}, false}} {
		if c.outcome.IsKept() != c.want {
			t.Errorf("%+v is kept: %v", c.outcome, !c.want)
		}
	}
}

// What is wrong is an error, with its cause and its rank.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want error
	}{
		{Brokenf("a %d", 1), Broken{Rank: Behaviour, Message: "a 1"}},
		{BrokenBy(Cause{Kind: ListLacks}, "a %d", 1), Broken{Cause: Cause{Kind: ListLacks}, Rank: Behaviour, Message: "a 1"}},
		{Require(false, "a %d", 1), Broken{Rank: Behaviour, Message: "a 1"}},
		{Require(true, "a"), nil},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%#v, want %#v", c.err, c.want)
		}
	}
	if got := (Broken{Message: "a"}).Error() + NotTested("b").Error(); got != "ab" {
		t.Errorf("they say %q", got)
	}
}

// What is expected of a response.
func TestExpectations(t *testing.T) {
	t.Parallel()
	if !Accepted.Success || Accepted.Violation != nil {
		t.Errorf("accepted is %+v", Accepted)
	}
	if got := Refused(Conflict); got.Success || *got.Violation != (Violation{Kind: Conflict}) {
		t.Errorf("refused is %+v", got)
	}
	if got := RefusedAt(InvalidBody, "body", "/a"); got.Success || *got.Violation != (Violation{Kind: InvalidBody, In: "body", Pointer: "/a"}) {
		t.Errorf("refused is %+v", got)
	}
}

// The last promise of a test names it, or its name does.
func TestPromise(t *testing.T) {
	t.Parallel()
	named := Promise{Kind: DeclaredPromise, Place: "name"}
	first, last := Effect("listPots", "limit"), Default("listPots", "limit")
	for want, test := range map[Promise]Test{named: {Name: "name"}, last: {Name: "name", Shows: []Promise{first, last}}} {
		if got := test.Promise(); got != want {
			t.Errorf("the promise is %+v, want %+v", got, want)
		}
	}
}

// A test of credentials sends those of its schemes and no others, and nothing where one is missing.
func TestAccess(t *testing.T) {
	t.Parallel()
	given := Given{
		Own:     Credentials{"token": "Bearer t", "key": "k", "empty": ""},
		Without: map[string]Credentials{"write": {"token": "Bearer reader"}},
	}
	for name, c := range map[string]struct {
		access Access
		want   Credentials
	}{
		"none":                {Only(), Credentials{}},
		"one":                 {Only("token"), Credentials{"token": "Bearer t"}},
		"two":                 {Only("token", "key"), Credentials{"token": "Bearer t", "key": "k"}},
		"one is missing":      {Only("token", "other"), nil},
		"one is empty":        {Only("token", "empty"), nil},
		"without a scope":     {Without("write"), Credentials{"token": "Bearer reader"}},
		"without another one": {Without("read"), nil},
	} {
		if got := c.access.Edit(given); !maps.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A violation is refused with one of the statuses of RFC 9110.
func TestViolations(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind][]int{
		"unknown path": {404}, "unknown method": {405, 501}, "no credentials": {401, 403}, "bad credentials": {401, 403}, "missing scope": {403},
		"invalid parameter": {400, 404, 422}, "missing body": {400, 411, 415, 422}, "wrong media type": {400, 415, 422},
		"malformed body": {400, 422}, "invalid body": {400, 422}, "unknown position": {410}, "unknown resource": {404, 410},
		"precondition failed": {412}, "conflict": {400, 409, 422},
	} {
		v := Violation{Kind: kind}
		if !slices.Equal(v.Statuses(), want) {
			t.Errorf("%s has %v, want %v", kind, v.Statuses(), want)
		}
		if !v.Allows(want[len(want)-1]) || v.Allows(200) {
			t.Errorf("%s allows a wrong status", kind)
		}
		isOfCredentials := kind == NoCredentials || kind == BadCredentials || kind == MissingScope
		if v.IsOfCredentials() != isOfCredentials {
			t.Errorf("%s is of credentials: %v", kind, !isOfCredentials)
		}
	}
}
