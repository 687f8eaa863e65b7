package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"

	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// requestTimeout is how long a service may take for one response.
	requestTimeout = time.Minute
	// silentTimeout is how long one may take that has once given no response at all.
	silentTimeout = 5 * time.Second
	// eventTimeout is how long an event stream may take for the first event, where
	// there is one.
	eventTimeout = 10 * time.Second
)

// ended ends a test that has failed, untried one that cannot try its promise, and says why.
type (
	ended   struct{}
	untried string
)

const (
	noCredentials untried = "no credentials were given for it, as a header of the options or of the command"
	noResource    untried = "it needs something that exists, and no test can create it"
	inexact       untried = "kin-openapi reads its number as a float64, which does not hold it"
	noIdentity    untried = "it conflicts with what exists, and no test knows what is free"
)

// notWritten is why the promises of an operation cannot be tried before it is written.
func notWritten(operationID string, status int) untried {
	return untried(fmt.Sprintf("%s is not written yet: it responds with %d", operationID, status))
}

// Session is one test that runs on a target. Its methods end the test when the
// service breaks a promise that the rest of the test needs.
type Session struct {
	ctx      context.Context
	contract *Contract
	target   Target
	suite    *suite
	test     Case
	last     Interaction // the last one
	failures []Failure
	doubted  *resource // an inferred one: what is wrong with it must be confirmed
}

// Failf ends the test with what is wrong with the service.
func (v *Session) Failf(format string, args ...any) {
	promise := v.test.Name
	if len(v.test.promises) > 0 {
		promise = v.test.promises[len(v.test.promises)-1]
	}
	v.fail(scenario.Behaviour, promise, v.last, format, args...)
}

// fail ends the test with what is wrong with a response.
func (v *Session) fail(rank scenario.Rank, cause string, x Interaction, format string, args ...any) {
	if rank == scenario.Behaviour && x.Status < 500 {
		v.confirm()
	}
	if name, rest, _ := strings.Cut(cause, ": "); x.Status >= 500 && rest != "" {
		rank, cause = scenario.Crash, fmt.Sprintf("%s responds with %d", name, x.Status)
	}
	v.failures = append(v.failures, Failure{Cause: cause, Message: fmt.Sprintf(format, args...), Test: v.test.Name, Sent: x, Rank: rank})
	panic(ended{})
}

// send sends a request with good credentials and checks the response.
func (v *Session) send(r *document.Operation, path string, query []string, header http.Header, body []byte) Interaction {
	credentials, ok := v.good(r)
	if !ok {
		panic(noCredentials)
	}
	return v.sendAs(r.Method, path, query, header, body, credentials)
}

// sendAs sends a request with any credentials and checks the response.
func (v *Session) sendAs(method, path string, query []string, header http.Header, body []byte, credentials Credentials) Interaction {
	url := v.target.URL + path
	if text := strings.Join(query, "&"); text != "" {
		url += "?" + text
	}
	within, r := requestTimeout, v.contract.document.Find(method, path)
	if r != nil && r.Streams() {
		within = eventTimeout
	}
	silent := v.name(Interaction{Method: method, Path: path}) + " gives no response"
	if v.contract.coverage.failedBy(silent) {
		within = silentTimeout
	}
	ctx, cancel := context.WithTimeoutCause(v.ctx, within, fmt.Errorf("no complete response in %v", within))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		v.Failf("%v", err)
	}
	req.Header = header.Clone()
	v.contract.addHeader(req.Header, r)
	for name, credential := range credentials {
		apply(req, v.contract.document.Scheme(name), credential)
	}
	transport := cmp.Or(v.target.Transport, http.DefaultTransport)
	x := Interaction{Method: method, URL: req.URL.String(), Path: path, RequestHeader: req.Header, RequestBody: body}

	resp, err := transport.RoundTrip(req)
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) {
		// The service may have closed the connection after the last response, as some do after
		// a failure. What closes it again, or ends the service, is this request.
		req.Body = io.NopCloser(bytes.NewReader(body))
		if again, another := transport.RoundTrip(req); another == nil {
			resp, err = again, nil
		}
	}
	var received []byte
	if err == nil {
		defer resp.Body.Close()
		received, err = receive(resp)
	}
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) {
			silent = "the service accepts no connection"
		}
		v.fail(scenario.Crash, silent, x, "%v", cmp.Or(context.Cause(ctx), err))
	}
	x.Status, x.Header, x.Body = resp.StatusCode, resp.Header, received
	if x.Status == http.StatusUnauthorized && v.contract.document.Serving(method, path) == nil && v.lacksCredentials() {
		panic(noCredentials) // it may ask for them before it says that there is no such path
	}
	if x.Status == v.contract.options.NotWritten {
		if unwritten := v.contract.document.Serving(method, path); unwritten != nil {
			panic(notWritten(unwritten.ID, x.Status))
		}
	}
	v.last = x
	v.failures = append(v.failures, v.contract.judge(x, v.test.Name)...)
	return x
}

// longNumber finds numbers that a float64 may not hold.
var longNumber = regexp.MustCompile(`[0-9]{16}`)

// run tries a case: what is in its way is removed, what it needs is created, and
// then the response and what has changed are checked.
func (v *Session) run(c *testCase) {
	if c.compare != nil {
		if err := c.compare(); err != nil && longNumber.Match(c.body) {
			panic(inexact)
		} else if err != nil {
			v.fail(scenario.Oracles, "two oracles differ on "+c.promise, Interaction{}, "the request was not sent: %v: %.300s", err, c.body)
		}
	}
	credentials, ok := v.good(c.route)
	if c.credentials != nil {
		credentials, ok = c.credentials(v)
	}
	if !ok {
		panic(noCredentials)
	}
	v.suite.removeAll(v, c)
	defer v.suite.removeAll(v, c)
	if c.route.Streams() && len(v.suite.resources) > 0 { // so that there is something to stream
		v.create(v.suite.resources[0], v.suite.gen.identity(v.suite.resources[0].schema))
	}
	var before *Interaction
	path, id := c.path(), c.id
	absent := c.absent
	if c.use != nil && id != nil {
		if created := v.created(c.use.resource, id); created == nil {
			absent = true
		} else if id = created; c.use.assigned {
			if p := c.route.Parameter("path", c.use.parameter); p != nil {
				c.parameters[p.Name], _ = document.Written(p, id)
			}
			path = c.path()
		}
	}
	if c.use != nil && id != nil && !absent {
		before = v.read(c.use.resource, id)
	}
	body := c.body
	if c.use != nil && c.why == nil && id != nil {
		body = withMember(body, c.use.member, id)
	}
	header := c.header.Clone()
	if len(c.cookies) > 0 {
		header.Set("Cookie", strings.Join(c.cookies, "; "))
	}
	x := v.sendAs(c.route.Method, path, c.query, header, body, credentials)
	if c.odd {
		if x.Status >= 500 {
			v.fail(scenario.Crash, fmt.Sprintf("%s responds with %d", v.name(x), x.Status), x, "no request may make the service fail")
		}
		if absent && x.Status == http.StatusNotFound && strings.Contains(c.promise, "odd body") {
			panic(noResource)
		}
		return
	}
	if absent && x.Status == http.StatusNotFound && (c.why == nil || c.why.In == "body" || c.why.In == "") {
		if strings.Contains(c.promise, ", parameter ") && !strings.Contains(c.promise, ", refused") {
			return // it was read, or the service would have refused it
		}
		panic(noResource)
	}
	creates := func(x *resource) bool { return x.create == c.route }
	if c.why == nil && x.Status == http.StatusConflict && c.use == nil && !slices.ContainsFunc(v.suite.resources, creates) {
		panic(noIdentity)
	}
	if c.why == nil {
		if len(c.mayNot) > 0 && x.Status == http.StatusConflict {
			panic(untried("the identity is taken, and no test can remove it"))
		}
		if c.madeUp && x.Status >= 400 && x.Status < 500 {
			panic(untried("only the service knows its values"))
		}
		// A position, of an example too, need not be valid any more.
		if code, _ := c.route.ResponseAs(x.Status); code != "410" {
			v.Accepted(x)
		}
		return
	}
	v.Refused(x, *c.why)
	if before != nil {
		v.unchanged(c.use.resource, id, before.Body, "a refused request")
	}
	v.createdNothing(c)
}

// created creates a resource and returns its identity. If an inferred one cannot be created, it returns
// nil: a sequence shows why.
func (v *Session) created(x *resource, id any) (identity any) {
	failures := v.failures
	defer func() {
		if v.doubted = nil; !x.inferred {
			return
		}
		switch r := recover().(type) {
		case nil:
		case ended, untried:
			v.failures, identity = failures, nil
		default:
			panic(r)
		}
	}()
	_, identity = v.create(x, id)
	return identity
}

// confirm ends a test of an inferred resource without a failure if the service responds alike to
// creates of different values: then it does not store them, as a mock.
func (v *Session) confirm() {
	x := v.doubted
	if x == nil {
		return
	}
	v.doubted = nil
	var bodies [2][]byte
	for i := range bodies {
		id := v.suite.gen.identity(x.schema)
		bodies[i] = v.on(x.create, id, nil, v.varied(x, id)).Body
	}
	if len(bodies[0]) > 0 && bytes.Equal(bodies[0], bodies[1]) {
		panic(untried("it was inferred, and the service responds to each create alike"))
	}
}

// withMember sets a member of an object that has it.
func withMember(body []byte, name string, value any) []byte {
	decoded, _ := jsonvalue.Decode(body)
	object := jsonvalue.Object(decoded)
	if _, has := object[name]; !has {
		return body
	}
	object[name] = value
	return jsonvalue.Encode(object)
}

// removeAll removes what a case creates under an identity that others use, too.
func (s *suite) removeAll(v *Session, c *testCase) {
	ofBatch := firstWhere(s.resources, func(x *resource) bool { return !x.assigned })
	x := cmp.Or(s.resourceOf(c.route), ofBatch)
	if x != nil && !x.assigned {
		for _, id := range c.mayNot {
			v.remove(x, id)
		}
	}
}

// Accepted fails unless the response is a success of the operation, or the
// request had a condition that does not hold.
func (v *Session) Accepted(x Interaction) {
	has := func(name string) bool { return len(x.RequestHeader[name]) > 0 }
	matches, since := has("If-Match") || has("If-None-Match"), has("If-Modified-Since") || has("If-Unmodified-Since")
	r := v.contract.document.Serving(x.Method, x.Path)
	switch use := v.suite.uses[r]; {
	case x.Status == http.StatusPreconditionFailed && (matches || since), x.Status == http.StatusNotModified && (has("If-None-Match") || has("If-Modified-Since")):
		return
	case x.Status == http.StatusBadRequest && matches && use != nil && use.inferred:
		panic(untried("the header has no ETag of the service"))
	}
	if x.Status >= 400 || r != nil && !r.Succeeds(x.Status) {
		v.fail(scenario.Behaviour, fmt.Sprintf("%s: refuses valid requests with %d", v.name(x), x.Status), x, "the request is valid, but was refused")
	}
}

// name is the name of the operation that a request was for.
func (v *Session) name(x Interaction) string {
	if r := v.contract.document.Serving(x.Method, x.Path); r != nil {
		return r.ID
	}
	return x.Method
}

// Refused fails unless the response refuses a request for the given reason.
func (v *Session) Refused(x Interaction, why Violation) {
	if !why.Allows(x.Status) {
		cause := fmt.Sprintf("%s: %s", v.name(x), why.Kind)
		switch {
		case x.Status < 400 && why.In != "" && len(v.test.promises) > 0:
			cause += " accepted: " + constraint(v.test.promises[0])
		case slices.Contains([]Kind{NoCredentials, BadCredentials, MissingScope}, why.Kind) && x.Status < 500:
			cause = string(why.Kind) // mostly of the service as a whole
		case x.Status >= 400:
			cause += fmt.Sprint(" refused with ", x.Status)
		}
		v.fail(scenario.Behaviour, cause, x, "the request must be refused (%s) with one of %v", why.Kind, why.Statuses())
	}
	if v.contract.options.Refusal != nil {
		for _, f := range v.contract.options.Refusal(why, x) {
			v.fail(scenario.Response, fmt.Sprintf("%s: %s: %s, %s", v.name(x), why.Kind, f.Where, f.Keyword), x, "the request was refused (%s), but %s", why.Kind, f)
		}
	}
}

// createdNothing fails if a refused create has left something behind.
func (v *Session) createdNothing(c *testCase) {
	_, schema := c.route.Body()
	if schema == nil {
		return
	}
	value, _ := jsonvalue.Decode(c.body)
	ids := v.suite.identities(schema, value)
	for _, x := range v.suite.resources {
		get := x.uses[http.MethodGet]
		if get == nil || x.assigned {
			continue
		}
		for _, id := range ids[:min(len(ids), 3)] {
			if got := v.on(get, id, nil, nil); got.Status < 400 {
				v.Failf("the create was refused, but %v exists: %s", id, got.Body)
			}
		}
	}
}

// receive reads a body. Of an event stream, which may have no end, it reads until there is an event.
func receive(resp *http.Response) ([]byte, error) {
	if !scenario.IsEventStream(resp.Header) {
		return io.ReadAll(resp.Body)
	}
	var received []byte
	part := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(part)
		received = append(received, part[:n]...)
		events, _ := Interaction{Body: received}.Events()
		switch {
		case err == io.EOF, len(events) > 0:
			return received, nil
		case err != nil:
			return received, err
		}
	}
}
