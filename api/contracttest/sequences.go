package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"

	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// step is a sequence over a resource with what it needs.
type step struct {
	name    string
	try     func(v *Session, x *resource, id any)
	methods []string               // the resource must have operations with them
	of      func(x *resource) bool // nil: of all
}

var steps = []step{
	{"a read sees a create", readSeesCreate, []string{http.MethodGet}, nil},
	{"a read sees a replacement", readSees(http.MethodPut), []string{http.MethodGet, http.MethodPut}, nil},
	{"a read sees a change", readSees(http.MethodPatch), []string{http.MethodGet, http.MethodPatch}, nil},
	{"a deleted resource is gone", deletedIsGone, []string{http.MethodGet, http.MethodDelete}, nil},
	{"a replacement changes no other resource", replacesOne, []string{http.MethodGet, http.MethodPut}, nil},
	{"a deletion changes no other resource", deletesOne, []string{http.MethodGet, http.MethodDelete}, nil},
	{"a replacement changes the ETag", changesETag(http.MethodPut), []string{http.MethodGet, http.MethodPut}, hasETag},
	{"a change changes the ETag", changesETag(http.MethodPatch), []string{http.MethodGet, http.MethodPatch}, hasETag},
	{"a create replaces nothing", createsNew, []string{http.MethodGet}, func(x *resource) bool {
		return !x.assigned && x.create.Method == http.MethodPost && x.create.Lists(http.StatusConflict)
	}},
	// Of others, a read sees it.
	{"a replacement removes what it does not have", putRemoves, []string{http.MethodGet, http.MethodPut}, func(x *resource) bool { return x.inferred }},
}

func hasETag(x *resource) bool { return x.uses[http.MethodGet].Sends("ETag") }

// sequences returns the tests of more than one request: what links, Location and
// the methods of HTTP promise, and what the options add. One that needs an
// operation that the document does not have is left out.
func (s *suite) sequences() (all []Case) {
	for _, x := range s.resources {
		name := x.create.ID
		add := func(what string, promises []string, try func(v *Session, id any)) {
			promise := fmt.Sprintf("sequence, %s: %s", name, what)
			id := s.gen.identity(x.schema)
			all = append(all, Case{Name: promise, promises: append(promises, promise), try: func(v *Session) { try(v, id) }})
		}
		for _, method := range slices.Sorted(maps.Keys(x.uses)) {
			r := x.uses[method]
			to := "link to "
			if x.inferred {
				to = "its identity leads to "
			}
			add(to+r.ID, []string{effectPromise(r, s.uses[r].parameter)}, func(v *Session, id any) {
				_, id = v.create(x, id)
				v.Accepted(v.on(r, id, nil, v.plainBody(r)))
				v.needsIdentity(x, r, id)
			})
		}
		if x.create.SendsLocation() && x.uses[http.MethodGet] != nil && x.create.Method == http.MethodPost || x.create.Sends("Location") {
			add("Location leads to the resource", nil, func(v *Session, id any) { locationLeads(v, x, id) })
		}
		for _, step := range steps {
			if !slices.ContainsFunc(step.methods, func(method string) bool { return x.uses[method] == nil }) && (step.of == nil || step.of(x)) {
				add(step.name, nil, func(v *Session, id any) { step.try(v, x, id) })
			}
		}
		if get := x.uses[http.MethodGet]; get != nil && s.contract.options.Rules.Head {
			add("HEAD is GET without a body", nil, func(v *Session, id any) { headIsGet(v, x, id) })
		}
	}
	for _, sequence := range s.contract.options.Sequences {
		promise := "sequence, " + sequence.Name
		all = append(all, Case{Name: promise, promises: append(slices.Clone(sequence.Shows), promise), try: sequence.Try})
	}
	return all
}

// createdBodies is how many bodies besides the plainest one are created and read.
const createdBodies = 8

func readSeesCreate(v *Session, x *resource, id any) {
	bodies := []map[string]any{nil}
	if _, schema := x.create.Body(); schema != nil {
		all, drawn := v.suite.gen.obeying(schema), v.suite.gen.random
		drawn.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, variant := range all[:min(len(all), createdBodies)] {
			variant = v.suite.gen.renamed(schema, variant, oddNames[drawn.IntN(len(oddNames))])
			if body, ok := variant.value.(map[string]any); ok && body != nil {
				bodies = append(bodies, body)
			}
		}
	}
	for i, body := range bodies {
		if i > 0 {
			id = v.suite.gen.identity(x.schema)
		}
		sent, id := v.createAs(x, id, body)
		v.shows(*v.read(x, id), sent, x.uses[http.MethodGet])
	}
}

// needsIdentity fails if an operation on one resource succeeds on one that was
// never created, as it does if it does not look at its path. PUT may create it.
func (v *Session) needsIdentity(x *resource, r *document.Operation, existing any) {
	refuses := func(status int) bool { return r.Response(status) != nil && (!x.inferred || r.Lists(status)) }
	if r.Method == http.MethodPut || !refuses(http.StatusNotFound) && !refuses(http.StatusGone) {
		return
	}
	other := v.suite.gen.identity(x.schema)
	if n, err := strconv.ParseInt(fmt.Sprint(existing), 10, 64); err == nil && x.assigned {
		other = n + 1_000_000 // a service that counts has not come there
	}
	if got := v.on(r, other, nil, v.plainBody(r)); got.Status < 400 {
		v.Failf("%s succeeds for %v, which was never created; %v was: %.300s", r.ID, other, existing, got.Body)
	}
}

func locationLeads(v *Session, x *resource, id any) {
	body := v.varied(x, id)
	got := v.on(x.create, id, nil, body)
	location := got.Header.Get("Location")
	if x.inferred && got.Status == http.StatusCreated && location == "" {
		v.Failf("the response to a create has no Location, which the document lists")
	}
	if at, err := got.ParsedURL(); x.inferred && (location == "" || err == nil && v.elsewhere(at, location)) {
		panic(untried("Location is absent or leads to another host: " + location))
	}
	path, query := v.leadsTo(got, location)
	get := v.contract.document.Find(http.MethodGet, path)
	if get == nil {
		v.Failf("Location leads to %s, which is no path of the document", path)
	}
	at := v.send(get, path, query, http.Header{}, nil)
	v.Accepted(at)
	if x.assigned {
		delete(body, x.member)
	}
	v.shows(at, body, get)
	if id, other := got.Member(x.member), at.Member(x.member); x.assigned && x.member != "" && id != other {
		v.Failf("the response to a create has %s %v, but Location leads to %v", x.member, id, other)
	}
}

// elsewhere reports whether a reference leads to something that is not below the target, as behind a
// proxy.
func (v *Session) elsewhere(at *url.URL, reference string) bool {
	to, err := at.Parse(reference)
	return err == nil && !strings.HasPrefix(to.String(), v.target.URL+"/")
}

// readSees changes a resource by PUT or PATCH, in every way that the schema allows, and reads it.
func readSees(method string) func(v *Session, x *resource, id any) {
	return func(v *Session, x *resource, id any) {
		known, id := v.create(x, id)
		r := x.uses[method]
		schema := jsonBody(r)
		for _, variant := range v.suite.gen.obeying(schema) {
			body, ok := variant.value.(map[string]any)
			if !ok {
				continue
			}
			if method == http.MethodPatch {
				maps.Copy(known, body)
			} else {
				known = v.replaced(x, schema, body)
			}
			got := v.on(r, id, nil, body)
			v.Accepted(got)
			v.shows(got, known, r)
			v.shows(*v.read(x, id), known, x.uses[http.MethodGet])
		}
	}
}

// replaced is what is known of a resource after a replacement, which removes what it does not have.
func (v *Session) replaced(x *resource, schema *openapi3.Schema, body map[string]any) map[string]any {
	known := map[string]any{}
	for name, property := range v.suite.gen.flatten(schema).Properties {
		value, sent := body[name]
		if !v.suite.gen.absent(property.Value) && property.Value.Default == nil && (sent || !x.inferred) && name != x.member {
			known[name] = value
		}
	}
	return known
}

func deletedIsGone(v *Session, x *resource, id any) {
	_, id = v.create(x, id)
	v.Accepted(v.on(x.uses[http.MethodDelete], id, nil, nil))
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
		if r := x.uses[method]; r != nil {
			if (method == http.MethodDelete || x.inferred) && !r.Lists(http.StatusNotFound) && (x.inferred || r.Response(http.StatusNotFound) == nil) {
				continue // deleting twice is fine then
			}
			v.Refused(v.on(r, id, nil, v.plainBody(r)), Violation{Kind: UnknownResource})
		}
	}
	if !x.assigned && !x.inferred {
		sent, _ := v.create(x, id)
		v.shows(*v.read(x, id), sent, x.uses[http.MethodGet])
	}
}

// two creates two resources.
func (v *Session) two(x *resource, id any) (one, other any) {
	_, one = v.create(x, id)
	if _, other = v.create(x, v.suite.gen.identity(x.schema)); fmt.Sprint(one) == fmt.Sprint(other) {
		v.fail(scenario.Behaviour, x.create.ID+": two resources have one identity", v.last, "two resources have the identity %v", one)
	}
	return one, other
}

// deletesOne fails if another resource changes when one is deleted, or when one is created then:
// services that count what they have give it an identity that is taken.
func deletesOne(v *Session, x *resource, id any) {
	one, other := v.two(x, id)
	before := v.read(x, other)
	v.Accepted(v.on(x.uses[http.MethodDelete], one, nil, nil))
	v.unchanged(x, other, before.Body, "a deletion of %v", one)
	if _, next := v.create(x, v.suite.gen.identity(x.schema)); fmt.Sprint(next) == fmt.Sprint(other) {
		v.Failf("a create after a deletion has the identity %v of a resource that exists", other)
	}
}

// createsNew fails if a create that must conflict replaces what exists.
func createsNew(v *Session, x *resource, id any) {
	v.create(x, id)
	before := v.read(x, id)
	if got := v.on(x.create, id, nil, v.varied(x, id)); got.Status < 300 {
		v.unchanged(x, id, before.Body, "a second create")
	}
}

// changesETag fails if a change leaves a strong ETag as it was (RFC 9110, section 8.8.1).
func changesETag(method string) func(v *Session, x *resource, id any) {
	return func(v *Session, x *resource, id any) {
		_, id = v.create(x, id)
		before, old := v.version(x, id)
		v.change(x.uses[method], id)
		if after, etag := v.version(x, id); etag == old && !strings.HasPrefix(old, "W/") && !bytes.Equal(before, after) {
			v.Failf("a change from %s to %s has left the ETag at %s", before, after, etag)
		}
	}
}

// merges are words of a PUT that does not replace.
var merges = regexp.MustCompile(`(?i)partial|merg|omit|unchanged|absent|missing|not (given|sent|present)`)

// putRemoves fails if a member that a replacement does not have keeps the value that it had,
// for two resources with different values: otherwise the value may be a default.
func putRemoves(v *Session, x *resource, id any) {
	put := x.uses[http.MethodPut]
	_, schema := put.Body()
	if schema == nil || merges.MatchString(put.Spec.Summary+put.Spec.Description) {
		panic(untried("the document does not say that it replaces"))
	}
	var before, after [2]map[string]any
	least := map[string]any{}
	for i := range before {
		_, id = v.create(x, id)
		whole, _ := v.suite.gen.varied(schema).(map[string]any)
		v.Accepted(v.on(put, id, nil, whole))
		before[i] = v.read(x, id).Object()
		for _, name := range v.suite.gen.flatten(schema).Required {
			least[name] = whole[name]
		}
		if !v.suite.gen.valid(schema, least) {
			panic(untried("a test has no value without what is optional"))
		}
		v.Accepted(v.on(put, id, nil, least))
		after[i] = v.read(x, id).Object()
		id = v.suite.gen.identity(x.schema)
	}
	for _, name := range v.suite.names(schema) {
		_, there := least[name]
		kept := func(i int) bool { return before[i][name] != nil && jsonvalue.Same(before[i][name], after[i][name]) }
		if !there && name != x.member && kept(0) && kept(1) && !jsonvalue.Same(before[0][name], before[1][name]) {
			v.Failf("a replacement without %s has left it at %v", name, after[1][name])
		}
	}
}

func replacesOne(v *Session, x *resource, id any) {
	one, other := v.two(x, id)
	before := v.read(x, other)
	v.change(x.uses[http.MethodPut], one)
	v.unchanged(x, other, before.Body, "a change of %v", one)
}

// change changes a resource to other values.
func (v *Session) change(r *document.Operation, id any) {
	v.Accepted(v.on(r, id, nil, v.suite.gen.varied(jsonBody(r))))
}

// jsonBody is the schema of the body of an operation that has one.
func jsonBody(r *document.Operation) *openapi3.Schema {
	_, schema := r.Body()
	if schema == nil {
		panic(untried("the body is not JSON"))
	}
	return schema
}

func headIsGet(v *Session, x *resource, id any) {
	_, id = v.create(x, id)
	get := v.read(x, id)
	credentials, _ := v.good(x.uses[http.MethodGet])
	head := v.sendAs(http.MethodHead, get.Path, nil, http.Header{}, nil, credentials)
	if head.Status != get.Status {
		v.Failf("HEAD is %d, GET is %d", head.Status, get.Status)
	}
	for _, name := range []string{"ETag", "Last-Modified", "Content-Type", "Cache-Control"} {
		if got, want := head.Header.Get(name), get.Header.Get(name); got != want {
			v.Failf("HEAD has %s %q, GET has %q", name, got, want)
		}
	}
}

// leadsTo resolves a reference in a response (RFC 3986, section 5) and returns
// where it leads, path and query below the service. It must not lead elsewhere.
func (v *Session) leadsTo(x Interaction, reference string) (path string, query []string) {
	at, err := x.ParsedURL()
	if err == nil {
		at, err = at.Parse(reference)
	}
	if err != nil {
		v.Failf("leads to %q: %v", reference, err)
	}
	if at.RawQuery != "" {
		query = strings.Split(at.RawQuery, "&")
	}
	at.RawQuery = ""
	path, ok := strings.CutPrefix(at.String(), v.target.URL)
	if !ok || !strings.HasPrefix(path, "/") {
		v.Failf("leads to %s, which is not below %s", at, v.target.URL)
	}
	return path, query
}
