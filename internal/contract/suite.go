package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// Target is a service that is to keep the promises of the document.
type Target struct {
	URL       string            // without a slash at the end
	Transport http.RoundTripper // nil: [http.DefaultTransport]
	Token     string            // may do everything
	ReadOnly  string            // may only read; empty: what it may not is not tried
	WriteOnly string            // may only write; likewise
}

// Test is one thing that the document promises, ready to be tried.
type Test struct {
	Name    string
	promise string
	try     func(*session)
}

// Generated returns a test for everything in the document that a service can be
// held to: what each operation must accept and refuse, and what its links lead
// to. They use ids from firstID on, and those at the ends of the range and
// around zero.
func Generated(firstID int64) ([]Test, error) {
	ds, err := documents()
	if err != nil {
		return nil, err
	}
	return generated(newSuite(ds.api, firstID)), nil
}

func generated(s *suite) (all []Test) {
	for _, c := range s.cases() {
		all = append(all, Test{c.Name, c.promise, func(v *session) { v.run(c) }})
	}
	all = append(all, s.routes()...)
	return append(all, s.sequences()...)
}

// Run tries one test on a target. A pass is entered in the ledger.
func (test Test) Run(t T, target Target) {
	t.Helper()
	ds, err := documents()
	if err != nil {
		t.Errorf("contract: %v", err)
		return
	}
	switch fault, skipped := test.fault(ds.api, ds.seed, t.Name(), target); {
	case fault != "":
		t.Errorf("contract: %s: %s", test.Name, fault)
	case !skipped:
		received.note(test.promise, t.Name())
	}
}

// fault tries a test and returns what is wrong with the target, or nothing.
func (test Test) fault(doc, seed *document, name string, target Target) (fault string, skipped bool) {
	v := &session{target: target, doc: doc, seed: seed, test: name, suite: newSuite(doc, 0)}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case broken:
			fault = string(r)
		case untried:
			skipped = true
		default:
			panic(r)
		}
	}()
	test.try(v)
	return "", false
}

// broken ends a test with what is wrong, untried one that the target gives no
// means for.
type (
	broken  string
	untried struct{}
)

// session is one test on its way through a target.
type session struct {
	target    Target
	doc, seed *document
	suite     *suite
	test      string
}

func (v *session) fail(format string, args ...any) { panic(broken(fmt.Sprintf(format, args...))) }

// send sends a request and holds the answer against the document.
func (v *session) send(method, path, query string, header http.Header, body []byte) Exchange {
	url := v.target.URL + path
	if query != "" {
		url += "?" + query
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		v.fail("%v", err)
	}
	req.Header = header.Clone()
	if req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "Bearer "+v.target.Token)
	}
	if req.Header.Get("Authorization") == "none" {
		req.Header.Del("Authorization")
	}
	transport := v.target.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		v.fail("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		v.fail("%s %s: %v", method, url, err)
	}
	x := Exchange{
		Method: method, URL: url, Path: path, RequestHeader: req.Header, RequestBody: body,
		Status: resp.StatusCode, Header: resp.Header, Body: answer,
	}
	for _, f := range check(v.doc, v.seed, x) {
		v.fail("answered %d, but %s\n\trepeat it with: %s\n\tit answered: %.500q", x.Status, f, curl(x), x.Body)
	}
	received.enter(v.doc, x, v.test)
	return x
}

// run tries a case: the way is cleared, what must be there is put there, and
// then the answer and what has changed are looked at.
func (v *session) run(c Case) {
	header := c.header.Clone()
	switch c.anonymous {
	case "none":
		header.Set("Authorization", "none")
	case "bad":
		header.Set("Authorization", "Bearer nobody's")
	case "scope":
		token := v.target.ReadOnly
		if c.route.operation.Extensions["x-required-scope"] == "read" {
			token = v.target.WriteOnly
		}
		if token == "" {
			panic(untried{})
		}
		header.Set("Authorization", "Bearer "+token)
	}
	for _, id := range c.mayNot {
		v.remove(id)
	}
	defer func() {
		for _, id := range c.mayNot {
			v.remove(id)
		}
	}()
	var before *Exchange
	if c.needs != nil {
		v.create(*c.needs)
		before = v.read(*c.needs)
	}
	x := v.send(c.route.method, c.path, c.query, header, c.body)
	if c.want == 0 {
		v.accepted(x)
		return
	}
	e := v.refusedWith(x, c.want)
	if c.in != "" {
		v.pointsAt(x, e, c.in, c.point)
	}
	// A refusal has changed nothing.
	if before != nil {
		if after := v.read(*c.needs); !bytes.Equal(before.Body, after.Body) {
			v.fail("was refused, but the plant has changed from %s to %s", before.Body, after.Body)
		}
	}
	v.createdNothing(c)
}

// accepted fails if a valid request was refused. A condition that does not hold
// is no refusal.
func (v *session) accepted(x Exchange) {
	conditional := x.RequestHeader.Get("If-Match") != "" || x.RequestHeader.Get("If-None-Match") != ""
	if x.Status >= 400 && !(x.Status == http.StatusPreconditionFailed && conditional) {
		v.fail("is valid, but was refused: %d %s\n\trepeat it with: %s", x.Status, x.Body, curl(x))
	}
}

func (v *session) refusedWith(x Exchange, want plantapi.ErrorCode) plantapi.Error {
	var e plantapi.Error
	if err := json.Unmarshal(x.Body, &e); err != nil || e.Error != int32(want) {
		v.fail("must be refused with %d, answered %d %.300s\n\trepeat it with: %s", want, x.Status, x.Body, curl(x))
	}
	return e
}

func (v *session) pointsAt(x Exchange, e plantapi.Error, in plantapi.ErrorDetailIn, pointer string) {
	if e.Details != nil {
		for _, d := range *e.Details {
			if d.In == in && d.Pointer == pointer {
				return
			}
		}
	}
	v.fail("no detail points at %s %s: %s\n\trepeat it with: %s", in, pointer, x.Body, curl(x))
}

// createdNothing fails if a refused request has left a plant behind.
func (v *session) createdNothing(c Case) {
	get := v.linked(http.MethodGet)
	if get == nil || c.route.operation.RequestBody == nil {
		return
	}
	_, schema := bodyOf(c.route)
	value, err := decode(c.body)
	if err != nil {
		return
	}
	ids := v.suite.identities(schema, value)
	for _, id := range ids[:min(len(ids), 3)] {
		if x := v.on(get, id, nil, nil); x.Status != http.StatusNotFound {
			v.fail("was refused, but plant %d is there: %s", id, x.Body)
		}
	}
}

// linked returns the operation with this method that the links lead to, or nil.
func (v *session) linked(method string) *documentRoute {
	for i, r := range v.doc.routes {
		if _, ok := v.suite.links[r.operation.OperationID]; ok && r.method == method {
			return &v.doc.routes[i]
		}
	}
	return nil
}

// on calls a linked operation for one plant.
func (v *session) on(r *documentRoute, id int64, header http.Header, body any) Exchange {
	l := v.suite.links[r.operation.OperationID]
	path := strings.Replace(r.template, "{"+l.parameter+"}", strconv.FormatInt(id, 10), 1)
	if header == nil {
		header = http.Header{}
	}
	var text []byte
	if body != nil {
		mediaType, _ := bodyOf(*r)
		header.Set("Content-Type", mediaType)
		text = encode(body)
	}
	return v.send(r.method, path, "", header, text)
}

// source returns the operation that the links start from, its body with the
// given id, and the link.
func (v *session) source(id int64) (*documentRoute, map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(v.suite.links)) {
		l := v.suite.links[name]
		_, schema := bodyOf(l.source)
		body := v.suite.gen.base(schema).(map[string]any)
		body[l.member] = id
		return &l.source, body
	}
	return nil, nil
}

// create makes sure that there is a plant.
func (v *session) create(id int64) map[string]any {
	source, body := v.source(id)
	if source == nil {
		v.fail("the document links nothing to a plant that can be created")
	}
	v.accepted(v.send(source.method, source.template, "", http.Header{"Content-Type": {"application/json"}}, encode(body)))
	return body
}

func (v *session) read(id int64) *Exchange {
	get := v.linked(http.MethodGet)
	if get == nil {
		return nil
	}
	x := v.on(get, id, nil, nil)
	return &x
}

func (v *session) remove(id int64) {
	if r := v.linked(http.MethodDelete); r != nil {
		v.on(r, id, nil, nil)
	}
}

// shows fails unless an answer has the members that a request had, as far as
// the document gives both the same name.
func (v *session) shows(x Exchange, sent map[string]any) {
	got, err := decode(x.Body)
	object, ok := got.(map[string]any)
	if err != nil || !ok {
		v.fail("answered %d %s, want a plant", x.Status, x.Body)
	}
	want := normal(sent).(map[string]any)
	for name, value := range want {
		have, there := object[name]
		if name == unknownMember {
			value = nil // it is ignored
		}
		if value == nil && there || value != nil && !reflect.DeepEqual(normal(have), value) {
			v.fail("was sent %s = %v, but has %v", name, value, have)
		}
	}
}
